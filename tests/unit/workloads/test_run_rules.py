"""The life of one run, and the looks of its time: values without a database."""

import random
from dataclasses import replace
from decimal import Decimal

import pytest

from accounting.core.efficiency import StateTimes, sum_times
from accounting.core.interval import HOUR_MS, WINDOW_MS, Interval
from scheduler_view.workloads.rules import (
    Instants,
    LifePart,
    RunHold,
    UseStep,
    cells,
    edge_hours,
    finer,
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
BETWEEN = StateTimes(WINDOW_MS * 7 // 100, WINDOW_MS * 93 // 100, 0)
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


def observed(windows: int) -> Instants:
    """Of a life of so many windows."""
    return Instants(-3 * WINDOW_MS, -2 * WINDOW_MS, 0, None, windows * WINDOW_MS)


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
    life = life_of(observed(6), steps(IDLE, BUSY, IDLE, BUSY, IDLE, IDLE))
    assert lengths(life.parts) == {
        "Admission": 1,
        "Scheduling": 2,
        "Start-up and warm-up": 1,
        "Busy": 3,
        "Idle at the end": 2,
    }
    assert (life.first_busy_ms, life.last_busy_ms) == (WINDOW_MS, 4 * WINDOW_MS)
    assert "67%" in life.parts[3].text


def test_unknown_time_is_never_idle() -> None:
    life = life_of(observed(4), steps(BUSY, IDLE, UNKNOWN, UNKNOWN))
    assert lengths(life.parts) == {
        "Admission": 1,
        "Scheduling": 2,
        "Start-up and warm-up": 0,
        "Busy": 1,
        "Idle at the end": 1,
        "Not observed": 2,
    }


def test_what_was_not_observed_has_no_length() -> None:
    unseen = Instants(None, None, 0, None, 2 * WINDOW_MS)
    life = life_of(unseen, steps(UNKNOWN, UNKNOWN))
    assert lengths(life.parts) == {
        "Waiting": None,
        "Start-up and warm-up": None,
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
    life = life_of(observed(6), steps(BUSY, BUSY, nothing, BUSY, IDLE, IDLE), gaps)
    assert lengths(life.parts) == {
        "Admission": 1,
        "Scheduling": 2,
        "Start-up and warm-up": 0,
        "Busy": 3,
        "Idle at the end": 2,
        "Held nothing": 1,
    }


def test_a_warm_up_within_the_first_hour_has_no_length() -> None:
    instants = replace(observed(24), started_ms=20_000)
    life = life_of(instants, hours(BUSY, BUSY), by="hour")
    known = {part.name: part.length_ms for part in life.parts}
    assert (known["Start-up"], known["Warm-up"]) == (20_000, None)
    assert known["Busy"] == 2 * HOUR_MS - 20_000
    [warm_up] = [part for part in life.parts if part.name == "Warm-up"]
    assert warm_up.text == "Within the first hour."


def hours(*times: StateTimes) -> list[UseStep]:
    return [
        UseStep(n * HOUR_MS, (n + 1) * HOUR_MS, time) for n, time in enumerate(times)
    ]


def test_little_busy_time_at_the_begin_is_not_idle() -> None:
    life = life_of(observed(36), hours(BETWEEN, BUSY, IDLE), by="hour")
    assert (life.first_busy_ms, life.last_busy_ms) == (0, 2 * HOUR_MS)
    later = life_of(observed(36), hours(IDLE, BETWEEN, BUSY), by="hour")
    assert later.first_busy_ms == HOUR_MS
    never = life_of(observed(36), hours(IDLE, BETWEEN, IDLE), by="hour")
    assert (never.first_busy_ms, never.last_busy_ms) == (None, None)


def test_no_step_ends_after_the_newest_data() -> None:
    instants = replace(observed(0), bound_ms=WINDOW_MS, ended_ms=HOUR_MS + WINDOW_MS)
    life = life_of(instants, hours(BUSY, BUSY), by="hour")
    assert (life.first_busy_ms, life.last_busy_ms) == (WINDOW_MS, HOUR_MS + WINDOW_MS)


def test_the_first_busy_time_is_not_known_without_its_hours() -> None:
    instants = observed(10 * 12)
    life = life_of(instants, hours(IDLE, IDLE, BUSY, IDLE)[1:], by="hour")
    assert (life.first_busy_ms, life.last_busy_ms) == (None, 3 * HOUR_MS)
    known = {part.name: part.length_ms for part in life.parts}
    assert (known["Start-up and warm-up"], known["Busy"]) == (None, None)


@pytest.mark.parametrize("by", ["window", "hour"])
@pytest.mark.parametrize("seed", range(50))
def test_parts_come_to_the_whole_life(seed: int, by: str) -> None:
    """From the bind on, with holds that begin and end within steps."""
    chance = random.Random(seed)
    looks = [chance.choice((BUSY, LOW, IDLE, UNKNOWN, BETWEEN)) for _ in range(40)]
    every = hours(*looks) if by == "hour" else steps(*looks)
    length = every[-1].end_ms
    edges = sorted(chance.sample(range(1, length), 5))
    first, *between, end = edges
    holds = [
        RunHold(first, between[0], Decimal(1)),
        RunHold(between[1], between[2], Decimal(1)),
    ]
    whole = Interval(first, chance.choice((end, between[2])))
    gaps = gaps_of(holds, whole)
    started = chance.choice((None, first + 20_000))
    kept = [one for one in every if first < one.end_ms and one.start_ms < whole.end_ms]
    life = life_of(Instants(None, None, first, started, whole.end_ms), kept, gaps, by)
    known = sum(part.length_ms or 0 for part in life.parts if part.name != "Waiting")
    assert known == whole.length_ms
    assert all((part.length_ms or 0) >= 0 for part in life.parts)


def test_hours_are_read_in_finer_steps_where_all_of_their_time_is_known() -> None:
    every = hours(*(sum_times([one] * 12) for one in (IDLE, BUSY, IDLE)))
    life = life_of(observed(36), every, by="hour")
    assert edge_hours(life) == [Interval(HOUR_MS, 2 * HOUR_MS)]
    fine = [
        UseStep(HOUR_MS + n * WINDOW_MS, HOUR_MS + (n + 1) * WINDOW_MS, BUSY)
        for n in range(12)
    ]
    assert finer(every, fine, edge_hours(life)) == [every[0], *fine, every[2]]
    assert finer(every, fine[1:], edge_hours(life)) is None


def test_what_ends_is_free_for_what_begins() -> None:
    holds = [
        RunHold(0, 10, Decimal(4)),
        RunHold(10, 20, Decimal(4)),
        RunHold(15, None, Decimal("0.5")),
    ]
    assert most_at_once(holds) == Decimal("4.5")
    assert most_at_once([]) == 0
    assert holds[2].length_ms(25) == 10
