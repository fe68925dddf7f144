"""Requests to close a month: recorded, closed or refused by a worker, expired (money.md M28).

Not here: workers that are killed (tests/integration/faults/test_requested_close.py), pages, REST.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection

from accounting.access.models.people import OrganizationRole, Person
from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import DirtyHour
from accounting.months.actions import close_requests
from accounting.months.actions.close_requests import (
    CLOSE_MONTHS,
    MOST_ATTEMPTS,
    CloseRequested,
    next_close,
    request_close,
    run_close,
)
from accounting.months.actions.periods import CloseRefused, NotAllowed
from accounting.months.models.charge import RunningLine
from accounting.months.models.close_request import CloseRequest
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.close_requests import LIFETIME, CloseState, close_progress
from accounting.months.reads.lines import booking_of, content_of
from accounting.months.tasks.close import close_period, reopen_period
from accounting.months.tasks.periods import PeriodError
from accounting.months.tasks.running import book_running
from accounting.tasks import close_months
from portal.timetable import TIMETABLE
from tests.integration.months.days import H100, Days
from tests.integration.months.people import person
from tests.integration.wakeups import sent_tasks

OCTOBER = date(2026, 10, 5)
HOUR = 3_600_000
LONG_AGO = timedelta(minutes=10)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def october(transactional_db: None) -> Days:
    """An observed hour of vision, priced."""
    del transactional_db
    days = Days()
    days.price(H100, "1")
    days.use("vision", OCTOBER, HOUR)
    return days


def state() -> CloseState:
    return close_progress("2026-10").state


def dirty_hour() -> DirtyHour:
    """Something that blocks the close and cannot be overridden."""
    return DirtyHour.objects.create(
        cluster=Cluster.objects.get(name="north"),
        hour_start=datetime(2026, 10, 5, 8, tzinfo=UTC),
        reason="facts",
    )


def test_a_worker_closes_the_month_for_the_person_who_requested_it() -> None:
    assert state() is CloseState.NONE
    anna = person("anna")
    asked = request_close("2026-10", anna)
    found = close_progress("2026-10")
    assert (found.state, found.requested_by) == (CloseState.QUEUED, "anna")
    assert not PeriodRevision.objects.filter(closed_at__isnull=False).exists()
    close_months()
    closed = PeriodRevision.objects.get(period="2026-10")
    assert closed.closed_by == anna
    found = close_progress("2026-10")
    assert (found.state, found.hash) == (CloseState.CLOSED, closed.hash)
    asked.refresh_from_db()
    assert (asked.state, asked.attempt, asked.error) == ("closed", 1, "")
    assert next_close() is None


def test_a_close_books_the_corrections_of_the_next_month_at_once(october: Days) -> None:
    """November corrected the first close; the second one has the late hour itself."""

    def corrections() -> list[str]:
        lines = RunningLine.objects.filter(revision__period="2026-11")
        return list(lines.exclude(corrects="").values_list("corrects", flat=True))

    close_period("2026-10")
    october.use("vision", OCTOBER + timedelta(days=1), HOUR)
    book_running("2026-11")
    assert corrections() == ["2026-10-r1"]
    reopen_period(
        "2026-10",
        reason="the late hour belongs to it",
        by=person("cleo"),
        confirmed_by=person("dora"),
    )
    assert corrections() == []  # at once, as October is running again
    assert RunningLine.objects.filter(revision__period="2026-10").exists()
    request_close("2026-10", person("anna"))
    close_months()
    assert PeriodRevision.objects.get(period="2026-10", reopened_at=None).is_closed
    assert corrections() == []


def test_a_request_wakes_a_worker_and_beat_does_so_as_well(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sent_tasks(redis_url, monkeypatch) as sent:
        request_close("2026-10", person("anna"))
    assert sent == [(CLOSE_MONTHS, "()")]
    assert close_months.name == CLOSE_MONTHS
    assert CLOSE_MONTHS in {one["task"] for one in TIMETABLE.values()}


def test_who_requested_it_and_what_became_of_it_are_in_the_audit_log() -> None:
    hour = dirty_hour()
    request_close("2026-10", person("anna"))
    close_months()
    hour.delete()
    request_close("2026-10", person("ben"))
    close_months()
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT e.state, c.metadata ->> 'actor', c.metadata ->> 'reason', e.error <> '',
                   c.metadata ? 'by_worker'
            FROM accounting_closerequestevent e
            JOIN pghistory_context c ON c.id = e.pgh_context_id ORDER BY e.pgh_id
            """
        )
        rows = cursor.fetchall()
    assert rows == [
        ("waiting", "anna", "request to close 2026-10", False, False),
        ("refused", "anna", "close of 2026-10 refused", True, True),
        ("waiting", "ben", "request to close 2026-10", False, False),
        ("closed", "ben", "close 2026-10", False, True),
    ]


def test_a_booking_of_an_open_month_names_who_asked_for_it() -> None:
    book_running("2026-10")
    book_running("2026-11", by=person("anna"))
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT DISTINCT e.period, c.metadata ->> 'actor'
            FROM accounting_periodrevisionevent e
            LEFT JOIN pghistory_context c ON c.id = e.pgh_context_id ORDER BY 1
            """
        )
        assert cursor.fetchall() == [("2026-10", "system"), ("2026-11", "anna")]


def test_a_second_request_is_refused_while_one_is_not_finished() -> None:
    request_close("2026-10", person("anna"))
    with pytest.raises(CloseRequested, match="anna requested the close of 2026-10 at"):
        request_close("2026-10", person("ben"))
    assert CloseRequest.objects.count() == 1
    close_months()
    with pytest.raises(PeriodError, match="2026-10 is closed"):
        request_close("2026-10", person("ben"))


def test_checks_that_fail_between_request_and_work_refuse_it_in_words() -> None:
    request_close("2026-10", person("anna"))
    hour = dirty_hour()
    close_months()
    found = close_progress("2026-10")
    assert found.state is CloseState.REFUSED
    assert "2026-10 cannot be closed: hours: 1 hour is not rolled up" in found.error
    assert [one["code"] for one in found.blocking] == ["hours"]
    assert not PeriodRevision.objects.filter(closed_at__isnull=False).exists()
    hour.delete()
    request_close("2026-10", person("ben"))  # it may be requested again
    close_months()
    assert state() is CloseState.CLOSED


def test_a_person_who_lost_the_right_meanwhile_closes_nothing() -> None:
    anna = person("anna")
    request_close("2026-10", anna)
    Person.objects.filter(user=anna).update(role=OrganizationRole.NONE)
    close_months()
    found = close_progress("2026-10")
    assert (found.state, found.blocking) == (CloseState.REFUSED, [])
    assert "anna may not do this" in found.error


def test_only_what_was_read_is_closed(october: Days) -> None:
    book_running("2026-10")
    version = content_of(booking_of("2026-10"))
    request_close("2026-10", person("anna"), version=version)
    october.use("search", OCTOBER, HOUR)
    close_months()
    found = close_progress("2026-10")
    assert found.state is CloseState.REFUSED
    assert (
        "amounts of the month have changed since its close was requested" in found.error
    )
    now = content_of(booking_of("2026-10"))  # it was computed again
    assert now != version
    request_close("2026-10", person("anna"), version=now)
    close_months()
    assert state() is CloseState.CLOSED


def test_what_is_too_early_is_refused_at_once() -> None:
    anna = person("anna")
    early = datetime(2026, 10, 31, 12, tzinfo=UTC)
    with pytest.raises(CloseRefused, match="the period ends in") as refused:
        request_close("2026-10", anna, now=early)
    assert [one.code for one in refused.value.checks] == ["over", "settled", "order"]
    close_period("2026-09")
    close_period("2026-10")
    late = datetime(2027, 2, 1, tzinfo=UTC)
    with pytest.raises(CloseRefused, match="close 2026-11 first"):
        request_close("2026-12", anna, now=late)
    with pytest.raises(PeriodError, match="2026-99"):
        request_close("2026-99", anna)
    assert not CloseRequest.objects.exists()


def test_only_finance_and_administrators_request_it() -> None:
    viewer = person("vera", OrganizationRole.NONE)
    with pytest.raises(NotAllowed):
        request_close("2026-10", viewer)
    assert not CloseRequest.objects.exists()


def test_a_request_that_no_worker_takes_expires() -> None:
    anna = person("anna")
    request_close("2026-10", anna)
    CloseRequest.objects.update(requested_at=database_now() - timedelta(minutes=1))
    assert close_progress("2026-10").is_slow
    CloseRequest.objects.update(requested_at=database_now() - LIFETIME)
    found = close_progress("2026-10")  # without any worker
    assert found.state is CloseState.EXPIRED
    assert "no worker closed the month within an hour" in found.error
    close_months()  # a worker that comes too late closes nothing
    assert CloseRequest.objects.get().state == "expired"
    assert state() is CloseState.EXPIRED
    CloseRequest.objects.update(state="waiting")
    request_close("2026-10", anna)  # a new request ends an expired one
    assert [one.state for one in CloseRequest.objects.all()] == ["expired", "waiting"]
    close_months()
    assert state() is CloseState.CLOSED


def test_an_error_is_tried_again_and_then_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("as much as there is")

    request_close("2026-10", person("anna"))
    with monkeypatch.context() as patched:
        patched.setattr(close_requests, "reach", _fail_at("period_closed", fail))
        patched.setattr(
            "accounting.months.tasks.close.reach", _fail_at("period_closed", fail)
        )
        for attempt in range(MOST_ATTEMPTS):
            with pytest.raises(MemoryError):
                close_months()
            found = close_progress("2026-10")
            assert (found.state, found.attempt) == (CloseState.RUNNING, attempt + 1)
            assert next_close() is None  # a worker has just claimed it
            CloseRequest.objects.update(started_at=database_now() - LONG_AGO)
    close_months()
    found = close_progress("2026-10")
    assert found.state is CloseState.FAILED
    assert "workers stopped 3 times" in found.error
    assert "an unexpected error, MemoryError" in found.error
    assert not PeriodRevision.objects.filter(closed_at__isnull=False).exists()
    request_close("2026-10", person("anna"))
    close_months()
    assert state() is CloseState.CLOSED


def _fail_at(place: str, fail: Callable[[], None]) -> Callable[[str], None]:
    return lambda name: fail() if name == place else None


def test_a_worker_whose_claim_is_older_than_anothers_does_nothing() -> None:
    request_close("2026-10", person("anna"))
    mine = next_close()
    assert mine is not None
    CloseRequest.objects.update(attempt=2)  # another worker has started it again
    assert not run_close(mine)
    assert state() is CloseState.RUNNING


def test_a_month_that_a_command_closed_meanwhile_is_closed() -> None:
    anna: User = person("anna")
    request_close("2026-10", anna)
    closed = close_period("2026-10")
    assert state() is CloseState.CLOSED
    close_months()
    assert CloseRequest.objects.get().state == "closed"
    assert PeriodRevision.objects.get(period="2026-10").hash == closed.hash
    assert close_progress("2026-10").closed_by == ""


def test_a_reopened_month_has_no_request() -> None:
    request_close("2026-10", person("anna"))
    close_months()
    reopen_period(
        "2026-10", reason="x" * 10, by=person("anna"), confirmed_by=person("ben")
    )
    found = close_progress("2026-10")
    assert (found.state, found.revision) == (CloseState.NONE, 2)
