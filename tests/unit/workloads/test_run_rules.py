"""The life of one run, and the looks of its time: values without a database."""

from decimal import Decimal

import pytest

from accounting.core.efficiency import StateTimes
from accounting.core.interval import WINDOW_MS, Interval
from scheduler_view.workloads.rules import (
    Instants,
    LifePart,
    RunHold,
    UseStep,
    cells,
    gaps_of,
    life_of,
    look_of,
    most_at_once,
    together,
)

BUSY, LOW = (
    StateTimes(WINDOW_MS, 0, 0),
    StateTimes(WINDOW_MS // 5, WINDOW_MS * 4 // 5, 0),
)
IDLE, UNKNOWN = StateTimes(0, WINDOW_MS, 0), StateTimes(0, 0, WINDOW_MS)


def steps(*times: StateTimes) -> list[UseStep]:
    return [
        UseStep(n * WINDOW_MS, (n + 1) * WINDOW_MS, time)
        for n, time in enumerate(times)
    ]


def lengths(parts: tuple[LifePart, ...]) -> dict[str, int | None]:
    """In windows."""
    return {
        part.name: None if part.length_ms is None else part.length_ms // WINDOW_MS
        for part in parts
    }


OBSERVED = Instants(-3 * WINDOW_MS, -2 * WINDOW_MS, 0, 20_000, None)


@pytest.mark.parametrize(
    ("times", "look"),
    [
        (StateTimes(81, 19, 0), "busy"),
        (StateTimes(80, 20, 0), "mid"),
        (StateTimes(40, 60, 0), "mid"),
        (StateTimes(39, 61, 0), "low"),
        (StateTimes(5, 95, 0), "low"),
        (StateTimes(4, 96, 0), "idle"),
        (StateTimes(0, 49, 51), "unknown"),
        (StateTimes(0, 0, 100), "unknown"),
    ],
)
def test_a_step_looks_as_busy_as_it_was_observed(times: StateTimes, look: str) -> None:
    assert look_of(UseStep(0, WINDOW_MS, times)) == look


def test_steps_of_one_look_are_one_cell() -> None:
    found = cells(steps(BUSY, BUSY, IDLE, StateTimes(0, 0, 0), IDLE))
    assert [(one.start_ms, one.end_ms, one.look) for one in found] == [
        (0, 2 * WINDOW_MS, "busy"),
        (2 * WINDOW_MS, 3 * WINDOW_MS, "idle"),
        (4 * WINDOW_MS, 5 * WINDOW_MS, "idle"),
    ]
    assert found[0].times == StateTimes(2 * WINDOW_MS, 0, 0)


def test_gpus_are_added_step_by_step() -> None:
    found = together([*steps(BUSY, IDLE), *steps(BUSY)])
    assert found == steps(StateTimes(2 * WINDOW_MS, 0, 0), IDLE)


def test_a_life_has_its_parts_in_order() -> None:
    life = life_of(OBSERVED, steps(IDLE, BUSY, IDLE, BUSY, IDLE, IDLE))
    assert lengths(life.parts) == {
        "Admission": 1,
        "Scheduling": 2,
        "Start-up": 1,
        "Busy": 3,
        "Idle at the end": 2,
    }
    assert (life.first_busy_ms, life.last_busy_ms) == (WINDOW_MS, 4 * WINDOW_MS)
    assert "after 20 s" in life.parts[2].text
    assert "67%" in life.parts[3].text


def test_unknown_time_is_never_idle() -> None:
    life = life_of(OBSERVED, steps(BUSY, IDLE, UNKNOWN, UNKNOWN))
    assert lengths(life.parts) == {
        "Admission": 1,
        "Scheduling": 2,
        "Start-up": 0,
        "Busy": 1,
        "Idle at the end": 1,
        "Not observed": 2,
    }


def test_what_was_not_observed_has_no_length() -> None:
    unseen = Instants(None, None, 0, None, 2 * WINDOW_MS)
    life = life_of(unseen, steps(UNKNOWN, UNKNOWN))
    assert lengths(life.parts) == {
        "Waiting": None,
        "Start-up": None,
        "Idle at the end": 0,
        "Not observed": 2,
    }
    assert (life.first_busy_ms, life.last_busy_ms) == (None, None)


def test_time_between_holds_is_no_part_of_a_hold() -> None:
    holds = [
        RunHold(0, 2 * WINDOW_MS, Decimal(1)),
        RunHold(3 * WINDOW_MS, None, Decimal(1)),
    ]
    gaps = gaps_of(holds, Interval(0, 6 * WINDOW_MS))
    assert gaps == [Interval(2 * WINDOW_MS, 3 * WINDOW_MS)]
    nothing = StateTimes(0, 0, 0)
    life = life_of(OBSERVED, steps(BUSY, BUSY, nothing, BUSY, IDLE, IDLE), gaps)
    assert lengths(life.parts) == {
        "Admission": 1,
        "Scheduling": 2,
        "Start-up": 0,
        "Busy": 3,
        "Idle at the end": 2,
        "Held nothing": 1,
    }


def test_a_start_up_within_the_first_hour_has_no_length() -> None:
    life = life_of(OBSERVED, steps(BUSY, BUSY), by="hour")
    [start_up] = [part for part in life.parts if part.name == "Start-up"]
    assert (start_up.length_ms, start_up.text) == (None, "Within the first hour.")


def test_what_ends_is_free_for_what_begins() -> None:
    holds = [
        RunHold(0, 10, Decimal(4)),
        RunHold(10, 20, Decimal(4)),
        RunHold(15, None, Decimal("0.5")),
    ]
    assert most_at_once(holds) == Decimal("4.5")
    assert most_at_once([]) == 0
    assert holds[2].length_ms(25) == 10
