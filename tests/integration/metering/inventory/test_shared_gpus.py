"""A GPU that two clusters have at one time is an issue in both (rules.md N39)."""

from pathlib import Path
from typing import Any

import pytest

from tests.builders import HOUR_ZERO, SETUP, Text, times
from tests.integration.metering.support import report, run

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = 3600
HOUR_MS = 3_600_000


def cluster(name: str, folder: Path, start: int, length: int, *uuids: str) -> None:
    """A cluster with these GPUs on its own node, imported from a file."""
    text = Text()
    at = times(HOUR_ZERO + start, HOUR_ZERO + start + length)
    text.node(f"{name}-1", len(uuids), at)
    for uuid in uuids:
        text.utilization(uuid, f"{name}-1", dict.fromkeys(at, 0.5))
    path = text.write(folder / f"{name}.om")
    run("import_metrics", f"--cluster={name}", "--new", path)


def shared(state: str = "open") -> list[dict[str, Any]]:
    rows = report("issues", state=state)
    return [row for row in rows if row["code"] == "gpu_in_two_clusters"]


@pytest.fixture
def doubled(tmp_path: Path) -> Path:
    """GPU-a is in north from 10:00 to 12:00 and in south from 11:00 to 14:00."""
    (tmp_path / "setup.yaml").write_text(SETUP)
    run("configure", tmp_path / "setup.yaml")
    cluster("north", tmp_path, 0, 2 * HOUR, "GPU-a", "GPU-b")
    cluster("south", tmp_path, HOUR, 3 * HOUR, "GPU-a", "GPU-c")
    return tmp_path


def test_what_is_booked_twice_is_told_in_both_clusters(doubled: Path) -> None:
    found = {row["cluster"]: row for row in shared()}
    assert set(found) == {"north", "south"}
    for name, other in (("north", "south"), ("south", "north")):
        row = found[name]
        assert row["subject"] == "GPU-a"
        assert other in row["message"]
        assert row["first_seen"] == "2026-10-01T11:00:00+00:00"
        assert row["last_seen"] == "2026-10-01T12:00:00+00:00"
        assert row["at_stake_ms"] == HOUR_MS
        assert row["at_stake_charge"] == "2.100000"  # one hour at 2.10
        assert row["severity"] == "error"


def test_the_issue_ends_in_both_when_one_is_retired(doubled: Path) -> None:
    (doubled / "retired.yaml").write_text(
        "clusters: [{name: south, retired: 2026-10-01T11:00Z}]"
    )
    run("configure", doubled / "retired.yaml")
    assert shared() == []
    assert {row["cluster"] for row in shared("resolved")} == {"north", "south"}
    assert "FAIL" not in run("verify")


def test_what_is_left_is_told_when_less_is_booked_twice(doubled: Path) -> None:
    (doubled / "retired.yaml").write_text(
        "clusters: [{name: south, retired: 2026-10-01T11:15Z}]"
    )
    run("configure", doubled / "retired.yaml")
    assert {row["at_stake_ms"] for row in shared()} == {HOUR_MS // 4}


def test_a_gpu_that_moved_is_no_issue(tmp_path: Path) -> None:
    cluster("north", tmp_path, 0, HOUR, "GPU-a")
    cluster("south", tmp_path, HOUR, HOUR, "GPU-a")
    assert shared() == []


def test_three_clusters_name_both_others(doubled: Path) -> None:
    cluster("west", doubled, HOUR, HOUR, "GPU-a")
    found = {row["cluster"]: row for row in shared()}
    assert set(found) == {"north", "south", "west"}
    assert "north, south" in found["west"]["message"]
    # booked once too often here, however many others have it
    assert found["west"]["at_stake_ms"] == HOUR_MS
