"""The bars of one GPU of a run: no step ends after the newest data."""

from zoneinfo import ZoneInfo

import pytest

from accounting.core.efficiency import StateTimes
from accounting.core.interval import DAY_MS, HOUR_MS, Interval
from scheduler_view.workloads.pages.lanes import GpuLane, drawn
from scheduler_view.workloads.reads import RunGpu
from scheduler_view.workloads.rules import UseStep, cells

GPU = RunGpu(1, "GPU-1", "NVIDIA-L40S", "node-1")
ZONE = ZoneInfo("UTC")


@pytest.mark.parametrize(
    ("step", "texts"),
    [
        ("day", ["1 Jan to 2 Jan: busy 100.0%", "3 Jan: no data"]),
        (
            "hour",
            [
                "1 Jan 06:00 to 3 Jan 00:00: busy 100.0%",
                "3 Jan 00:00 to 3 Jan 10:00: no data",
            ],
        ),
    ],
)
def test_bars_end_at_the_newest_data_and_days_tell_no_hours(
    step: str, texts: list[str]
) -> None:
    times = [StateTimes(HOUR_MS, 0, 0)] * 2 + [StateTimes(0, 0, HOUR_MS)]
    steps = [
        UseStep(n * DAY_MS, (n + 1) * DAY_MS, time) for n, time in enumerate(times)
    ]
    lane = GpuLane(GPU, StateTimes(2 * HOUR_MS, 0, HOUR_MS), tuple(cells(steps)))
    shown = Interval(6 * HOUR_MS, 2 * DAY_MS + 10 * HOUR_MS)
    assert [bar.text for bar in drawn(lane, shown, 0, ZONE, step).bars] == texts
