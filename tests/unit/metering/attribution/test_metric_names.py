"""Which of a GPU's names a window's metric was read under (N7)."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from accounting.core.interval import WINDOW_MS, Interval
from accounting.metering.rules.attribution.metric_names import NAMES, OTHER, spellings
from accounting.metering.rules.attribution.utilization import METRIC_CODE
from accounting.metering.rules.samples.series import (
    GpuKey,
    Reading,
    ScraperIdentity,
    Series,
)

START = 10 * WINDOW_MS
WINDOW = Interval(START, START + WINDOW_MS)
OLD, NEW = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO"
ENGINE, UTIL = 1, 2


def series(
    name: str,
    at: Sequence[int],
    uuid: str = "G",
    value: float = 0.5,
    metric: str = "engine_active",
) -> Series:
    times = np.array(at, np.int64) + START
    values = np.full(len(at), value)
    return Series(metric, name, ScraperIdentity(), times, values, gpu=GpuKey(uuid, "n"))


def within(*found: Series, window: Interval = WINDOW) -> dict[tuple[str, int], int]:
    told = spellings([Reading(found)]).within(window)
    assert all(code != rung for (_, rung), code in told.items())  # only what is odd
    rungs = [(one.gpu.uuid, METRIC_CODE.get(one.metric)) for one in found if one.gpu]
    return {(uuid, n): told.get((uuid, n), n) for uuid, n in rungs if n is not None}


def test_each_rung_of_each_gpu_has_its_name() -> None:
    util = series("habanalabs_utilization", [0], "H", metric="gpu_util")
    power = series("DCGM_FI_DEV_POWER_USAGE", [0], metric="power_watts")
    assert within(series(NEW, [0]), util, power, series(OLD, [0], "F")) == {
        ("G", ENGINE): NAMES[NEW],
        ("H", UTIL): NAMES["habanalabs_utilization"],
        ("F", ENGINE): NAMES[OLD],
    }


def test_a_name_outside_the_table_is_another() -> None:
    assert within(series("my_utilization", [0])) == {("G", ENGINE): OTHER}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([0, 30_000, 60_000], [90_000, 120_000], OLD),
        ([0, 30_000], [60_000, 90_000, 120_000], NEW),
        ([0, 30_000], [60_000, 90_000], NEW),  # the later one, of as many
        ([30_000, 45_000], [0, 60_000], NEW),
        ([0, 30_000], [0, 30_000], OLD),  # the smaller name, of alike ones
        ([-30_000, -1], [-60_000], OLD),  # none within: the last one before
        ([-60_000], [-30_000, -1], NEW),
        ([-60_000, -30_000], [0], NEW),
        ([0], [WINDOW_MS, WINDOW_MS + 30_000], OLD),  # what comes later says nothing
        ([WINDOW_MS - 1], [WINDOW_MS], OLD),
    ],
)
def test_of_two_names_the_one_with_most_samples_in_the_window_counts(
    old: list[int], new: list[int], expected: str
) -> None:
    found = within(series(NEW, new), series(OLD, old))
    assert found == {("G", ENGINE): NAMES[expected]}


def test_samples_without_data_name_nothing() -> None:
    blank = series(OLD, [0, 30_000, 60_000], value=math.nan)
    assert within(blank, series(NEW, [0])) == {("G", ENGINE): NAMES[NEW]}


def test_series_of_one_name_count_together() -> None:
    old = [series(OLD, [0]), series(OLD, [30_000])]
    assert within(*old, series(NEW, [60_000])) == {("G", ENGINE): NAMES[OLD]}


def test_zeros_are_data() -> None:
    idle = series(OLD, [0, 30_000], value=0.0)
    assert within(idle, series(NEW, [60_000])) == {("G", ENGINE): NAMES[OLD]}
