"""A process killed at any named place; a plain second run then ends as if nothing was.

Aspects: every failpoint, in `import_metrics` and in `ingest`, at its first and at a later
passage; one after the other on the same database. Not here: workers beside each other
(test_two_workers), lost services (test_services_lost).
"""

import signal
from pathlib import Path

import pytest

from accounting.kit.failpoints import NAMES
from tests.builders import SETUP, two_hours
from tests.integration.faults.support import environment, ledger, process, unfinished
from tests.integration.metering.support import clear, run

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.redis,
    pytest.mark.timeout(300),
]

KEPT = "kept"  # samples are kept and windows are due; nothing is computed
# One batch each: there is no second time.
ONCE = frozenset({"rolling_up", "rolled_up", "rolled_up_by_gpu"})
FIRST = "folded"  # of an import: in the transaction that keeps its samples


_undisturbed: dict[str, list[object]] = {}  # the same for all: made once


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two hours of a cluster, and the set-up that prices them."""
    (tmp_path / "setup.yaml").write_text(SETUP)
    run("configure", tmp_path / "setup.yaml")
    return two_hours().write(tmp_path / "all.om")


@pytest.fixture
def undisturbed(path: Path) -> dict[str, list[object]]:
    """What a run says that was never killed; the database is empty again after it."""
    if not _undisturbed:
        run("import_metrics", "--cluster=north", path)
        assert unfinished() == []
        _undisturbed.update(ledger())
        assert all(_undisturbed.values())
        clear()
        run("configure", path.with_name("setup.yaml"))
    return _undisturbed


def killed(redis_url: str, failpoint: str, *words: str | Path) -> bool:
    """Run a command that dies at a failpoint; False when it never came there."""
    done = process(environment(redis_url, failpoint), *words)
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    return done.returncode != 0


@pytest.mark.parametrize("failpoint", NAMES)
def test_import_killed_anywhere_is_finished_by_the_next(
    failpoint: str, path: Path, undisturbed: object, redis_url: str
) -> None:
    assert killed(redis_url, failpoint, "import_metrics", "--cluster=north", path)
    is_begun = failpoint != FIRST
    assert bool(unfinished()) == is_begun, "killed before it could finish"
    run("import_metrics", "--cluster=north", path)
    assert unfinished() == []
    assert ledger() == undisturbed
    assert "FAIL" not in run("verify")


@pytest.mark.parametrize("failpoint", [name for name in NAMES if name != KEPT])
def test_ingest_killed_anywhere_is_finished_by_the_next(
    failpoint: str, path: Path, undisturbed: object, redis_url: str
) -> None:
    assert killed(redis_url, KEPT, "import_metrics", "--cluster=north", path)
    time = 1 if failpoint in ONCE else 2
    assert killed(redis_url, f"{failpoint}:kill:{time}", "ingest", "--cluster=north")
    run("ingest", "--cluster=north")
    assert unfinished() == []
    assert ledger() == undisturbed
    assert "FAIL" not in run("verify")


def test_one_killed_at_every_place_in_turn_still_ends_right(
    path: Path, undisturbed: object, redis_url: str
) -> None:
    deaths = [
        killed(redis_url, failpoint, "import_metrics", "--cluster=north", path)
        for failpoint in NAMES
    ]
    assert sum(deaths) > len(NAMES) // 2
    run("import_metrics", "--cluster=north", path)
    assert unfinished() == []
    assert ledger() == undisturbed
    assert "FAIL" not in run("verify")
