"""A line as a FOCUS row: each kind by hand, and what is true of all (money.md M44).

Not here: the same cells in SQL (`tests/integration/exports/test_csv.py`), whole files
against the validators (`tests/integration/exports/test_validators.py`).
"""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.exports.rules.column_types import CellType
from accounting.exports.rules.focus.columns import (
    FOCUS_1_2,
    FOCUS_1_4,
    PROFILES,
    FocusProfile,
)
from accounting.exports.rules.focus.row import FocusContext, row_of
from accounting.months.rules.close_hash import Line, line_id

WIDE = Context(prec=60)
DAY = date(2026, 10, 5)
STARTS, ENDS = (
    datetime(2026, 9, 30, 22, tzinfo=UTC),
    datetime(2026, 10, 31, 23, tzinfo=UTC),
)
DAYS = {
    DAY: (
        datetime(2026, 10, 4, 22, tzinfo=UTC),
        datetime(2026, 10, 5, 22, tzinfo=UTC),
    ),
    date(2026, 9, 5): (
        datetime(2026, 9, 4, 22, tzinfo=UTC),
        datetime(2026, 9, 5, 22, tzinfo=UTC),
    ),
}
CLOSED = FocusContext(
    period="2026-10",
    revision=1,
    is_closed=True,
    starts_at=STARTS,
    ends_at=ENDS,
    currency="EUR",
    method="alloc-v1+even",
    organization_id="acme",
    organization_name="Acme",
    team_names={"vision": "Vision and Robotics"},
    days=DAYS,
)
USAGE = Line(
    kind="usage",
    team="vision",
    billing_on=DAY,
    cluster="north",
    namespace="ml",
    workload_kind="Job",
    workload="train",
    workload_type="training",
    model="NVIDIA-H100-80GB-HBM3",
    profile="1g.10gb",
    lifecycle="spot",
    tier="low",
    state="busy",
    price_currency="EUR",
    rate=Decimal("2.10"),
    fx=Decimal(1),
    ms=1_000_000,
    raw=Decimal(2_100_000),
    charge=Decimal("0.583333"),
    status="priced",
    corrects="",
    reference="",
)
OTHER = replace(
    USAGE, namespace="", workload_kind="", workload="", workload_type="", tier=""
)
ENTRY = replace(
    OTHER,
    cluster="",
    model="",
    profile="",
    lifecycle="",
    state="",
    price_currency="",
    rate=None,
    fx=None,
    ms=0,
)


def test_usage_has_quantities_and_unit_prices() -> None:
    row = row_of(USAGE, CLOSED)
    assert row["ChargeCategory"] == "Usage"
    assert row["ChargeClass"] is None
    assert row["ChargeFrequency"] == "Usage-Based"
    assert row["BilledCost"] == row["EffectiveCost"] == Decimal("0.583333")
    assert row["PricingQuantity"] == row["ConsumedQuantity"] == Decimal("0.27777778")
    assert row["PricingUnit"] == row["ConsumedUnit"] == "GPU-Hours"
    assert row["ListUnitPrice"] == row["ContractedUnitPrice"] == Decimal("2.100000")
    # 0.27777778 x 2.1, exact: not the charge
    assert row["ListCost"] == row["ContractedCost"] == Decimal("0.583333338")
    assert row["PricingCategory"] == "Dynamic"
    assert row["SkuId"] == "NVIDIA-H100-80GB-HBM3/1g.10gb"
    assert row["SkuPriceId"] == "NVIDIA-H100-80GB-HBM3/1g.10gb/spot/low"
    assert row["ResourceId"] == "north/ml/Job/train"
    assert (row["ResourceName"], row["ResourceType"]) == ("train", "Job")
    assert (row["SubAccountId"], row["InvoiceId"]) == ("vision", "2026-10-vision-r1")
    assert row["SubAccountName"] == "Vision and Robotics"
    nameless = row_of(USAGE, replace(CLOSED, team_names={}))
    assert nameless["SubAccountName"] == "vision"
    assert row["InvoiceDetailId"] == line_id(USAGE, "2026-10", 1)
    assert (row["BillingPeriodStart"], row["BillingPeriodEnd"]) == (STARTS, ENDS)
    assert (row["ChargePeriodStart"], row["ChargePeriodEnd"]) == DAYS[DAY]
    assert row["ServiceCategory"] == "Compute"
    assert row["ServiceSubcategory"] == "Other (Compute)"
    assert row["AllocatedMethodId"] is None
    assert row["ChargeDescription"] == "NVIDIA-H100-80GB-HBM3/1g.10gb, busy"


def test_a_converted_price_is_rounded_half_even() -> None:
    line = replace(
        USAGE, rate=Decimal("1.000001"), fx=Decimal("0.5"), price_currency="USD"
    )
    row = row_of(line, CLOSED)
    assert row["ListUnitPrice"] == Decimal("0.500000")  # 0.5000005: to the even one
    assert row["PricingCurrency"] == "USD"
    assert row["PricingCurrencyListUnitPrice"] == Decimal("1.000001")
    assert row["PricingCurrencyContractedUnitPrice"] == Decimal("1.000001")
    # 1,000,000 ms x 1.000001 / 3,600,000
    assert row["PricingCurrencyEffectiveCost"] == Decimal("0.277778")
    assert row["x_ConversionRate"] == Decimal("0.5")
    odd = row_of(replace(line, rate=Decimal("1.000003")), CLOSED)
    assert odd["ListUnitPrice"] == Decimal("0.500002")


def test_platform_time_is_usage_without_a_resource() -> None:
    line = replace(OTHER, kind="platform", team="platform", state="free", profile="")
    row = row_of(line, CLOSED)
    assert row["ChargeCategory"] == "Usage"
    assert row["ResourceId"] is row["ResourceName"] is row["ResourceType"] is None
    assert row["SkuPriceId"] == "NVIDIA-H100-80GB-HBM3/spot/"
    assert row["InvoiceId"] == "2026-10-platform-r1"


@pytest.mark.parametrize(
    ("lifecycle", "category"),
    [
        ("spot", "Dynamic"),
        ("reserved", "Committed"),
        ("on-demand", "Standard"),
        ("unknown", "Standard"),
    ],
)
def test_lifecycles_have_a_pricing_category(lifecycle: str, category: str) -> None:
    row = row_of(replace(USAGE, lifecycle=lifecycle), CLOSED)
    assert row["PricingCategory"] == category


NO_QUANTITIES = (
    *("PricingQuantity", "PricingUnit", "ConsumedQuantity", "ConsumedUnit"),
    *("ListUnitPrice", "ContractedUnitPrice", "PricingCategory", "SkuPriceId"),
)


@pytest.mark.parametrize(
    ("kind", "category"),
    [
        ("spread", "Adjustment"),
        ("difference", "Adjustment"),
        ("adjustment", "Adjustment"),
        ("rounding", "Adjustment"),
        ("credit", "Credit"),
    ],
)
def test_other_kinds_have_only_a_cost(kind: str, category: str) -> None:
    line = replace(ENTRY, kind=kind, charge=Decimal("-1.500000"), reference="E-1")
    row = row_of(line, CLOSED)
    assert row["ChargeCategory"] == category
    assert row["ChargeFrequency"] == "One-Time"
    assert row["PricingCurrency"] == "EUR"
    assert row["PricingCurrencyEffectiveCost"] == Decimal("-1.500000")
    assert [row[name] for name in NO_QUANTITIES] == [None] * len(NO_QUANTITIES)
    assert row["ListCost"] == row["ContractedCost"] == Decimal("-1.500000")


def test_rounding_is_charged_for_the_period() -> None:
    row = row_of(replace(ENTRY, kind="rounding", billing_on=None), CLOSED)
    assert (row["ChargePeriodStart"], row["ChargePeriodEnd"]) == (STARTS, ENDS)
    assert row["ChargeDescription"] == "Rounding to the payable amount"


def test_a_spread_row_names_the_method_and_the_team() -> None:
    line = replace(ENTRY, kind="spread", model="NVIDIA-L4", ms=7, state="free")
    row = row_of(line, CLOSED)
    assert row["AllocatedMethodId"] == "alloc-v1+even"
    assert row["AllocatedResourceId"] == "vision"
    assert row["AllocatedResourceName"] == "Vision and Robotics"
    opposite = row_of(replace(line, team="platform"), CLOSED)
    assert opposite["AllocatedMethodId"] is opposite["AllocatedResourceId"] is None


def test_a_correction_is_charged_where_it_is_booked() -> None:
    line = replace(
        USAGE,
        billing_on=date(2026, 9, 5),
        ms=-1_000_000,
        charge=Decimal("-0.583334"),
        corrects="2026-09-r1",
    )
    row = row_of(line, CLOSED)
    assert row["ChargeClass"] == "Correction"
    assert row["ChargeCategory"] == "Usage"
    assert row["ChargePeriodStart"] == DAYS[date(2026, 9, 5)][0]
    assert row["BillingPeriodStart"] == STARTS
    assert row["ConsumedQuantity"] == Decimal("-0.27777778")
    assert row["PricingQuantity"] is row["PricingUnit"] is None
    assert row["ListCost"] == row["ContractedCost"] == Decimal("-0.583334")
    assert row["ListUnitPrice"] == Decimal("2.100000")
    assert row["x_Corrects"] == "2026-09-r1"


def test_a_running_period_has_no_invoices() -> None:
    row = row_of(USAGE, replace(CLOSED, is_closed=False))
    assert row["InvoiceId"] is row["InvoiceDetailId"] is None
    assert row["x_LineId"] == line_id(USAGE, "2026-10", 1)
    assert row["x_Revision"] == "running"


def test_time_without_money_is_not_a_row() -> None:
    with pytest.raises(ValueError, match="without a charge"):
        row_of(replace(USAGE, rate=None, raw=None, charge=None), CLOSED)


def test_version_1_2_has_its_own_columns_and_none_of_later_ones() -> None:
    spread = replace(ENTRY, kind="spread", model="NVIDIA-L4")
    row = row_of(spread, CLOSED, FOCUS_1_2)
    assert row["ProviderName"] == row["PublisherName"] == "Acme"
    assert row["x_AllocatedMethodId"] == "alloc-v1+even"
    later = {"ServiceProviderName", "HostProviderName", "InvoiceDetailId"}
    later |= {"AllocatedMethodId", "AllocatedResourceId", "AllocatedResourceName"}
    assert not later & row.keys()
    assert later <= row_of(spread, CLOSED, FOCUS_1_4).keys()


@pytest.mark.parametrize("profile", PROFILES.values(), ids=list(PROFILES))
def test_own_columns_come_last_and_no_column_twice(profile: FocusProfile) -> None:
    names = [column.name for column in profile.columns]
    assert len(set(names)) == len(names)
    own = [name.startswith("x_") for name in names]
    assert own == sorted(own)
    assert list(row_of(USAGE, CLOSED, profile)) == names


@given(
    ms=st.integers(0, 10**12),
    rate=st.integers(0, 10**9 - 1),
    fx=st.integers(1, 10**11),
    charge=st.integers(-(10**12), 10**12),
    corrects=st.sampled_from(["", "2026-09-r1"]),
    kind=st.sampled_from(
        ["usage", "platform", "spread", "difference", "credit", "adjustment"]
    ),
)
def test_costs_follow_from_quantities_exactly(
    ms: int, rate: int, fx: int, charge: int, corrects: str, kind: str
) -> None:
    line = replace(
        USAGE,
        kind=kind,
        ms=ms,
        rate=Decimal(rate).scaleb(-6),
        fx=Decimal(fx).scaleb(-10),
        charge=Decimal(charge).scaleb(-6),
        corrects=corrects,
    )
    row = row_of(line, CLOSED)
    assert row["BilledCost"] == row["EffectiveCost"] == line.charge
    quantity, price = row["PricingQuantity"], row["ListUnitPrice"]
    assert (row["PricingUnit"] is None) == (quantity is None)
    assert (row["ConsumedUnit"] is None) == (row["ConsumedQuantity"] is None)
    assert (row["SkuPriceId"] is None) == (price is None)
    if quantity is None:
        assert row["ListCost"] == row["ContractedCost"] == line.charge
    else:
        assert isinstance(quantity, Decimal)
        assert isinstance(price, Decimal)
        assert row["ListCost"] == row["ContractedCost"] == quantity * price
        assert abs(quantity * 3_600_000 - ms) <= Decimal("0.018")  # half of 10^-8 h
    for column in FOCUS_1_4.columns:
        cell = row[column.name]
        assert cell != ""
        if column.type is CellType.DECIMAL and cell is not None:
            assert isinstance(cell, Decimal)
            assert cell == cell.quantize(Decimal(1).scaleb(-column.scale), context=WIDE)
