"""An amount of closed days is explained by what was booked, whatever becomes known later.

Aspects: the figure and every table of its explanation are one sum, by method, by team, over closed
and open days and within a day; the evidence of the close; what is measured and corrected beside it.
Not here: amounts of open days (`test_explained.py`), the booked amounts (`test_booked_days.py`).
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.test import Client

from accounting.access.models.people import Person
from accounting.core.rounding import half_even
from accounting.months.models.period import BillingPeriod, PeriodRevision
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from tests.integration.explain.test_explained import PRICES, headline, money, table
from tests.integration.metering.support import count_written, report
from tests.integration.prices.books import Books
from tests.integration.usage.test_booked_days import (
    NOVEMBER,
    OCTOBER,
    charged,
    late_fact,
    use,
)
from tests.page_html import html_of

CLOSED = "from=2026-10-01&to=2026-10-31"
BOTH = "from=2026-10-01&to=2026-11-10"
MINUS = "\N{MINUS SIGN}"
BOOKED, BESIDE = "Booked amounts", "Closed days, current data"


@pytest.fixture
def client(books: Books) -> Iterator[Client]:
    user = get_user_model().objects.create_user("ana")
    Person.objects.create(user=user, role="admin")
    client = Client()
    client.force_login(user)
    with time_machine.travel(datetime(2026, 11, 10, 12, tzinfo=UTC), tick=False):
        yield client


def figure_of(what: str, **options: str) -> Decimal:
    """What a report has for the figure, in cents."""
    kind, name = {
        "charge": ("usage", "charge"),
        "idle_charge": ("usage", "idle_charge"),
        "ledger": ("ledger", "wall_charge"),
    }[what]
    return half_even(charged(report(kind, by="", **options), name), 2)


@pytest.mark.parametrize("method", ["alloc-v1", "busy-v1+even", "alloc-v1+alloc"])
@pytest.mark.parametrize("what", ["charge", "idle_charge", "ledger"])
def test_every_table_comes_to_the_booked_figure(
    books: Books, client: Client, method: str, what: str
) -> None:
    BillingPeriod.objects.create(name=OCTOBER, method=method)
    use(books)
    close_period(OCTOBER)
    late_fact(books)
    for days, end in ((CLOSED, "2026-11-01"), (BOTH, "2026-11-11")):
        page = html_of(client.get(f"/explain?what={what}&{days}"))
        shown = figure_of(what, **{"from": "2026-10-01", "to": end})
        if PRICES in page:
            *lines, total = table(page, PRICES)
            assert sum(money(line[3]) for line in lines) == money(total[3]) == shown
        else:  # by busy-v1 no team pays for idle time
            assert (what, method) == ("idle_charge", "busy-v1+even")
            assert shown == 0
        *parts, sum_of_parts = table(page, BOOKED)
        assert sum(money(part[1]) for part in parts) == money(sum_of_parts[1]) == shown
        if what != "ledger":
            assert headline(page) == shown


def test_a_close_is_named_with_its_evidence(books: Books, client: Client) -> None:
    use(books)
    close_period(OCTOBER)
    close = PeriodRevision.objects.get(period=OCTOBER)
    page = html_of(client.get(f"/explain?what=charge&{BOTH}"))
    [month, opened, _] = table(page, BOOKED)
    assert month[0].startswith("October 2026, revision 1 By allocation · closed")
    assert close.hash in month[0]
    assert opened[0] == "Not booked: time x price"
    assert "M5" in page


def closed_days(client: Client, what: str = "charge") -> dict[str, Decimal]:
    """The table of the closed days, by the words of its rows."""
    page = html_of(client.get(f"/explain?what={what}&{BOTH}"))
    rows = table(page.replace("<tbody>", "<tr></tr><tbody>"), BESIDE)
    return {row[0]: money(row[1].replace(MINUS, "-")) for row in rows}


MEASURED = "Time x price of the closed days, current data"
CORRECTED = "Corrections of these days"


def test_what_is_measured_and_corrected_is_beside_it(
    books: Books, client: Client
) -> None:
    use(books)
    close_period(OCTOBER)
    late_fact(books)
    book_running(NOVEMBER)
    days = {"from": "2026-10-01", "to": "2026-11-01"}
    measured = charged(report("usage", by="", **days, **{"as": "measured"}))
    corrected = charged(report("usage", by="", **days, **{"as": "corrected"}))
    booked = charged(report("usage", by="", **days))
    assert closed_days(client) == {
        "Booked at the close": half_even(booked, 2),
        CORRECTED: half_even(corrected - booked, 2),
        MEASURED: half_even(measured, 2),
    }
    assert measured == corrected != booked


@pytest.mark.parametrize("what", ["charge", "ledger"])
def test_what_is_not_corrected_yet_is_named(
    books: Books, client: Client, what: str
) -> None:
    """The amounts did not add up after a late fact, until the month after was booked again."""
    use(books)
    close_period(OCTOBER)
    page = f"/explain?what={what}&{BOTH}"
    assert "have not been computed since the latest close" not in html_of(
        client.get(page)
    )
    late_fact(books)
    found = closed_days(client, what)
    assert found["Not corrected yet"] != 0
    total = found.pop(MEASURED)
    assert sum(found.values()) == total
    assert "have not been computed since the latest close" in html_of(client.get(page))
    book_running(NOVEMBER)
    found = closed_days(client, what)
    assert "Not corrected yet" not in found
    assert found["Booked at the close"] + found[CORRECTED] == found[MEASURED]


@pytest.mark.django_db(transaction=True)  # the database counts committed rows
def test_a_change_after_corrections_names_their_time(
    books: Books, client: Client
) -> None:
    use(books)
    close_period(OCTOBER)
    book_running(NOVEMBER)
    late_fact(books)
    count_written()
    page = html_of(client.get(f"/explain?what=charge&{BOTH}"))
    assert "usage or prices have changed since" in page
    assert "Not corrected yet" in page


@pytest.mark.parametrize("method", ["busy-v1", "alloc-v1+alloc"])
def test_a_method_that_charges_differently_is_named(
    books: Books, client: Client, method: str
) -> None:
    BillingPeriod.objects.create(name=OCTOBER, method=method)
    use(books)
    close_period(OCTOBER)
    book_running(NOVEMBER)
    found = closed_days(client)
    assert found["Charged differently by the method of the month"] != 0
    total = found.pop(MEASURED)
    assert sum(found.values()) == total


def test_a_late_workload_has_no_charge_and_names_the_close(
    books: Books, client: Client
) -> None:
    """Its hour became known after the close: nothing was booked, and no price is missing."""
    use(books)
    close_period(OCTOBER)
    late_fact(books)
    page = html_of(client.get(f"/explain?what=charge&workload=late&{CLOSED}"))
    [month, total] = table(page, BOOKED)
    assert month[0].startswith("October 2026, revision 1")
    assert figure_of("charge", workload="late") == 0
    assert "charges booked at the close" in page
    assert month[1] == total[1] == "€0.00"
    assert headline(page) == 0


def test_parts_of_a_closed_day_are_its_hours(books: Books, client: Client) -> None:
    use(books)
    close_period(OCTOBER)
    late_fact(books)
    since, until = datetime(2026, 10, 6, 21, tzinfo=UTC), timedelta(hours=3)
    span = {"from": since.isoformat(), "to": (since + until).isoformat()}
    page = html_of(
        client.get(
            "/explain",
            {
                "what": "charge",
                "from": "2026-10-06",
                "to": "2026-10-07",
                "since": span["from"],
                "until": span["to"],
            },
        )
    )
    shown = figure_of("charge", **span)
    *lines, total = table(page, PRICES)
    assert sum(money(line[3]) for line in lines) == money(total[3]) == shown
    assert headline(page) == shown


def test_figures_by_gpu_stay_measured(books: Books, client: Client) -> None:
    use(books)
    close_period(OCTOBER)
    page = html_of(client.get(f"/explain?what=charge&gpu=GPU-1&{CLOSED}"))
    assert BOOKED not in page
