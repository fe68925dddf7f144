"""Rows of a bill: what counts, its cost by billing day, and the word of each fault (M41)."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

import pytest

from accounting.bills.rules.columns import BillColumns, BillFileError, columns_of
from accounting.bills.rules.rows import (
    BilledRow,
    RowError,
    RowReader,
    cost_of,
    instant_ms,
    spread_over,
)
from accounting.bills.rules.words import FAULTS

HOUR = 3_600_000
FIRST, SECOND = date(2026, 10, 1), date(2026, 10, 2)
CELLS = {
    "BillingAccountId": "acme",
    "BillingCurrency": "EUR",
    "BillingPeriodStart": "2026-10-01T00:00:00Z",
    "BillingPeriodEnd": "2026-11-01T00:00:00Z",
    "ChargeCategory": "Usage",
    "ChargePeriodStart": "2026-10-01T10:00:00Z",
    "ChargePeriodEnd": "2026-10-01T11:00:00Z",
    "EffectiveCost": "1.25",
    "ResourceId": "i-1",
}


def one_day(start_ms: int, end_ms: int) -> Sequence[tuple[date, int]]:
    return [(FIRST, end_ms - start_ms)]


def read(*rows: dict[str, str]) -> list[BilledRow]:
    reader = RowReader(columns_of(list(CELLS)), {"EUR", "USD"}, one_day)
    return [reader.read(list((CELLS | row).values())) for row in rows]


def fault(**cells: str) -> str:
    with pytest.raises(RowError) as found:
        read({}, cells)
    assert found.value.word in FAULTS
    return found.value.word


def test_a_row_has_the_texts_of_its_columns() -> None:
    more = {"SubAccountId": "sub", "ResourceName": "gpu-1", "ServiceName": "EC2"}
    cells = CELLS | more
    reader = RowReader(columns_of(list(cells)), {"EUR"}, one_day)
    row = reader.read(list(cells.values()))
    texts = (row.sub_account, row.resource, row.resource_name, row.service)
    assert texts == ("sub", "i-1", "gpu-1", "EC2")


def test_a_fault_says_what_is_wrong() -> None:
    with pytest.raises(RowError, match=r"^BillingAccountId is empty$"):
        read({"BillingAccountId": ""})
    end = CELLS["BillingPeriodStart"]
    with pytest.raises(RowError, match=r"^the billing period is empty$"):
        read({"BillingPeriodEnd": end})


def test_usage_credits_and_adjustments_count() -> None:
    rows = read({}, {"ChargeCategory": "Credit", "EffectiveCost": "-0.25"})
    rows += read({"ChargeCategory": "Adjustment", "EffectiveCost": "1E-2"})
    assert [row.parts for row in rows] == [
        ((FIRST, Decimal("1.25")),),
        ((FIRST, Decimal("-0.25")),),
        ((FIRST, Decimal("0.01")),),
    ]
    assert rows[0].resource == "i-1"
    assert not rows[0].is_elsewhere


def test_purchases_and_taxes_are_left_out_whatever_they_cost() -> None:
    rows = read(
        {"ChargeCategory": "Purchase", "EffectiveCost": "0"},
        {"ChargeCategory": "Tax", "EffectiveCost": ""},
    )
    assert [(row.word, row.parts) for row in rows] == [("purchase", ()), ("tax", ())]


def test_each_fault_has_its_word() -> None:
    assert fault(EffectiveCost="") == "bad_number"
    assert fault(EffectiveCost="1,000.00") == "bad_number"
    assert fault(EffectiveCost="NaN") == "bad_number"
    assert fault(EffectiveCost="1e15") == "bad_number"
    assert fault(EffectiveCost="1e-17") == "too_precise"
    assert fault(BillingCurrency="eur") == "bad_currency"
    assert fault(BillingCurrency="USD") == "bad_currency"  # the row above is in EUR
    assert fault(ChargePeriodStart="2026-13-01") == "bad_date"
    assert fault(ChargePeriodStart="0001-01-01") == "bad_date"
    assert fault(ChargePeriodStart="2026-10-02T00:00:00Z") == "bad_period"
    assert fault(ChargePeriodEnd="2028-10-02T00:00:00Z") == "bad_period"
    assert fault(BillingPeriodEnd="2026-10-01T00:00:00Z") == "bad_period"
    assert fault(ChargeCategory="usage") == "bad_category"
    assert fault(BillingAccountId=" ") == "no_account"
    assert fault(ResourceId="a\0b") == "bad_text"
    assert fault(ResourceId="a" * 2049) == "bad_text"
    with pytest.raises(RowError, match="2 cells"):
        RowReader(columns_of(list(CELLS)), {"EUR"}, one_day).read(["a", "b"])


def test_a_charge_of_an_earlier_month_is_marked() -> None:
    (row,) = read(
        {
            "ChargePeriodStart": "2026-09-30T00:00:00Z",
            "ChargePeriodEnd": "2026-10-01T00:00:00Z",
        }
    )
    assert row.is_elsewhere


def test_costs_are_exact_to_sixteen_places() -> None:
    assert cost_of("0.12345678901234560000") == Decimal("0.1234567890123456")
    assert cost_of("-.5") == Decimal("-0.5")
    assert cost_of("0E-30") == 0
    assert cost_of("999999999999999.9999999999999999") > 0


def test_a_time_without_an_offset_is_utc() -> None:
    assert instant_ms("2026-10-01T00:00") == instant_ms("2026-10-01T02:00:00+02:00")


def test_a_cost_over_several_days_keeps_its_sum() -> None:
    """The example of M41: 1.00 over 1 h and 2 h."""
    days = [(FIRST, HOUR), (SECOND, 2 * HOUR)]
    assert spread_over(Decimal(1), days) == (
        (FIRST, Decimal("0.3333333333333333")),
        (SECOND, Decimal("0.6666666666666667")),
    )
    negative = spread_over(Decimal(-1), days)
    assert sum(part for _, part in negative) == -1
    assert spread_over(Decimal(5), [(FIRST, 0)]) == ((FIRST, Decimal(5)),)


def test_columns_are_found_by_their_names() -> None:
    lower = [name.lower() for name in CELLS]
    assert columns_of(lower) == columns_of(list(CELLS))
    assert columns_of([*CELLS, "Tags"]) == BillColumns(10, columns_of(list(CELLS)).at)


def test_a_header_that_cannot_be_used_says_why() -> None:
    for header, text in (
        (["a", "b"], "its header has none of BillingAccountId"),
        (["BillingAccountId", "b"], "not a FOCUS file"),
        ([name for name in CELLS if name != "EffectiveCost"], "lacks EffectiveCost"),
        ([*CELLS, "effective_cost"], "EffectiveCost is there more than once"),
    ):
        with pytest.raises(BillFileError, match=text):
            columns_of(header)
