"""What a new rate would change, before it is saved (money.md M21).

Shown here: the preview is exactly what bookings then correct and what they book in open months,
with conversions, a method that spreads and a change within an hour; a correction that ends
earlier; several rates together; that nothing is stored. Random price books:
`test_price_match.py`; the page: `tests/integration/prices/test_price_pages.py`.
"""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.months.models.period import BillingPeriod, PeriodRevision
from accounting.months.tasks.close import close_period
from accounting.months.tasks.price_effect import NewRate, list_effect, price_effect
from accounting.months.tasks.running import book_running
from accounting.prices.actions.conversions import SetConversion, set_conversion_rate
from accounting.prices.actions.prices import set_unit_price
from accounting.prices.models.price import UnitPrice
from tests.integration.prices.books import MODEL, TEN, Books

HOUR = timedelta(hours=1)
NOVEMBER = datetime(2026, 11, 3, 10, tzinfo=UTC)
SETUP = f"""
billing: {{currency: EUR, timezone: Europe/Berlin}}
teams: [{{slug: vision}}, {{slug: search}}]
bindings:
  - {{namespace: vision, team: vision}}
  - {{namespace: search, team: search}}
prices:
  - {{model: {MODEL}, rate_per_gpu_hour: "2"}}
  - {{model: {MODEL}, tier: low, rate_per_gpu_hour: "1"}}
"""


@pytest.fixture
def two_months(books: Books) -> Books:
    """October: vision holds an hour, search half of one at its own tier; November: vision."""
    books.configure(SETUP)
    first, second = books.gpu("GPU-1"), books.gpu("GPU-2")
    vision, search = books.pod(), books.pod("serve", space="search", tier="low")
    books.hours(first, TEN, TEN + HOUR, vision)
    books.hours(second, TEN, TEN + HOUR / 2, search, "idle")
    books.hours(second, TEN + HOUR / 2, TEN + HOUR, state="free")
    books.hours(first, NOVEMBER, NOVEMBER + HOUR, vision)
    books.settle()
    return books


def raw_by_team(lines: Any) -> dict[str, Decimal]:
    found: dict[str, Decimal] = {}
    for team, raw in lines.values_list("team", "raw"):
        found[team] = found.get(team, Decimal(0)) + (raw or 0)
    return {team: raw for team, raw in found.items() if raw}


def own_lines(period: str) -> dict[str, Decimal]:
    booked = book_running(period)
    return raw_by_team(
        booked.running_lines.filter(corrects="").exclude(kind="rounding")
    )


def save(new: NewRate) -> None:
    set_unit_price(
        model=new.model,
        rate_per_gpu_hour=new.rate,
        cost_per_gpu_hour=None,
        currency=new.currency,
        valid_from=new.valid_from,
        valid_to=new.valid_to,
        actor="tests",
        reason="A new contract.",
    )


@pytest.mark.parametrize("method", ["alloc-v1", "busy-v1+even", "alloc-v1+alloc"])
def test_the_preview_is_what_bookings_then_say(two_months: Books, method: str) -> None:
    """3.00 USD from 10:30 in a closed October, at 0.90 and in November at 0.95."""
    for name in ("2026-10", "2026-11"):
        BillingPeriod.objects.create(name=name, method=method)
    for on, rate in ((date(2026, 10, 1), "0.90"), (date(2026, 11, 1), "0.95")):
        set_conversion_rate(
            SetConversion(
                from_currency="USD",
                to_currency="EUR",
                on=on,
                rate=Decimal(rate),
                reason="The bank's rates.",
            ),
            "tests",
        )
    close_period("2026-10")
    before = own_lines("2026-11")
    new = NewRate(MODEL, Decimal(3), "USD", TEN + HOUR / 2)
    shown = price_effect(new, 2)
    assert UnitPrice.objects.count() == 2
    assert own_lines("2026-11") == before

    save(new)
    two_months.settle()
    booked: PeriodRevision = book_running("2026-11")
    corrected = raw_by_team(booked.running_lines.filter(corrects="2026-10-r1"))
    now = own_lines("2026-11")
    raw = shown.raw or {}
    of_october = {team: one for (month, team), one in raw.items() if month == "2026-10"}
    assert {team: one for team, one in of_october.items() if one} == corrected
    assert {team: now[team] - before[team] for team in before} == {
        team: one for (month, team), one in raw.items() if month == "2026-11"
    }
    assert shown.days == 2
    assert shown.corrected_in == "2026-11"
    assert [(one.period, one.is_closed) for one in shown.months] == [
        ("2026-10", True),
        ("2026-11", False),
    ]


def test_amounts_are_one_list_in_minor_units(two_months: Books) -> None:
    """An hour at 2.70 in place of 2.00: half of it in October, and half a free one."""
    del two_months
    shown = price_effect(NewRate(MODEL, Decimal("2.70"), "EUR", TEN + HOUR / 2), 2)
    assert [(one.team, str(one.difference)) for one in shown.teams] == [
        ("vision", "1.05"),
        ("platform", "0.35"),
    ]
    assert [(one.period, str(one.difference)) for one in shown.months] == [
        ("2026-10", "0.70"),
        ("2026-11", "0.70"),
    ]
    assert (shown.total, shown.corrections) == (Decimal("1.40"), Decimal(0))


def test_a_price_without_a_conversion_takes_the_amount_of_its_time(
    two_months: Books,
) -> None:
    del two_months
    shown = price_effect(NewRate(MODEL, Decimal(3), "USD", NOVEMBER), 2)
    assert shown.unconverted_ms == 3_600_000
    assert shown.newly_priced_ms == -3_600_000
    assert [(one.team, str(one.difference)) for one in shown.teams] == [
        ("vision", "-2.00")
    ]


def test_a_correction_that_ends_earlier_gives_its_time_back(two_months: Books) -> None:
    """2.00 from 10:00 becomes 5.00 until 10:30: after it, time of no tier has no price."""
    two_months.configure(
        SETUP.replace('"2"', '"2", valid_from: "2026-10-06T10:00:00Z"')
    )
    new = NewRate(MODEL, Decimal(5), "EUR", TEN, TEN + HOUR / 2)
    shown = price_effect(new, 2)
    # vision: half an hour 3.00 more and 1.5 hours without 2.00; the platform without 1.00,
    # and 1.50 more between the tier's price and the GPU's own
    assert [(one.team, str(one.difference)) for one in shown.teams] == [
        ("vision", "-1.50"),
        ("platform", "0.50"),
    ]
    assert shown.newly_priced_ms == -5_400_000
    before = own_lines("2026-10")
    save(new)
    two_months.settle()
    raw = shown.raw or {}
    now = own_lines("2026-10")
    assert {team: now[team] - before[team] for team in ("vision", "platform")} == {
        team: raw["2026-10", team] for team in ("vision", "platform")
    }


def test_rates_of_a_list_add_up(two_months: Books) -> None:
    """Also two that match the same time, and one without a conversion."""
    del two_months
    rates = [
        NewRate(MODEL, Decimal("2.70"), "EUR", TEN + HOUR / 2),
        NewRate(MODEL, Decimal("0.70"), "EUR", TEN, tier="low"),
        NewRate(MODEL, Decimal(3), "USD", NOVEMBER, lifecycle="on-demand"),
    ]
    together = list_effect(rates, 2)
    alone = [price_effect(rate, 2) for rate in rates]
    assert together.raw
    for key, amount in together.raw.items():
        assert amount == sum((one.raw or {}).get(key, Decimal(0)) for one in alone)
    assert together.newly_priced_ms == sum(one.newly_priced_ms for one in alone)
    assert together.unconverted_ms == sum(one.unconverted_ms for one in alone)
    assert list_effect([], 2).total == 0


def test_each_rate_of_a_list_takes_few_statements(two_months: Books) -> None:
    """The lines of all are computed once; a page waits for 20 rates."""
    del two_months
    rates = [
        NewRate(MODEL, Decimal(n), "EUR", TEN + HOUR / 2, tier=f"tier-{n}")
        for n in range(1, 12)
    ]
    taken = []
    for some in (rates[:1], rates):
        with CaptureQueriesContext(connection) as seen:
            list_effect(some, 2)
        taken.append(len(seen))
    assert taken[1] - taken[0] <= 8 * (len(rates) - 1)
