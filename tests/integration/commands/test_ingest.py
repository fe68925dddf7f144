"""`ingest` as a person types it: wrong use, a source that is down, being stopped, nothing to do.

Not here: late samples (tests/integration/metering/sources/test_late_knowledge.py), kills
(tests/integration/faults), GPUs of another cluster (tests/integration).
"""

import re
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models.functions import Now

from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.cluster import Cluster, Source
from accounting.metering.models.ledger import IngestWindow
from tests.builders import SETUP, two_hours
from tests.integration.commands.conftest import Ended, run
from tests.integration.faults.support import (
    LONGEST_S,
    ask,
    environment,
    ledger,
    process,
    started,
    unfinished,
)
from tests.integration.metering.sources.faults import FAULTS, TIMEOUT_S
from tests.integration.metering.sources.replay import Answer, Question, serving
from tests.integration.metering.sources.stand_in import StandIn
from tests.integration.metering.support import facts, report
from tests.integration.metering.support import run as done
from tests.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

RANGE = ("--from=2026-10-01T10:00Z", "--to=2026-10-01T12:00Z")
STORY = StandIn(two_hours().text())


@pytest.fixture
def address() -> Iterator[str]:
    """A Prometheus that has two hours."""
    with serving(STORY) as found:
        yield found


def cluster_of(address: str, name: str = "north") -> Cluster:
    """A cluster with a Prometheus."""
    cluster = Cluster.objects.create(name=name)
    settings = {"url": address, "timeout_s": TIMEOUT_S}
    Source.objects.create(
        cluster=cluster, name="prometheus", kind="prometheus", settings=settings
    )
    return cluster


# --- wrong use ------------------------------------------------------------------------


def refused(*words: str) -> str:
    """What a command says that ends with 2 and prints nothing else."""
    ended = run("ingest", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    return ended.err


def test_without_clusters_it_says_how_to_configure_one() -> None:
    assert "no cluster is configured" in refused()
    assert "manage.py configure" in refused("--cluster=north")


def test_an_unknown_cluster_is_named_with_those_that_are_known() -> None:
    cluster_of("http://127.0.0.1:1")
    cluster_of("http://127.0.0.1:1", "south")
    said = refused("--cluster=nroth")
    assert "'nroth'" in said
    assert "known: north, south" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from=2026-10-01",), "must be used together"),
        (("--to=2026-10-01",), "must be used together"),
        (("--from=2026-10-02", "--to=2026-10-01"), "is not later than from"),
        (("--from=2026-10-01", "--to=2026-10-01"), "is not later than from"),
        (("--from=2026-10-01T10:01Z", "--to=2026-10-02"), "five-minute boundary"),
        (("--from=2026-10-01", "--to=2026-10-01T10:00:01Z"), "five-minute boundary"),
        (("--from=2026-10-01T10:00", "--to=2026-10-02"), "no offset"),
        (("--from=yesterday", "--to=2026-10-02"), "is not a valid ISO 8601 time"),
        (("--from=2026-02-30", "--to=2026-10-02"), "is not a valid ISO 8601 time"),
        (("--from=9000-01-01", "--to=9000-01-02"), "is in the future"),
        ((*RANGE, "--follow"), "--follow cannot be used with"),
        (("--follow=0",), "'0' is not a number of seconds from 1 on"),
        (("--follow=soon",), "'soon' is not a number of seconds from 1 on"),
    ],
)
def test_a_range_that_is_none_is_wrong_use(words: tuple[str, ...], said: str) -> None:
    cluster_of("http://127.0.0.1:1")
    assert said in refused(*words)
    assert not IngestWindow.objects.exists()


def test_a_range_ends_where_time_does(address: str) -> None:
    cluster_of(address)
    start = database_now().replace(minute=0, second=0, microsecond=0)
    start -= timedelta(hours=2)
    ended = run("ingest", f"--from={start.isoformat()}", "--to=9000-01-01")
    assert ended.code == 0, ended.err
    newest = IngestWindow.objects.latest("window_start").window_start
    assert newest < database_now()
    assert IngestWindow.objects.count() in (24, *range(25, 37))


def test_time_whose_samples_are_not_kept_stays_as_it_is(tmp_path: Path) -> None:
    path = two_hours().write(tmp_path / "all.om")
    done("import_metrics", "--cluster=north", path)
    before = facts()
    cluster = Cluster.objects.get()
    cluster.sources.get().bufferblock_set.all().delete()
    later = IngestWindow.objects.latest("window_start").window_start
    IngestWindow.objects.create(
        cluster=cluster, window_start=later + timedelta(days=40), state="done"
    )
    said = refused(*RANGE)
    assert "north: samples of files and scrapes before 2026-10-06" in said
    assert facts() == before


def test_help_shows_what_is_ours() -> None:
    commands = ("ingest", "import_metrics", "report", "verify", "configure")
    texts = {command: _help(command) for command in commands}
    for text in texts.values():
        assert "--settings" not in text, "Django's own"
        assert text.count("\n") < 60
    assert "NAME" in texts["ingest"]
    assert "run until stopped" in texts["ingest"]


def _help(command: str) -> str:
    ended = process(environment(""), command, "--help")
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


# --- what it does and says ------------------------------------------------------------


def test_nothing_to_do_is_said_and_no_finding(tmp_path: Path) -> None:
    done("import_metrics", "--cluster=north", two_hours().write(tmp_path / "all.om"))
    assert run("ingest") == Ended(0, "north: 0 windows, none are due\n", "")


def test_a_source_that_is_down_is_said_and_ends_with_a_finding() -> None:
    with serving(FAULTS["401"].script) as address:
        cluster_of(address)
        ended = run("ingest", *RANGE)
        assert ended.code == 1
        assert "ingest: north: 24 windows are not computed" in ended.err
        assert f"{address}/api/v1/query: 401, access denied" in ended.err
        assert "Workers retry" in ended.err
        assert "Traceback" not in ended.err
    assert facts() == []


def test_a_source_that_is_down_is_not_asked_for_every_hour() -> None:
    asked: list[Question] = []

    def answer(question: Question) -> Answer:
        asked.append(question)
        return Answer(401)

    with serving(answer) as address:
        cluster_of(address)
        ended = run("ingest", "--from=2026-09-01", "--to=2026-10-01")
    assert ended.code == 1
    assert f"{30 * 24 * 12} windows are not computed" in ended.err
    assert len(asked) < 10
    assert set(IngestWindow.objects.values_list("state", flat=True)) == {
        "failed",
        "pending",
    }


def test_the_next_run_goes_on_where_the_source_failed(address: str) -> None:
    cluster = cluster_of("http://127.0.0.1:1")
    assert run("ingest", *RANGE).code == 1
    cluster.sources.update(settings={"url": address})
    IngestWindow.objects.exclude(next_attempt_at=None).update(next_attempt_at=Now())
    ended = run("ingest", *RANGE)
    assert ended.code == 0, ended.err
    assert "north: 24 windows, " in ended.out
    assert unfinished() == []
    assert report("holds")


# --- beside each other, and stopped ---------------------------------------------------


def test_two_of_the_same_range_share_the_work(address: str, redis_url: str) -> None:
    cluster_of(address)
    assert run("ingest", *RANGE).code == 0
    wanted = ledger()
    slow = environment(redis_url, "read:sleep:2")
    with (
        started(slow, "ingest", *RANGE) as first,
        started(slow, "ingest", *RANGE) as second,
    ):
        said = [worker.communicate(timeout=LONGEST_S) for worker in (first, second)]
        assert [first.returncode, second.returncode] == [0, 0], said
    counts = [int(re.findall(r"north: (\d+) windows,", out)[0]) for out, _ in said]
    assert 24 <= sum(counts) <= 48
    assert unfinished() == []
    assert ledger() == wanted


@pytest.fixture
def setup(tmp_path: Path) -> Path:
    """Prices, and two hours as a file."""
    (tmp_path / "setup.yaml").write_text(SETUP)
    done("configure", tmp_path / "setup.yaml")
    return two_hours().write(tmp_path / "all.om")


COMMITTING = """
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'idle in transaction'
      AND pid <> pg_backend_pid()
"""


@pytest.fixture(autouse=True)
def listening() -> Iterator[None]:
    """Children hear Ctrl-C also where the tests themselves were started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def stopped(child: "subprocess.Popen[str]") -> Ended:
    """A command that gets Ctrl-C now."""
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=LONGEST_S)
    return Ended(child.returncode, out, err)


def test_ctrl_c_keeps_what_is_done_and_the_next_run_goes_on(
    address: str, redis_url: str
) -> None:
    cluster_of(address)
    assert run("ingest", *RANGE).code == 0
    wanted = ledger()
    seen = environment(redis_url, "before_commit:sleep:3")
    with started(seen, "ingest", *RANGE) as child:
        wait_until(lambda: bool(ask(COMMITTING)))
        ended = stopped(child)
    assert ended.code == 130
    assert "ingest: stopped. Computed windows are kept" in ended.err
    assert "Traceback" not in ended.err
    assert not IngestWindow.objects.filter(state="claimed").exists()

    again = run("ingest", *RANGE)
    assert again.code == 0, again.err
    assert unfinished() == []
    assert ledger() == wanted


def test_following_ends_by_ctrl_c(setup: Path, redis_url: str) -> None:
    done("import_metrics", "--cluster=north", setup)
    IngestWindow.objects.update(state="pending")
    with started(environment(redis_url), "ingest", "--follow") as child:
        assert child.stdout is not None
        assert "north: " in child.stdout.readline()
        ended = stopped(child)
    assert unfinished() == []
    assert ended.code == 130
    assert "ingest: stopped" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("moment", ["kept", "read"])
def test_an_import_that_is_stopped_is_finished_by_the_same_command(
    moment: str, setup: Path, redis_url: str
) -> None:
    words = ("import_metrics", "--cluster=north", setup)
    with started(environment(redis_url, f"{moment}:sleep:30"), *words) as child:
        wait_until(IngestWindow.objects.exists)
        ended = stopped(child)
    assert ended.code == 130
    assert "import_metrics: stopped. Computed windows are kept" in ended.err
    assert "Traceback" not in ended.err

    done(*words)
    assert unfinished() == []
    assert {row["pod"] for row in report("usage", by="pod")} == {"train", "batch"}
