"""Cells of FOCUS rows in SQL (money.md M44): a file is written by the database.

The rule over values is `accounting/exports/rules/focus/row.py`; a test compares both on random
lines. Money and quantities are exact numbers with the places of the rule.

Parameters: `period`, `revision`, `is_closed`, `starts_at`, `ends_at` (texts with `Z`), `currency`,
`method`, `organization_id`, `organization_name`, `payers` (JSON: teams by slug); `first_day`,
`day_starts`, `day_ends` (texts of the billing days from the first on).
"""

from string import Formatter

from accounting.core.charge_lines import PLATFORM
from accounting.exports.rules.focus.row import (
    CORRECTION,
    DESCRIPTIONS,
    METER,
    PRICE_DETAILS,
    PRICING,
    SERVICE,
    STANDARD,
    UNIT,
)
from accounting.metering.sql.largest_remainder_sql import half_even

# ms / 3,600,000 in units of 10^-8 is ms x 250 / 9: a ninth is never half of a unit.
_HOURS = (
    "CASE WHEN l.ms < 0 THEN -((-l.ms * 500 + 9) / 18) ELSE (l.ms * 500 + 9) / 18 END"
    " * 0.00000001"
)
_CONVERTED = half_even("(l.rate * l.fx)", "0.000001")
_UNIT_PRICE = f"CASE WHEN l.fx = 1 THEN l.rate ELSE {_CONVERTED} * 0.000001 END"
_IS_TIME = "l.kind IN ('usage', 'platform')"
_IS_SHARE = f"(l.kind = 'spread' AND l.team <> '{PLATFORM}')"


def _of_day(texts: str) -> str:
    """The text of the line's billing day: an array by day is faster than a join."""
    return f"(%({texts})s::text[])[l.billing_on - %(first_day)s::date + 1]"


_VALUES: dict[str, str] = {
    "hours": f"CASE WHEN {_IS_TIME} THEN {_HOURS} END",
    "unit_price": f"CASE WHEN {_IS_TIME} THEN {_UNIT_PRICE} END",
    "sku": "CASE WHEN l.profile <> '' THEN l.model || '/' || l.profile ELSE l.model END",
    "is_priced": f"{_IS_TIME} AND l.corrects = ''",
    "team_name": "coalesce(%(payers)s::jsonb -> l.team ->> 'name', l.team)",
}

_IF_PRICE = "CASE WHEN l.unit_price IS NOT NULL THEN"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _cases(of: str, texts: dict[str, str], otherwise: str) -> str:
    whens = " ".join(f"WHEN {_text(key)} THEN {text}" for key, text in texts.items())
    return f"CASE {of} {whens} ELSE {otherwise} END"


def _filled(template: str, **names: str) -> str:
    """A template of `str.format` as SQL: each name becomes an expression."""
    parts = []
    for literal, name, _, _ in Formatter().parse(template):
        parts += [_text(literal)] if literal else []
        parts += [names[name]] if name else []
    return " || ".join(parts)


_DESCRIPTION = (
    f"CASE WHEN l.corrects <> '' THEN {_filled(CORRECTION, corrects='l.corrects')} ELSE '' END || "
    + _cases(
        "l.kind",
        {
            kind: _filled(text, sku="l.sku", state="l.state", reference="l.reference")
            for kind, text in DESCRIPTIONS.items()
        },
        "l.kind",
    )
)
_TEXTS: dict[str, str] = {
    "charge_text": "l.charge::text",
    "cost_text": "CASE WHEN l.is_priced THEN l.unit_price * l.hours ELSE l.charge END::text",
    "hours_text": "l.hours::text",
    "unit_price_text": "l.unit_price::text",
    "rate_text": f"{_IF_PRICE} l.rate::text END",
    "description": _DESCRIPTION,
    "sku_price": f"{_IF_PRICE} l.sku || '/' || l.lifecycle || '/' || l.tier END",
    "resource": "CASE WHEN l.workload <> '' THEN"
    " concat(l.cluster, '/', l.namespace, '/', l.workload_kind, '/', l.workload) END",
}
DERIVED = (_VALUES, _TEXTS)
"""Columns added to a line `l`, in two steps: values, and texts that are written from them once.

Hours and unit price are null for lines that are not GPU time; `is_priced` is false for corrections,
whose charge is not a product. A number of two cells is written once, and a cell that is put
together is a column, so that the test for a formula does not write it again.
"""
_INVOICE = (
    "CASE WHEN %(is_closed)s THEN"
    " %(period)s || '-' || l.team || '-r' || %(revision)s::text END"
)
_DETAIL = "CASE WHEN %(is_closed)s THEN l.line_id END"
_ALLOCATED = {
    "AllocatedMethodId": f"CASE WHEN {_IS_SHARE} THEN %(method)s END",
    "AllocatedResourceId": f"CASE WHEN {_IS_SHARE} THEN l.team END",
    "AllocatedResourceName": f"CASE WHEN {_IS_SHARE} THEN l.team_name END",
}
_ORGANIZATION = (
    "BillingAccountName",
    "InvoiceIssuerName",
    "ProviderName",
    "PublisherName",
    "ServiceProviderName",
    "HostProviderName",
)
CELLS: dict[str, str] = {
    "BilledCost": "l.charge_text",
    "EffectiveCost": "l.charge_text",
    "ListCost": "l.cost_text",
    "ContractedCost": "l.cost_text",
    "PricingQuantity": "CASE WHEN l.is_priced THEN l.hours_text END",
    "PricingUnit": f"CASE WHEN l.is_priced THEN {_text(UNIT)} END",
    "PricingCategory": f"{_IF_PRICE} "
    + _cases("l.lifecycle", {k: _text(v) for k, v in PRICING.items()}, _text(STANDARD))
    + " END",
    "ListUnitPrice": "l.unit_price_text",
    "ContractedUnitPrice": "l.unit_price_text",
    "PricingCurrency": "CASE WHEN l.price_currency = '' THEN %(currency)s"
    " ELSE l.price_currency END",
    "PricingCurrencyEffectiveCost": "CASE WHEN l.price_currency IN ('', %(currency)s)"
    " OR l.rate IS NULL THEN l.charge_text"
    f" ELSE ({half_even('(l.ms * l.rate)', '3.6')} * 0.000001)::text END",
    "PricingCurrencyListUnitPrice": "l.rate_text",
    "PricingCurrencyContractedUnitPrice": "l.rate_text",
    "CommitmentDiscountId": "NULL::text",
    "CommitmentDiscountStatus": "NULL::text",
    "ConsumedQuantity": "l.hours_text",
    "ConsumedUnit": f"CASE WHEN l.hours IS NOT NULL THEN {_text(UNIT)} END",
    "BillingAccountId": "%(organization_id)s",
    **dict.fromkeys(_ORGANIZATION, "%(organization_name)s"),
    "BillingCurrency": "%(currency)s",
    "BillingPeriodStart": "%(starts_at)s",
    "BillingPeriodEnd": "%(ends_at)s",
    "ChargePeriodStart": f"coalesce({_of_day('day_starts')}, %(starts_at)s)",
    "ChargePeriodEnd": f"coalesce({_of_day('day_ends')}, %(ends_at)s)",
    "ChargeCategory": "CASE WHEN l.hours IS NOT NULL THEN 'Usage'"
    " WHEN l.kind = 'credit' THEN 'Credit' ELSE 'Adjustment' END",
    "ChargeClass": "CASE WHEN l.corrects <> '' THEN 'Correction' END",
    "ChargeDescription": "l.description",
    "ChargeFrequency": "CASE WHEN l.hours IS NOT NULL THEN 'Usage-Based' ELSE 'One-Time' END",
    "ServiceCategory": "'Compute'",
    "ServiceSubcategory": "'Other (Compute)'",
    "ServiceName": _text(SERVICE),
    "SkuId": "CASE WHEN l.model <> '' THEN l.sku END",
    "SkuPriceId": "l.sku_price",
    "SkuMeter": f"CASE WHEN l.model <> '' THEN {_text(METER)} END",
    "SkuPriceDetails": f"{_IF_PRICE} {_text(PRICE_DETAILS)} END",
    "SubAccountId": "l.team",
    "SubAccountName": "l.team_name",
    "ResourceId": "l.resource",
    "ResourceName": "l.workload",
    "ResourceType": "CASE WHEN l.workload <> ''"
    " THEN coalesce(nullif(l.workload_kind, ''), 'Workload') END",
    "InvoiceId": _INVOICE,
    "InvoiceDetailId": _DETAIL,
    **_ALLOCATED,
    "x_LineId": "l.line_id",
    "x_LineKind": "l.kind",
    "x_State": "l.state",
    "x_ClusterName": "l.cluster",
    "x_Namespace": "l.namespace",
    "x_WorkloadKind": "l.workload_kind",
    "x_Workload": "l.workload",
    "x_WorkloadType": "l.workload_type",
    "x_GpuModel": "l.model",
    "x_MigProfile": "l.profile",
    "x_Lifecycle": "l.lifecycle",
    "x_PriorityTier": "l.tier",
    "x_Milliseconds": "l.ms",
    "x_ConversionRate": "l.fx",
    "x_Method": "%(method)s",
    "x_Revision": "CASE WHEN %(is_closed)s THEN 'r' || %(revision)s::text ELSE 'running' END",
    "x_Corrects": "l.corrects",
    "x_Reference": "l.reference",
    "x_InvoiceDetailId": _DETAIL,
    **{f"x_{name}": cell for name, cell in _ALLOCATED.items()},
}
"""The SQL of each column over a line `l` with the columns of `DERIVED`.

"" is an empty cell of a text column.
"""
