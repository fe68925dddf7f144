"""The sentences of small charts: their range is that of their table."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from accounting.core.efficiency import StateTimes
from accounting.core.interval import DAY_MS, Interval
from accounting.fleet.pages.small_charts import measures
from accounting.metering.rules.intensity.summary import NOT_OBSERVED, Intensity
from accounting.usage.pages.page_state import PageState
from scheduler_view.workloads.pages.run import RunStep

FIRST = datetime(2026, 10, 4, tzinfo=UTC)
DAY = timedelta(days=1)
MIB_OF_GIB = 1024


def sentences(*memory: float | None) -> dict[str, str]:
    """Of a run that was held on some days: mean memory in GiB, None where none was read."""
    steps = [
        RunStep(
            FIRST + n * DAY,
            DAY_MS,
            StateTimes(DAY_MS // 2, DAY_MS // 2, 0),
            NOT_OBSERVED
            if gib is None
            else Intensity(
                memory_seen_us=DAY_MS * 1000,
                memory_mib_ms=round(gib * MIB_OF_GIB * DAY_MS),
            ),
        )
        for n, gib in enumerate(memory)
    ]
    state = cast("PageState", SimpleNamespace(visitor=SimpleNamespace(zone=UTC)))
    period = Interval.of(FIRST, FIRST + len(memory) * DAY)
    found: list[Any] = measures(steps, period, state)
    return {one.name: one.chart.sentence for one in found}


def test_a_chart_says_since_when_it_was_measured() -> None:
    found = sentences(None, None, 14.06, 16.64)
    assert found == {
        "busy": "Always 50.0%.",
        "memory": "Between 14.1 GiB and 16.6 GiB. Dotted: peak. "
        "Measured from Tue 6 Oct 00:00 on: nothing was collected before.",
    }
    assert "Measured" not in sentences(14, None, 16)["memory"]
