"""T36: ratios under a name of percentages, and percentages under a name of ratios."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders import SETUP
from tests.integration.accounting.support import report
from tests.traps.scene import ENGINE, HOUR_MS, START, UTIL, Pod, Scene, usage

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.integration]
AMD = "gpu_gfx_activity"
SM = "DCGM_FI_PROF_SM_ACTIVE"
Value = Callable[[float], float]


def turns(*values: float) -> Value:
    """The values in turn, one a scrape of 30 s."""
    return lambda at: values[int(at - START) // 30 % len(values)]


def scene(
    metric: str, value: Value, step: int = 30, labels: dict[str, object] | None = None
) -> Scene:
    """`train-0` holds the GPU of a node for an hour."""
    told = Scene(step=step)
    told.node()
    told.pod(Pod("train-0"))
    told.gpu("GPU-1", value, labels, metric=metric)
    return told


def shown() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The usage of `train-0`, and the issues of scales."""
    found = [row for row in report("issues") if row["code"] == "utilization_scale"]
    return usage("pod")["train-0"], found


@pytest.mark.parametrize("metric", [UTIL, AMD])
def test_t36_fractions_of_whole_percent_are_ratios(metric: str, tmp_path: Path) -> None:
    """A collector keeps the name and divides by 100: 0.5 and 1 are half and all of it."""
    scene(metric, turns(0.5, 0.75, 1, 0)).read(tmp_path)

    row, [issue] = shown()
    assert row["busy_ms"] == HOUR_MS * 9 // 16  # not 1 % of it
    assert (issue["subject"], issue["at_stake_ms"]) == (metric, HOUR_MS)
    assert issue["at_stake_charge"] == "2.100000"
    assert f"{{{metric}: ratio}}" in issue["advice"]


def test_t36_a_declared_percentage_may_be_small(tmp_path: Path) -> None:
    source = f"{{kind: openmetrics, scales: {{{UTIL}: percent}}}}"
    scales = f"clusters: [{{name: north, sources: [{source}]}}]\n"
    scene(UTIL, turns(0.5, 0.75, 1, 0)).read(tmp_path, SETUP + scales)

    row, found = shown()
    assert row["busy_ms"] == HOUR_MS * 9 // 1600
    assert found == []


def test_t36_few_fractions_are_no_data_and_never_one_percent(tmp_path: Path) -> None:
    """Two samples a window do not show a scale for certain."""
    scene(UTIL, lambda _: 0.5, step=150).read(tmp_path)

    row, [issue] = shown()
    assert (row["busy_ms"], row["unknown_ms"]) == (0, HOUR_MS)
    assert (issue["severity"], issue["at_stake_charge"]) == ("error", "2.100000")


def test_t36_two_collectors_of_two_scales(tmp_path: Path) -> None:
    """Who writes whole percent is believed; who writes fractions beside it is not."""
    told = scene(UTIL, turns(0.5, 0.75))
    told.node("n2")
    told.pod(Pod("train-1", node="n2"))
    told.gpu("GPU-2", 50, node="n2", metric=UTIL)
    told.read(tmp_path)

    row, [issue] = shown()
    assert row["unknown_ms"] == HOUR_MS
    assert usage("pod")["train-1"]["busy_ms"] == HOUR_MS // 2
    assert issue["at_stake_ms"] == HOUR_MS  # of the one GPU


def test_t36_averages_of_percent_are_percent(tmp_path: Path) -> None:
    """Fractions above 1 show that somebody averaged whole numbers."""
    scene(UTIL, turns(0.5, 12.5)).read(tmp_path)

    row, found = shown()
    assert row["busy_ms"] == HOUR_MS * 13 // 200
    assert found == []


def test_t36_percentages_of_engine_activity_are_no_data(tmp_path: Path) -> None:
    """0.5 beside 50 would be half busy."""
    scene(ENGINE, turns(50, 0.5)).read(tmp_path)

    row, [issue] = shown()
    assert row["unknown_ms"] == HOUR_MS
    assert f"{{{ENGINE}: percent}}" in issue["advice"]


def test_t36_percentages_of_activity_are_no_activity(tmp_path: Path) -> None:
    told = scene(ENGINE, lambda _: 0.5)
    told.gpu("GPU-1", turns(50, 0.5), metric=SM)
    told.read(tmp_path)

    row, [issue] = shown()
    assert (row["busy_ms"], row["sm_active"]) == (HOUR_MS // 2, None)
    assert issue["subject"] == SM


def test_t36_an_idle_gpu_of_one_percent_is_nothing_odd(tmp_path: Path) -> None:
    scene(UTIL, turns(0, 1)).read(tmp_path)

    row, found = shown()
    assert row["busy_ms"] == HOUR_MS // 200
    assert found == []
