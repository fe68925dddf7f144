"""A close that is killed anywhere, beside another one, or beside ingest (money.md M28)."""

import signal
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from django.db import close_old_connections, connection, transaction

from accounting.kit.failpoints import CLOSE_NAMES
from accounting.metering.models.ledger import DirtyHour
from accounting.metering.models.pod import Workload
from accounting.metering.models.usage import UsageDay
from accounting.months.models.charge import ChargeLine, RunningLine
from accounting.months.models.period import PeriodRevision
from accounting.months.tasks import store
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from accounting.usage.tasks.family_days import move_families
from tests.integration.faults.forks import Warm, warm
from tests.integration.faults.support import environment, process
from tests.integration.months.days import H100, Days

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.redis,
    pytest.mark.timeout(180),
]

HOUR = 3_600_000
OCTOBER = date(2026, 10, 5)


@pytest.fixture(autouse=True)
def october(db: None) -> Days:
    """Usage of two teams in October, and its running booking."""
    del db
    days = Days()
    days.price(H100, "1")
    days.use("vision", OCTOBER, HOUR)
    days.use("search", OCTOBER, 1_234_567, state="idle")
    days.use("", OCTOBER, HOUR, state="free")
    book_running("2026-10")
    return days


def state() -> tuple[int, int, str]:
    """Frozen lines, running lines, and the hash of October."""
    row = PeriodRevision.objects.get(period="2026-10")
    return ChargeLine.objects.count(), RunningLine.objects.count(), row.hash


def undisturbed_hash() -> str:
    """The hash of a close of the same lines that is rolled back."""
    with transaction.atomic():
        found = close_period("2026-10").hash
        transaction.set_rollback(True)
    return found


@pytest.mark.parametrize("failpoint", CLOSE_NAMES)
def test_a_killed_close_leaves_the_month_settling(
    failpoint: str, redis_url: str
) -> None:
    expected = undisturbed_hash()
    before = state()
    done = process(environment(redis_url, failpoint), "close_period", "2026-10")
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert state() == before
    assert before[2] == ""
    done = process(environment(redis_url), "close_period", "2026-10")
    assert done.returncode == 0, done.stderr
    assert f"hash: {expected}" in done.stdout
    assert state()[1:] == (0, expected)


def test_two_closers_make_one_close(redis_url: str, tmp_path: Path) -> None:
    go = tmp_path / "go"
    seen = environment(redis_url)
    host: Warm = warm(seen)
    first = host.start("close_period", "2026-10", failpoint=f"period_stored:until:{go}")
    wait_for_table_lock()  # or the second may win, and nobody would wait
    second = host.start("close_period", "2026-10")
    wait_for_waiting_session()
    go.touch()
    ends = [host.wait(first), host.wait(second)]
    assert [end.returncode for end in ends] == [0, 0], ends
    assert ends[0].stdout == ends[1].stdout
    row = PeriodRevision.objects.get(period="2026-10")
    assert store_hash(row) == row.hash
    assert ChargeLine.objects.count() == row.line_count


def store_hash(row: PeriodRevision) -> str:
    with transaction.atomic():
        return store.hash_lines("charge_line", row)


def wait_for_waiting_session() -> None:
    """Until a session waits for a lock."""
    for _ in range(300):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = "
                "(SELECT oid FROM pg_database WHERE datname = current_database())"
            )
            if cursor.fetchone()[0]:
                return
            cursor.execute("SELECT pg_sleep(0.1)")
    raise AssertionError("no session waits")


def test_a_rollup_waits_for_a_close_and_becomes_a_correction(
    redis_url: str, tmp_path: Path
) -> None:
    expected = undisturbed_hash()
    assert f"hash: {expected}" in close_beside(
        _roll_up, "period_computed", redis_url, tmp_path
    )
    assert book_running("2026-11").statements.get(team="vision").corrections6 == 1


def test_a_family_that_moves_waits_for_a_close(redis_url: str, tmp_path: Path) -> None:
    """Or the close would store lines of the old family, which nothing moves again."""
    Workload.objects.update(next_family="named")
    close_beside(_move_families, "period_closed", redis_url, tmp_path)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT team, family FROM charge_family_day WHERE team IN ('vision', 'search')"
        )
        assert sorted(cursor.fetchall()) == [("search", "named"), ("vision", "named")]


def close_beside(
    work: Callable[[], object], failpoint: str, redis_url: str, folder: Path
) -> str:
    """Close October, and begin some work while the close is at a place; what the close said."""
    go = folder / "go"
    host: Warm = warm(environment(redis_url))
    closer = host.start("close_period", "2026-10", failpoint=f"{failpoint}:until:{go}")
    wait_for_table_lock()
    beside = threading.Thread(target=work)
    beside.start()
    wait_for_waiting_session()
    go.touch()
    end = host.wait(closer)
    beside.join()
    assert end.returncode == 0, end
    return end.stdout


def _move_families() -> None:
    move_families(UsageDay.objects.values_list("cluster_id", flat=True)[0])
    connection.close()


def _roll_up() -> None:
    """What a rollup does to a day: it replaces a row."""
    UsageDay.objects.filter(busy_ms=HOUR).update(busy_ms=2 * HOUR)
    close_old_connections()
    connection.close()


def wait_for_table_lock() -> None:
    """Until the close holds usage."""
    for _ in range(300):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_locks WHERE granted AND mode = 'ShareLock' "
                "AND relation = 'usage_day'::regclass"
            )
            if cursor.fetchone()[0]:
                return
            cursor.execute("SELECT pg_sleep(0.1)")
    raise AssertionError("no close holds usage")


def test_a_close_with_an_hour_that_is_not_rolled_up_is_refused(redis_url: str) -> None:
    cluster = UsageDay.objects.values_list("cluster_id", flat=True)[0]
    DirtyHour.objects.create(
        cluster_id=cluster,
        hour_start=datetime(2026, 10, 5, 8, tzinfo=UTC),
        reason="facts",
    )
    before = state()
    done = process(environment(redis_url), "close_period", "2026-10")
    assert done.returncode == 1
    assert "BLOCK    hours" in done.stdout
    assert state() == before
