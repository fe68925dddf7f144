"""FOCUS files pass the validators of their versions, and a fault of each family is found.

Version 1.4: the model of `focus-data-toolkit`. Version 1.2: `focus-validator` 2.2.1 with its
bundled rules; it needs Python 3.12 in an environment of its own. Not here: each cell
(`test_csv.py`), BilledCost by invoice (`test_billed_cost_of_an_invoice_is_its_payable`).
"""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.csv_rows import csv_parts, snapshot
from accounting.exports.tasks.request import ExportRequest, prepare
from accounting.months.models.period import Statement
from tests.integration.exports import bookings
from tests.integration.exports.bookings import book, random_lines
from tests.integration.exports.validators import (
    broken_in_1_2,
    broken_in_1_4,
    file_of,
    missing_program,
    rows_of,
)

pytestmark = pytest.mark.django_db
Row = dict[str, str]
Change = Callable[[Row], object]
# The rules of 1.2 that are alternatives: one of the two is met, and so is InvoiceId-C-003-C.
INVOICED, NOT_INVOICED = {"InvoiceId-C-004-C"}, {"InvoiceId-C-005-C"}


def written(profile: str, monkeypatch: pytest.MonkeyPatch, *, is_closed: bool) -> bytes:
    monkeypatch.setattr(bookings, "ODD", ("train", "x-1"))
    book([], period="2026-09")
    book(random_lines(11, 400), is_closed=is_closed)
    with snapshot():
        export = prepare(ExportRequest(What.FOCUS, "2026-10", profile))
        return b"".join(csv_parts(export))


@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "running"])
def test_files_of_1_4_pass(monkeypatch: pytest.MonkeyPatch, *, is_closed: bool) -> None:
    rows = rows_of(written("focus-1.4", monkeypatch, is_closed=is_closed))
    kinds = {row["x_LineKind"] for row in rows}
    assert len(kinds) == 7
    assert {row["ChargeClass"] for row in rows} == {"", "Correction"}
    assert broken_in_1_4(rows) == set()


def usage(row: Row) -> bool:
    return row["ChargeCategory"] == "Usage" and not row["ChargeClass"]


FAULTS_1_4: dict[str, tuple[Callable[[Row], bool], Change]] = {
    "null_not_allowed: BilledCost": (usage, lambda row: row.update(BilledCost="")),
    "bad_numeric_format: ListCost": (usage, lambda row: row.update(ListCost="1,5")),
    "bad_datetime: ChargePeriodStart": (
        usage,
        lambda row: row.update(ChargePeriodStart="2026-10-05T00:00:00+02:00"),
    ),
    "bad_currency: BillingCurrency": (
        usage,
        lambda row: row.update(BillingCurrency="EURO"),
    ),
    "not_in_allowed_values: ChargeCategory": (
        usage,
        lambda row: row.update(ChargeCategory="usage"),
    ),
    "negative_decimal: ListUnitPrice": (
        usage,
        lambda row: row.update(ListUnitPrice="-1"),
    ),
    "quantity_without_unit: PricingUnit": (
        usage,
        lambda row: row.update(PricingUnit=""),
    ),
    "unit_without_quantity: ConsumedUnit": (
        usage,
        lambda row: row.update(ConsumedQuantity=""),
    ),
    "cost_not_unit_price_times_quantity: ListCost": (
        usage,
        lambda row: row.update(ListCost=str(Decimal(row["ListCost"]) + 1)),
    ),
    "required_with_sku_price_id: ListUnitPrice": (
        usage,
        lambda row: row.update(ListUnitPrice=""),
    ),
    "required_for_usage_or_purchase: SkuId": (
        usage,
        lambda row: row.update(SkuId=""),
    ),
    "wrong_parent_category: ServiceSubcategory": (
        usage,
        lambda row: row.update(ServiceCategory="Storage"),
    ),
    "effective_cost_differs_from_billed: EffectiveCost": (
        lambda row: row["ChargeCategory"] == "Credit",
        lambda row: row.update(EffectiveCost="1"),
    ),
    "consumption_not_applicable: ConsumedQuantity": (
        lambda row: row["ChargeCategory"] == "Adjustment",
        lambda row: row.update(ConsumedQuantity="1", ConsumedUnit="GPU-Hours"),
    ),
    "bad_json: SkuPriceDetails": (usage, lambda row: row.update(SkuPriceDetails="{")),
    "missing_mandatory_column: HostProviderName": (
        usage,
        lambda row: row.pop("HostProviderName"),
    ),
    "unknown_column: Team": (usage, lambda row: row.update(Team="vision")),
}


def test_a_fault_of_each_family_is_found_in_1_4(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = rows_of(written("focus-1.4", monkeypatch, is_closed=True))
    missed = {}
    for rule, (fits, change) in FAULTS_1_4.items():
        row = dict(next(row for row in rows if fits(row)))
        assert broken_in_1_4([row]) == set()
        change(row)
        if rule not in (found := broken_in_1_4([row])):
            missed[rule] = found
    assert missed == {}


def test_billed_cost_of_an_invoice_is_its_payable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = rows_of(written("focus-1.4", monkeypatch, is_closed=True))
    billed: dict[str, Decimal] = {}
    for row in rows:
        billed[row["InvoiceId"]] = billed.get(row["InvoiceId"], Decimal(0)) + Decimal(
            row["BilledCost"]
        )
    assert billed == {
        f"2026-10-{one.team}-r1": one.payable for one in Statement.objects.all()
    } | {key: value for key, value in billed.items() if "2026-09" in key}


@pytest.fixture
def program() -> None:
    if why := missing_program():
        pytest.skip(why)


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "running"])
def test_files_of_1_2_pass(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, is_closed: bool
) -> None:
    path = tmp_path / "focus.csv"
    path.write_bytes(written("focus-1.2", monkeypatch, is_closed=is_closed))
    assert broken_in_1_2(path) == (INVOICED if is_closed else NOT_INVOICED)


FAULTS_1_2: dict[str, Change] = {
    "BilledCost-C-003-M": lambda row: row.update(BilledCost=""),
    "BillingCurrency-C-003-M": lambda row: row.update(BillingCurrency="EURO"),
    "ListUnitPrice-C-008-M": lambda row: row.update(ListUnitPrice="-1"),
    "PricingUnit-C-006-C": lambda row: row.update(PricingUnit=""),
    "SubAccountName-C-005-C": lambda row: row.update(SubAccountName=""),
    "SkuPriceId-C-008-M": lambda row: row.update(SkuId="another"),
    "ChargePeriodStart-C-002-M": lambda row: row.update(ChargePeriodStart="yesterday"),
}
WITHOUT_A_COLUMN = "CostAndUsage-D-038-M"


@pytest.mark.usefixtures("program")
def test_a_fault_of_each_family_is_found_in_1_2(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All faults in one file, each in a row of its own: a run takes ten seconds."""
    rows = rows_of(written("focus-1.2", monkeypatch, is_closed=True))
    good = [row for row in rows if usage(row)]
    for row, change in zip(good, FAULTS_1_2.values(), strict=False):
        change(row)
    for row in rows:
        row.pop("ProviderName")
    path = tmp_path / "focus.csv"
    path.write_bytes(file_of(rows))
    found = broken_in_1_2(path)
    assert {*FAULTS_1_2, WITHOUT_A_COLUMN} - found == set()
