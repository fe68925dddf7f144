"""What becomes of an alert (alerts.md): new, worse, back again, ongoing, archived, resolved.

Not here: how causes are found (tests/integration/alerts).
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from scheduler_view.alerts.rules.cause import fired_within, first_at_once
from scheduler_view.alerts.rules.states import (
    AlertMark,
    AlertStanding,
    AlertState,
    FigureUnit,
    Resolution,
    after_found,
    after_gone,
    state_of,
)

AT = datetime(2026, 11, 23, 9, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def found(
    figure: str,
    at: datetime = AT,
    before: AlertStanding | None = None,
    unit: str = "EUR",
) -> AlertStanding:
    return after_found(before, Decimal(figure), unit, at)


def test_an_alert_is_new_for_a_day_and_then_ongoing() -> None:
    first = found("10")
    assert state_of(first, AT) == AlertState.NEW
    assert state_of(first, AT + DAY - timedelta(seconds=1)) == AlertState.NEW
    assert state_of(first, AT + DAY) == AlertState.ONGOING
    assert first.times == 1


def test_looking_again_changes_nothing() -> None:
    first = found("10")
    assert found("10", AT + HOUR, first) == first
    assert found("14", AT + 2 * DAY, first) == first


@pytest.mark.parametrize(
    ("figure", "later", "is_worse"),
    [
        ("15", DAY, True),  # by half
        ("14.999999", DAY, False),
        ("15", DAY - timedelta(seconds=1), False),  # it is new still
        ("9", 9 * DAY, False),
    ],
)
def test_an_alert_is_worse_when_its_figure_grew_by_half(
    figure: str, later: timedelta, *, is_worse: bool
) -> None:
    after = found(figure, AT + later, found("10"))
    assert (after.mark == AlertMark.WORSE) is is_worse
    assert after.times == 1
    if is_worse:
        assert state_of(after, AT + later) == AlertState.WORSE
        assert after.marked_figure == Decimal(figure)


def test_a_figure_of_nothing_does_not_grow() -> None:
    assert found("0", AT + 3 * DAY, found("0")).mark == AlertMark.NEW
    assert found("0.01", AT + 3 * DAY, found("0")).mark == AlertMark.WORSE


def test_an_alert_resolves_once() -> None:
    gone = after_gone(found("10"), Resolution.GONE, AT + HOUR)
    assert state_of(gone, AT + HOUR) == AlertState.RESOLVED
    assert gone.resolved_at == AT + HOUR
    assert after_gone(gone, Resolution.OFF, AT + DAY) == gone


def test_a_cause_that_returns_is_back_again_within_thirty_days() -> None:
    gone = after_gone(found("10"), Resolution.GONE, AT)
    again = found("3", AT + 30 * DAY, gone)
    assert (again.mark, again.times) == (AlertMark.AGAIN, 2)
    assert (again.resolved_at, again.resolution) == (None, "")
    assert again.marked_figure == Decimal(3)
    later = found("3", AT + 30 * DAY + timedelta(seconds=1), gone)
    assert (later.mark, later.times) == (AlertMark.NEW, 2)


def test_an_archived_alert_returns_when_it_grew_by_half() -> None:
    archived = replace(found("10"), archived_figure=Decimal(20))
    assert state_of(archived, AT) == AlertState.ARCHIVED
    same = found("29.99", AT + 9 * DAY, archived)
    assert state_of(same, AT + 9 * DAY) == AlertState.ARCHIVED
    worse = found("30", AT + HOUR, archived)
    assert (worse.mark, worse.archived_figure) == (AlertMark.WORSE, None)


def test_an_archived_alert_stays_archived_when_it_comes_back_small() -> None:
    archived = replace(found("10"), archived_figure=Decimal(20))
    gone = after_gone(archived, Resolution.GONE, AT + DAY)
    back = found("5", AT + 2 * DAY, gone)
    assert state_of(back, AT + 2 * DAY) == AlertState.ARCHIVED
    assert back.times == 2
    large = found("30", AT + 2 * DAY, gone)
    assert state_of(large, AT + 2 * DAY) == AlertState.WORSE
    late = found("5", AT + 60 * DAY, gone)
    assert state_of(late, AT + 60 * DAY) == AlertState.NEW


@pytest.mark.parametrize("unit", ["USD", FigureUnit.GPU_MS])
def test_a_figure_in_another_unit_counts_from_there_on(unit: str) -> None:
    """Milliseconds of GPU time are millions, and would never be exceeded by money."""
    before = found("36000000", unit=unit)
    known = found("10", AT + 2 * DAY, before)
    assert (known.mark, known.marked_figure) == (AlertMark.NEW, Decimal(10))
    assert found("15", AT + 2 * DAY, known).mark == AlertMark.WORSE
    archived = replace(before, archived_figure=before.marked_figure)
    known = found("10", AT + HOUR, archived)
    assert state_of(known, AT + HOUR) == AlertState.ARCHIVED
    assert known.archived_figure == Decimal(10)
    assert state_of(found("15", AT + 2 * HOUR, known), AT + 2 * HOUR) == "worse"
    back = found("10", AT + DAY, after_gone(archived, Resolution.GONE, AT + HOUR))
    assert (back.archived_figure, back.unit) == (Decimal(10), "EUR")


def test_a_temperature_has_grown_by_five_degrees() -> None:
    first = found("86", unit=FigureUnit.CELSIUS)
    for archived in (first, replace(first, archived_figure=Decimal(86))):
        for figure, is_worse in (("90", False), ("91", True)):
            after = found(figure, AT + DAY, archived, FigureUnit.CELSIUS)
            assert (after.mark == AlertMark.WORSE) is is_worse


def test_a_clock_that_goes_back_leaves_it_new() -> None:
    first = found("10")
    assert state_of(first, AT - 5 * DAY) == AlertState.NEW
    assert found("20", AT - 5 * DAY, first) == first


@pytest.mark.parametrize(
    ("spans", "least", "fired"),
    [
        ([(0, 10)], 4, [4]),
        ([(0, 10)], 10, [10]),
        ([(0, 10)], 11, []),
        ([(0, 10), (2, 12)], 4, [4]),  # at the same time: once
        ([(0, 10), (9, 20)], 4, [4, 13]),
        ([(0, 10), (30, 40)], 4, [4, 34]),
        ([(0, 3), (1, 9)], 4, [5]),
    ],
)
def test_several_at_the_same_time_fire_once(
    spans: list[tuple[int, int]], least: int, fired: list[int]
) -> None:
    assert list(first_at_once(spans, least, 0, 100)) == fired


def test_what_is_open_when_the_time_begins_fires_then() -> None:
    assert list(first_at_once([(0, 30)], 4, 20, 100)) == [20]
    assert list(first_at_once([(0, 30), (0, 20)], 4, 25, 100)) == [25]
    assert list(first_at_once([(0, 19)], 4, 20, 100)) == []
    assert list(first_at_once([(90, 120)], 10, 20, 100)) == []
    assert fired_within(AT, AT + DAY, AT + HOUR, AT + DAY) == AT + HOUR
    assert fired_within(AT, AT + HOUR, AT + 2 * HOUR, AT + DAY) is None
