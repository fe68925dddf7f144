"""Conversion rates in SQL against the rule over values, and in a booking (money.md M16)."""

import random
from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction

from accounting.kit.audit import SYSTEM
from accounting.kit.outcomes import Refused
from accounting.months.tasks.running import book_running
from accounting.prices.actions.conversions import SetConversion, set_conversion_rate
from accounting.prices.models.conversion import ConversionRate
from accounting.prices.models.price import UnitPrice
from accounting.prices.rules.conversion import conversion_of
from accounting.prices.sql.conversion_sql import fx
from tests.integration.months.days import H100, Days

FIRST = date(2026, 10, 1)
CURRENCIES = ("EUR", "USD", "GBP")
HOUR_MS = 3_600_000


@pytest.fixture
def days(db: None) -> Days:
    """No usage, no prices; billing in EUR."""
    del db
    return Days()


def rate(text: str, on: date = FIRST, currency: str = "USD") -> None:
    set_conversion_rate(
        SetConversion(
            from_currency=currency,
            to_currency="EUR",
            on=on,
            rate=Decimal(text),
            reason="rates of the central bank",
        ),
        SYSTEM,
    )


def _two(chance: random.Random) -> tuple[str, str]:
    source, target = chance.sample(CURRENCIES, 2)
    return source, target


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(20))
def test_sql_converts_as_the_rule_over_values(seed: int) -> None:
    chance = random.Random(seed)
    keys = {
        (*_two(chance), FIRST + timedelta(chance.randrange(90)))
        for _ in range(chance.randrange(12))
    }
    rows = ConversionRate.objects.bulk_create(
        ConversionRate(
            from_currency=source,
            to_currency=target,
            on=on,
            rate=Decimal(chance.randrange(1, 10**12)).scaleb(-10),
        )
        for source, target, on in sorted(keys)
    )
    asked = [
        (currency, FIRST + timedelta(n))
        for currency in (*CURRENCIES, "")
        for n in range(-2, 130)
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT {fx("a.currency", "a.day")}
                FROM unnest(%(c)s::text[], %(d)s::date[])
                    WITH ORDINALITY AS a(currency, day, n) ORDER BY n""",  # noqa: S608  # our own
            {"currency": "EUR", "c": [c for c, _ in asked], "d": [d for _, d in asked]},
        )
        found = [row[0] for row in cursor.fetchall()]
    assert found == [conversion_of(rows, c, "EUR", day) for c, day in asked]


def lines(period: str = "2026-10") -> list[tuple[str, str, str | None, str | None]]:
    revision = book_running(period)
    return [
        (
            line.team,
            line.status,
            f"{line.fx:f}" if line.fx is not None else None,
            f"{line.charge:f}" if line.charge is not None else None,
        )
        for line in revision.running_lines.filter(kind="usage").order_by("billing_on")
    ]


def test_a_price_in_another_currency_is_charged_at_the_days_rate(days: Days) -> None:
    days.price(H100, "2.10")
    UnitPrice.objects.update(currency="USD")
    rate("0.9")
    days.use("vision", date(2026, 10, 31), HOUR_MS)
    days.use("vision", date(2026, 9, 30), HOUR_MS)
    assert lines() == [("vision", "priced", "0.9000000000", "1.890000")]
    [(team, status, factor, charge)] = lines("2026-09")  # before the first rate
    assert (team, status, factor, charge) == ("vision", "unconverted", None, None)


def test_a_rate_of_a_known_day_is_corrected(days: Days) -> None:
    del days
    rate("0.9")
    rate("0.91")
    assert [str(row.rate) for row in ConversionRate.objects.all()] == ["0.9100000000"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("source", "target", "text", "field"),
    [
        ("EUR", "EUR", "1", "to_currency"),
        ("XXY", "EUR", "1", "from_currency"),
        ("usd", "EUR", "1", "from_currency"),
        ("USD", "EU", "1", "to_currency"),
        ("USD", "EUR", "0", "rate"),
        ("USD", "EUR", "-1", "rate"),
        ("USD", "EUR", "NaN", "rate"),
        ("USD", "EUR", "1E10", "rate"),
        ("USD", "EUR", "1E-11", "rate"),
    ],
)
def test_what_is_not_a_conversion(
    source: str, target: str, text: str, field: str
) -> None:
    with pytest.raises(Refused) as refused:
        set_conversion_rate(
            SetConversion(
                from_currency=source,
                to_currency=target,
                on=FIRST,
                rate=Decimal(text),
                reason="rates of the central bank",
            ),
            SYSTEM,
        )
    assert refused.value.member == field
    assert not ConversionRate.objects.exists()


@pytest.mark.django_db
def test_the_table_refuses_a_second_rate_of_a_day() -> None:
    rate("0.9")
    with pytest.raises(IntegrityError), transaction.atomic():
        ConversionRate.objects.create(
            from_currency="USD", to_currency="EUR", on=FIRST, rate=Decimal(1)
        )
