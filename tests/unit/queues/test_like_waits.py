"""How soon work starts, in words, by waits like it: S18."""

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from scheduler_view.queues.rules.like_waits import (
    ENOUGH,
    SaidStart,
    StartWord,
    WaitLength,
    horizons,
    is_endless,
    said_start,
    size_class,
)
from scheduler_view.waits.rules.explanation import Blocker, BlockerSet

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
BERLIN = ZoneInfo("Europe/Berlin")
NINE = horizons(datetime(2026, 11, 23, 9, 0, tzinfo=BERLIN))
DAY_MS = 24 * HOUR_MS


def started(*minutes: int) -> list[WaitLength]:
    return [WaitLength(one * MINUTE_MS, is_started=True) for one in minutes]


EXAMPLE = [*started(*range(1, 21)), *started(*range(35, 52)), *started(300)]


def test_the_example_of_work_that_has_waited_half_an_hour() -> None:
    found = said_start(EXAMPLE, 30 * MINUTE_MS, NINE)
    assert found == SaidStart(StartWord.HOUR, like=18, kept=17)


def test_the_time_already_waited_counts() -> None:
    assert said_start(EXAMPLE, 0, NINE).word is StartWord.HOUR
    late = said_start(EXAMPLE, 52 * MINUTE_MS, NINE)
    assert late == SaidStart(StartWord.FEW, like=1)


def test_waits_that_were_given_up_or_last_count_against_a_time_only_if_longer() -> None:
    waits = started(*[30] * 10)
    assert said_start(waits, 0, NINE) == SaidStart(StartWord.HOUR, 10, 10)
    soon = [WaitLength(20 * MINUTE_MS, is_started=False)] * 50
    assert said_start([*waits, *soon], 0, NINE) == SaidStart(StartWord.HOUR, 10, 10)
    late = [WaitLength(26 * HOUR_MS, is_started=False)] * 5
    assert said_start([*waits, *late], 0, NINE) == SaidStart(StartWord.LONG, 15, 10)


def test_no_time_is_longer_than_a_day() -> None:
    found = said_start(started(*[25 * 60] * 30), 0, NINE)
    assert found == SaidStart(StartWord.LONG, 30, 0)


def test_evening_and_day_are_those_of_the_zone_and_are_named_only_while_far() -> None:
    assert [(word.value, length // MINUTE_MS) for word, length in NINE] == [
        ("minutes", 10),
        ("hour", 60),
        ("four_hours", 240),
        ("evening", 13 * 60),
        ("today", 15 * 60),
        ("day", 24 * 60),
    ]
    late = horizons(datetime(2026, 11, 23, 19, 0, tzinfo=BERLIN))
    assert [word.value for word, _ in late] == [
        *("minutes", "hour", "four_hours", "today", "day")
    ]


@given(
    st.lists(st.builds(WaitLength, st.integers(0, 3 * DAY_MS), st.booleans())),
    st.integers(0, 2 * DAY_MS),
)
def test_a_time_is_named_only_with_enough_waits_of_which_most_started(
    waits: list[WaitLength], waited_ms: int
) -> None:
    found = said_start(waits, waited_ms, NINE)
    assert 0 <= found.kept <= found.like <= len(waits)
    if found.word not in (StartWord.FEW, StartWord.LONG):
        assert found.like >= ENOUGH
        assert 10 * found.kept >= 8 * found.like


def test_sizes_that_are_alike() -> None:
    alike = [[1], [2], [3, 4], [5, 8], [9, 16]]
    assert [{size_class(one) for one in group} for group in alike] == [
        {number} for number in range(5)
    ]
    assert all(size_class(a) <= size_class(b) for a, b in pairwise(range(100)))


def holder(unit: str) -> Blocker:
    return Blocker("lab/x", "u", unit, "nvidia.com/gpu", 1, 0, "")


def test_holders_run_without_an_end_if_each_set_has_a_service() -> None:
    service = BlockerSet("a", (holder("Deployment/lab/api"), holder("Job/lab/x")))
    job = BlockerSet("b", (holder("Job/lab/x"),))
    assert is_endless([service, service], 2)
    assert not is_endless([service, job], 2)
    assert not is_endless([service], 5), "others may be jobs"
    assert not is_endless([], 0)
