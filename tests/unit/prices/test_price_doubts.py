"""Prices that are probably mistakes, by hand (money.md M13).

Covered: each doubt and its border, which price is the one before, two currencies. The pages,
REST, the import and the setup file are in `tests/integration`.
"""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from accounting.prices.rules.price_doubts import DatedPrice, KnownPrices, doubt_of

OCTOBER, NOVEMBER = datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)
OLD = DatedPrice("rate", "A", None, "", "", "", Decimal("2.10"), "EUR", OCTOBER)


def at(price: str, **more: object) -> DatedPrice:
    new = replace(OLD, rate_per_gpu_hour=Decimal(price), valid_from=NOVEMBER)
    return replace(new, **more)  # type: ignore[arg-type]


def doubt(new: DatedPrice, *book: DatedPrice, **factors: str) -> str | None:
    def convert(currency: str, instant: datetime) -> Decimal | None:
        assert instant == new.valid_from
        return Decimal(factors[currency]) if currency in factors else None

    found = doubt_of(new, KnownPrices([*book, new]).before(new), convert)
    return found.doubt.value if found else None


@pytest.mark.parametrize(
    ("price", "word"),
    [
        ("0", "zero"),
        ("0.209999", "under_a_tenth"),
        ("0.21", None),
        ("21", None),
        ("21.000001", "over_ten_times"),
    ],
)
def test_a_price_is_compared_with_the_one_before_it(
    price: str, word: str | None
) -> None:
    assert doubt(at(price), OLD) == word


def test_a_first_price_is_doubted_only_if_it_is_zero() -> None:
    assert doubt(at("999999")) is None
    assert doubt(at("0")) == "zero"
    assert doubt(at("999999"), replace(OLD, rate_per_gpu_hour=Decimal(0))) is None


def test_the_one_before_is_the_latest_that_sets_the_same() -> None:
    book = (
        replace(OLD, rate_per_gpu_hour=Decimal(30), valid_to=NOVEMBER),
        replace(OLD, valid_from=datetime(2026, 9, 1, tzinfo=UTC), valid_to=OCTOBER),
        replace(OLD, kind="cost", rate_per_gpu_hour=Decimal(1)),
        replace(OLD, valid_from=datetime(2027, 1, 1, tzinfo=UTC)),
    )
    assert KnownPrices(book).before(at("30")) is book[0]
    assert doubt(at("30"), *book) is None
    assert KnownPrices(book).before(at("1", model="B")) is None


def test_a_correction_is_compared_with_the_price_that_it_replaces() -> None:
    wrong = replace(OLD, valid_from=NOVEMBER)
    assert doubt(at("210"), wrong) == "over_ten_times"


def test_the_first_of_a_tier_is_compared_with_the_price_that_applied_to_it() -> None:
    spot = replace(OLD, lifecycle="spot", rate_per_gpu_hour=Decimal(1))
    gone = replace(OLD, tier="low", cluster_id=7, valid_to=NOVEMBER)
    known = KnownPrices([OLD, spot, gone])
    assert known.before(at("1", tier="low")) is OLD
    assert known.before(at("1", tier="low", lifecycle="spot")) is spot
    assert known.before(at("1", tier="high", cluster_id=7)) is OLD


def test_currencies_are_compared_by_their_conversions() -> None:
    yen = at("400", currency="JPY")
    assert doubt(yen, OLD, EUR="1", JPY="0.006") is None  # 2.40
    assert doubt(yen, OLD, EUR="1", JPY="0.06") == "over_ten_times"  # 24
    assert doubt(yen, OLD, EUR="1") is None
    assert doubt(yen, replace(OLD, currency="JPY")) == "over_ten_times"
