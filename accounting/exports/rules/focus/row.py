"""A line of a booking as a row of a FOCUS file (money.md M44).

This is the rule over values. `accounting/exports/sql/focus_cells.py` writes the same cells in
SQL; a test compares both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

from accounting.core.charge_lines import PLATFORM
from accounting.core.interval import HOUR_MS
from accounting.core.rounding import half_even
from accounting.exports.rules.focus.columns import FOCUS_1_4, FocusProfile
from accounting.months.rules.close_hash import Line, line_id

Cell = str | int | Decimal | datetime | None
TIME_KINDS = frozenset({"usage", "platform"})  # lines of GPU time at a price
QUANTITY_PLACES = 8
UNIT_PRICE_PLACES = 6
COST_PLACES = 6
UNIT = "GPU-Hours"
METER = "GPU time"
PRICE_DETAILS = '{"GpuCount":1}'  # of one consumed GPU-hour
SERVICE = "GPU Platform"
PRICING = {"spot": "Dynamic", "reserved": "Committed"}
STANDARD = "Standard"
DESCRIPTIONS = {
    "usage": "{sku}, {state}",
    "platform": "{sku}, {state}, paid by the platform",
    "difference": "{sku}, difference to the price of the whole GPU",
    "spread": "{sku}, {state}, spread over teams",
    "credit": "Credit {reference}",
    "adjustment": "Adjustment {reference}",
    "rounding": "Rounding to the payable amount",
}
CORRECTION = "Correction of {corrects}: "


@dataclass(frozen=True, slots=True)
class FocusContext:
    """What the rows of one file have in common.

    Attributes:
        period: YYYY-MM.
        is_closed: a running period has no invoices.
        starts_at, ends_at: the billing period, half-open.
        organization_id, organization_name: who provides, invoices and pays.
        team_names: by slug; a team without one has its slug as name.
        days: start and end of each billing day that a line may have.
    """

    period: str
    revision: int
    is_closed: bool
    starts_at: datetime
    ends_at: datetime
    currency: str
    method: str
    organization_id: str
    organization_name: str
    team_names: Mapping[str, str]
    days: Mapping[date, tuple[datetime, datetime]]

    @property
    def revision_name(self) -> str:
        """`r1`, or `running`."""
        return f"r{self.revision}" if self.is_closed else "running"


def row_of(
    line: Line, context: FocusContext, profile: FocusProfile = FOCUS_1_4
) -> dict[str, Cell]:
    """The cells of a line with a charge, in the order of the profile's columns.

    Raises:
        ValueError: the line has no charge: time without money is not a row.
    """
    if line.charge is None:
        raise ValueError(f"a line without a charge is not a row: {line}")
    cells = {
        **_costs(line),
        **_pricing_currency(line, context),
        **_account(line, context),
        **_charge(line, context),
        **_sku(line),
        **_resource(line),
        **_allocation(line, context),
        **_ours(line, context),
    }
    return {column.name: cells[column.name] for column in profile.columns}


def _costs(line: Line) -> dict[str, Cell]:
    """Costs, quantities and unit prices.

    A correction has no priced quantity: its charge is a difference of two rounded charges, and
    FOCUS 1.4 compares the product of a unit price and a priced quantity with the cost.
    """
    is_time = line.kind in TIME_KINDS
    is_correction = line.corrects != ""
    hours = half_even(Fraction(line.ms, HOUR_MS), QUANTITY_PLACES) if is_time else None
    price = unit_price(line)
    priced = None if is_correction else hours
    cost = line.charge
    if priced is not None and price is not None:
        cost = priced * price
    return {
        "BilledCost": line.charge,
        "EffectiveCost": line.charge,
        "ListCost": cost,
        "ContractedCost": cost,
        "PricingQuantity": priced,
        "PricingUnit": None if priced is None else UNIT,
        "PricingCategory": None if price is None else pricing_category(line.lifecycle),
        "ListUnitPrice": price,
        "ContractedUnitPrice": price,
        "ConsumedQuantity": hours,
        "ConsumedUnit": None if hours is None else UNIT,
    }


def _pricing_currency(line: Line, context: FocusContext) -> dict[str, Cell]:
    """Price and cost in the currency of the price; entries are in the billing currency."""
    currency = line.price_currency or context.currency
    cost = line.charge
    if currency != context.currency and line.rate is not None:
        cost = half_even(line.ms * Fraction(line.rate) / HOUR_MS, COST_PLACES)
    rate = None if unit_price(line) is None else line.rate
    return {
        "PricingCurrency": currency,
        "PricingCurrencyEffectiveCost": cost,
        "PricingCurrencyListUnitPrice": rate,
        "PricingCurrencyContractedUnitPrice": rate,
        "CommitmentDiscountId": None,
        "CommitmentDiscountStatus": None,
    }


def pricing_category(lifecycle: str) -> str:
    """How the price of a lifecycle comes about."""
    return PRICING.get(lifecycle, STANDARD)


def unit_price(line: Line) -> Decimal | None:
    """Per GPU-hour in the billing currency, six places, half-even; None for other lines."""
    if line.kind not in TIME_KINDS or line.rate is None or line.fx is None:
        return None
    return half_even(Fraction(line.rate) * Fraction(line.fx), UNIT_PRICE_PLACES)


def _account(line: Line, context: FocusContext) -> dict[str, Cell]:
    name = context.organization_name
    number = f"{context.period}-{line.team}-r{context.revision}"
    detail = line_id(line, context.period, context.revision)
    return {
        "BillingAccountId": context.organization_id,
        "BillingAccountName": name,
        "BillingCurrency": context.currency,
        "BillingPeriodStart": context.starts_at,
        "BillingPeriodEnd": context.ends_at,
        "SubAccountId": line.team,
        "SubAccountName": context.team_names.get(line.team, line.team),
        "InvoiceIssuerName": name,
        "InvoiceId": number if context.is_closed else None,
        "InvoiceDetailId": detail if context.is_closed else None,
        "x_InvoiceDetailId": detail if context.is_closed else None,
        "x_LineId": detail,
        "ProviderName": name,
        "PublisherName": name,
        "ServiceProviderName": name,
        "HostProviderName": name,
    }


def _charge(line: Line, context: FocusContext) -> dict[str, Cell]:
    is_time = line.kind in TIME_KINDS
    category = "Credit" if line.kind == "credit" else "Adjustment"
    bounds = (context.starts_at, context.ends_at)
    starts_at, ends_at = context.days[line.billing_on] if line.billing_on else bounds
    return {
        "ChargePeriodStart": starts_at,
        "ChargePeriodEnd": ends_at,
        "ChargeCategory": "Usage" if is_time else category,
        "ChargeClass": "Correction" if line.corrects else None,
        "ChargeDescription": _description(line),
        "ChargeFrequency": "Usage-Based" if is_time else "One-Time",
        "ServiceCategory": "Compute",
        "ServiceSubcategory": "Other (Compute)",
        "ServiceName": SERVICE,
    }


def _description(line: Line) -> str:
    sku = f"{line.model}/{line.profile}" if line.profile else line.model
    text = DESCRIPTIONS[line.kind].format(
        sku=sku, state=line.state, reference=line.reference
    )
    if not line.corrects:
        return text
    return CORRECTION.format(corrects=line.corrects) + text


def _sku(line: Line) -> dict[str, Cell]:
    """Identifiers of the price list; a line without a unit price has no price identifier."""
    if not line.model:
        names = ("SkuId", "SkuPriceId", "SkuMeter", "SkuPriceDetails")
        return dict.fromkeys(names)
    sku = f"{line.model}/{line.profile}" if line.profile else line.model
    has_price = unit_price(line) is not None
    return {
        "SkuId": sku,
        "SkuPriceId": f"{sku}/{line.lifecycle}/{line.tier}" if has_price else None,
        "SkuMeter": METER,
        "SkuPriceDetails": PRICE_DETAILS if has_price else None,
    }


def _resource(line: Line) -> dict[str, Cell]:
    if not line.workload:
        return dict.fromkeys(("ResourceId", "ResourceName", "ResourceType"))
    parts = (line.cluster, line.namespace, line.workload_kind, line.workload)
    return {
        "ResourceId": "/".join(parts),
        "ResourceName": line.workload,
        "ResourceType": line.workload_kind or "Workload",
    }


def _allocation(line: Line, context: FocusContext) -> dict[str, Cell]:
    """Of a team's share of the platform's cost; the platform's opposite row has none."""
    is_share = line.kind == "spread" and line.team != PLATFORM
    team = line.team if is_share else None
    team_name = context.team_names.get(line.team, line.team) if is_share else None
    found = {
        "AllocatedMethodId": context.method if is_share else None,
        "AllocatedResourceId": team,
        "AllocatedResourceName": team_name,
    }
    return {**found, **{f"x_{name}": value for name, value in found.items()}}


def _ours(line: Line, context: FocusContext) -> dict[str, Cell]:
    return {
        "x_LineKind": line.kind,
        "x_State": line.state or None,
        "x_ClusterName": line.cluster or None,
        "x_Namespace": line.namespace or None,
        "x_WorkloadKind": line.workload_kind or None,
        "x_Workload": line.workload or None,
        "x_WorkloadType": line.workload_type or None,
        "x_GpuModel": line.model or None,
        "x_MigProfile": line.profile or None,
        "x_Lifecycle": line.lifecycle or None,
        "x_PriorityTier": line.tier or None,
        "x_Milliseconds": line.ms,
        "x_ConversionRate": line.fx,
        "x_Method": context.method,
        "x_Revision": context.revision_name,
        "x_Corrects": line.corrects or None,
        "x_Reference": line.reference or None,
    }
