"""When alerts are told: minutes after they fire, an hour after the last mail, at any clock.

Not here: what is told, and to whom (`tests/integration/alerts/test_digest.py`).
"""

from datetime import UTC, datetime, timedelta

from portal.digest.due import GATHERS, PAUSE, is_due, is_paused, marked_since

NOW = datetime(2026, 11, 13, 15, tzinfo=UTC)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)


def test_the_first_alert_decides_when_they_are_told() -> None:
    assert not is_due([], NOW)
    assert not is_due([NOW, NOW - GATHERS + SECOND], NOW)
    assert is_due([NOW, NOW - GATHERS], NOW)


def test_nobody_is_told_twice_an_hour() -> None:
    assert not is_paused(None, NOW)
    assert is_paused(NOW, NOW)
    assert is_paused(NOW - PAUSE + SECOND, NOW)
    assert not is_paused(NOW - PAUSE, NOW)


def test_a_clock_that_goes_back_stops_nothing() -> None:
    assert not is_paused(NOW + SECOND, NOW)
    assert is_due([NOW + DAY], NOW)
    assert marked_since(NOW + DAY, NOW) == NOW - DAY


def test_an_outage_loses_nothing() -> None:
    assert marked_since(None, NOW) == NOW - DAY
    assert marked_since(NOW - 3 * DAY, NOW) == NOW - 3 * DAY
    assert marked_since(NOW - PAUSE, NOW) == NOW - DAY
