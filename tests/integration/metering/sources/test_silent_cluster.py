"""The silence of a live source, and the end of its cluster (rules.md N38).

The source answers all the time. Not here: one that does not answer (test_source_faults).
"""

from pathlib import Path
from typing import Any

import pytest

from accounting.core.interval import HOUR_MS, Interval
from accounting.metering.models.ledger import IngestWindow
from accounting.metering.tasks.windows import schedule
from tests.builders import HOUR_ZERO, Text, times
from tests.integration.metering.sources.replay import Answer, Question
from tests.integration.metering.sources.source import HOUR, Source, let_time_pass
from tests.integration.metering.sources.stand_in import StandIn
from tests.integration.metering.support import report, run

pytestmark = pytest.mark.django_db(transaction=True)
DAY = 86_400


def told(*starts: int) -> StandIn:
    """Two GPUs that nobody holds, shown for an hour from each start on."""
    text = Text()
    at = [t for start in starts for t in times(start, start + 3600)]
    text.node("n1", 2, at)
    for uuid in ("GPU-a", "GPU-b"):
        text.utilization(uuid, "n1", dict.fromkeys(at, 0.0))
    return StandIn(text.text())


def pass_time(source: Source, hours: int, since: int = 0) -> None:
    """Windows up to so many hours after the first sample are computed."""
    start_ms = HOUR.start_ms + since * HOUR_MS
    period = Interval(start_ms, HOUR.start_ms + hours * HOUR_MS)
    schedule.mark(source.cluster.pk, [period], "asked", create=True)
    let_time_pass()
    source.read()


def issues(code: str, state: str = "open") -> list[dict[str, Any]]:
    return [row for row in report("issues", state=state) if row["code"] == code]


@pytest.fixture
def silent(source: Source) -> Source:
    """One hour of samples, and 25 hours without any."""
    source.script = told(HOUR_ZERO)
    pass_time(source, 26)
    return source


def test_a_day_of_silence_is_an_issue_with_its_money(source: Source) -> None:
    source.script = told(HOUR_ZERO)
    pass_time(source, 24)  # 23 hours without a sample
    assert issues("cluster_silent") == []
    pass_time(source, 26)
    [issue] = issues("cluster_silent")
    assert issue["subject"] == "north"
    assert issue["first_seen"] == "2026-10-01T10:59:30+00:00"  # the last sample
    assert issue["last_seen"] == "2026-10-02T12:00:00+00:00"
    assert issue["at_stake_ms"] == 2 * (25 * HOUR_MS + 30_000)
    # 50 GPU-hours and a minute of GPU time at 2.10
    assert issue["at_stake_charge"] == "105.035000"
    [row] = report("ledger", by="cluster")
    assert row["dark_ms"] == 2 * 25 * HOUR_MS


def test_silence_ends_with_the_next_sample(silent: Source) -> None:
    silent.script = told(HOUR_ZERO, HOUR_ZERO + 26 * 3600)
    pass_time(silent, 27)
    assert issues("cluster_silent") == []
    assert len(issues("cluster_silent", "resolved")) == 1


def retire(at: str, folder: Path) -> None:
    """`configure` with the cluster's end; `null` takes it back."""
    path = folder / "retired.yaml"
    path.write_text(f"clusters: [{{name: north, retired: {at}}}]")
    run("configure", path)


@pytest.mark.usefixtures("silent")
def test_a_retired_cluster_is_not_silent(tmp_path: Path) -> None:
    retire("2026-10-01T11:00Z", tmp_path)
    assert issues("cluster_silent") == []
    [row] = report("ledger", by="cluster")
    assert (row["wall_ms"], row["dark_ms"]) == (2 * HOUR_MS, 0)
    assert "FAIL" not in run("verify")


def test_nobody_has_to_answer_for_a_retired_cluster(
    silent: Source, tmp_path: Path
) -> None:
    retire("2026-10-01T11:00Z", tmp_path)

    def dead(question: Question) -> Answer:
        return Answer(503, headers={"Retry-After": "0"})  # all tries, without waits

    silent.script = dead
    pass_time(silent, 28, since=2)
    assert set(IngestWindow.objects.values_list("state", flat=True)) == {"done"}
    assert issues("source_failed") == []


def test_samples_after_the_end_are_told_and_booked_nowhere(
    silent: Source, tmp_path: Path
) -> None:
    retire("2026-10-01T11:00Z", tmp_path)
    silent.script = told(HOUR_ZERO, HOUR_ZERO + 26 * 3600)
    pass_time(silent, 27)
    [row] = report("ledger", by="cluster")
    assert row["wall_ms"] == 2 * HOUR_MS
    [issue] = issues("sampled_after_retired")
    assert issue["subject"] == "north"
    assert issue["first_seen"] == "2026-10-02T12:00:00+00:00"
    assert issue["at_stake_ms"] == 2 * (HOUR_MS - 30_000)  # first to last sample
    assert issue["at_stake_charge"] is not None
    retire("null", tmp_path)
    assert issues("sampled_after_retired") == []
    [row] = report("ledger", by="cluster")
    assert row["wall_ms"] == 2 * 27 * HOUR_MS
    assert "FAIL" not in run("verify")
