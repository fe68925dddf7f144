"""Checks as pages show them: what reads usage is as of the running booking (money.md M27).

And no page or list of months asks a statement for each month.
"""

import re
from datetime import UTC, date, datetime

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounting.access.models.people import OrganizationRole
from accounting.metering.models.usage import UsageDay
from accounting.months.models.period import PeriodRevision
from accounting.months.tasks.checks.of_close import run_checks, shown_checks
from accounting.months.tasks.close import close_period
from accounting.months.tasks.keep import book_changed
from accounting.months.tasks.running import book_running
from tests.integration.months.days import H100, Days
from tests.integration.months.people import person

LATER = datetime(2026, 11, 5, tzinfo=UTC)
HOUR = 3_600_000
MONTHS = [f"2026-{month:02}" for month in range(2, 11)]
SUMS_USAGE = re.compile(r"FROM usage_(family_)?day d\b|FROM \"usage_day\"")


@pytest.fixture(autouse=True)
def usage(days: Days) -> None:
    """Time of every month, some of it not observed; in October also without price, and dark."""
    days.price(H100, "1.37")
    for month in MONTHS:
        days.use("vision", date.fromisoformat(f"{month}-05"), HOUR)
        days.use(
            "vision", date.fromisoformat(f"{month}-06"), HOUR // 3, state="unknown"
        )
    days.use("nlp", date(2026, 10, 7), HOUR // 7, model="unpriced")
    days.use("", date(2026, 10, 7), 11 * HOUR, state="dark")


def asked(client: Client, address: str) -> list[str]:
    with time_machine.travel(LATER, tick=False):
        assert client.get(address).status_code == 200
        with CaptureQueriesContext(connection) as found:
            client.get(address)
    return [query["sql"] for query in found.captured_queries]


def finance() -> Client:
    client = Client()
    client.force_login(person("fin", OrganizationRole.FINANCE))
    return client


def test_after_a_booking_pages_show_what_a_check_now_finds() -> None:
    before = run_checks("2026-10", LATER)
    failed = {one.code for one in before if one.causes}
    assert {"coverage", "team_coverage", "unpriced", "dark"} <= failed
    assert shown_checks("2026-10", LATER) == before
    book_running("2026-10", LATER)
    assert shown_checks("2026-10", LATER) == run_checks("2026-10", LATER)


def test_what_reads_usage_is_as_of_the_booking_and_the_rest_is_as_it_is() -> None:
    book_running("2026-10", LATER)
    shown = shown_checks("2026-10", LATER)
    UsageDay.objects.filter(rate=None).delete()
    assert shown_checks("2026-10", LATER) == shown != run_checks("2026-10", LATER)
    early = datetime(2026, 10, 20, tzinfo=UTC)
    blocking = {one.code for one in shown_checks("2026-10", early) if one.is_blocking}
    assert {"over", "settled"} <= blocking
    book_running("2026-10", LATER)
    assert shown_checks("2026-10", LATER) == run_checks("2026-10", LATER) != shown


@pytest.mark.parametrize("address", ["/months", "/months/2026-10"])
def test_a_page_of_months_sums_no_usage(address: str) -> None:
    close_period("2026-09", now=LATER)
    client = finance()
    assert [sql for sql in asked(client, address) if SUMS_USAGE.search(sql)] != []
    book_running("2026-10", LATER)
    assert [sql for sql in asked(client, address) if SUMS_USAGE.search(sql)] == []


def test_a_close_keeps_its_checks_and_no_causes() -> None:
    assert book_running("2026-10", LATER).causes
    close_period("2026-10", now=LATER)
    assert PeriodRevision.objects.get(period="2026-10").causes == {}


def test_a_booking_of_an_earlier_version_is_made_again() -> None:
    close_period("2026-09", now=LATER)
    book_changed(LATER)
    assert "2026-10" not in book_changed(LATER)
    PeriodRevision.objects.filter(period="2026-10").update(causes={})
    assert "2026-10" in book_changed(LATER)


MOST = {
    "/months": 25,
    "/months/2026-10": 26,
    "/months/2026-03": 20,
    "/api/v1/periods": 9,
}
"""Statements of a year of closed months."""


def test_months_cost_no_statement_each() -> None:
    """One test for all addresses: to close and book the months takes longer than to ask."""
    close_period("2026-02", now=LATER)
    client = finance()
    counts: dict[str, set[int]] = {address: set() for address in MOST}
    for month in MONTHS[1:-1]:
        close_period(month, now=LATER)
        for running in MONTHS[MONTHS.index(month) + 1 :]:
            book_running(running, LATER)
        for address, found in counts.items():
            statements = asked(client, address)
            twice = [x for n, x in enumerate(statements) if x in statements[:n]]
            assert twice == [], address
            found.add(len(statements))
    for address, of in counts.items():
        assert len(of) == 1, (address, of)
        assert max(of) <= MOST[address], address
