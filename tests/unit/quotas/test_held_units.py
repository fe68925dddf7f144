"""Units that pods hold: the peak, the current units, and days above a limit."""

import numpy as np

from accounting.core.interval import DAY_MS, HOUR_MS
from scheduler_view.quotas.rules.held_units import OPEN, HeldUnits, level_of

MIDNIGHT_MS = 1_764_547_200_000  # 1 December 2025, UTC


def _held(*holds: tuple[float, float | None, int]) -> HeldUnits:
    """Holds from and until hours after midnight; None is not over."""
    low = [MIDNIGHT_MS + int(start * HOUR_MS) for start, _, _ in holds]
    high = [
        OPEN if end is None else MIDNIGHT_MS + int(end * HOUR_MS) for _, end, _ in holds
    ]
    units = [units for _, _, units in holds]
    columns = (np.array(each, np.int64) for each in (low, high, units))
    return HeldUnits(1, "vision-lab", "", "nvidia.com/gpu", *columns)


def test_peak_counts_what_is_held_at_once() -> None:
    assert level_of([_held((0, 2, 4), (1, 3, 3))]).peak == 7
    assert level_of([_held((0, 2, 4)), _held((1, None, 3))]).peak == 7


def test_hold_that_begins_as_another_ends_adds_nothing() -> None:
    assert level_of([_held((1, 2, 8), (0, 1, 8))]).peak == 8


def test_nothing_held_has_no_peak_and_no_day() -> None:
    for none in (level_of([]), level_of([_held()])):
        assert none.peak == 0
        assert none.days_above(0, MIDNIGHT_MS + DAY_MS, "UTC") == 0


def test_now_counts_holds_that_are_not_over() -> None:
    assert _held((0, 2, 4), (1, None, 3), (5, None, 2)).now == 5


def test_days_above_a_limit_begin_at_midnight_of_the_time_zone() -> None:
    level = level_of([_held((23.5, 24.5, 4))])
    until_ms = MIDNIGHT_MS + 2 * DAY_MS
    assert level.days_above(3, until_ms, "UTC") == 2
    assert level.days_above(3, until_ms, "Europe/Berlin") == 1
    assert level.days_above(4, until_ms, "UTC") == 0


def test_day_counts_once_and_an_end_at_midnight_not_at_all() -> None:
    level = level_of([_held((1, 2, 4), (3, 4, 4), (20, 24, 4))])
    assert level.days_above(3, MIDNIGHT_MS + 2 * DAY_MS, "UTC") == 1


def test_open_hold_is_above_until_the_end_of_the_question() -> None:
    level = level_of([_held((12, None, 4))])
    assert level.days_above(3, MIDNIGHT_MS + 3 * DAY_MS, "UTC") == 3
    assert level.days_above(3, MIDNIGHT_MS + 3 * DAY_MS + 1, "UTC") == 4
    begins_last = level_of([_held((24, None, 4))])
    assert begins_last.days_above(3, MIDNIGHT_MS + DAY_MS, "UTC") == 0
