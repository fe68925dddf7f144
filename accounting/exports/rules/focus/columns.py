"""Columns of FOCUS files: versions 1.4 and 1.2 of the FinOps Open Cost and Usage Specification.

A file has the columns that every data generator must have, those whose condition is met here, and
columns of our own, which begin with `x_` and come last.
"""

from dataclasses import dataclass

from accounting.exports.rules.column_types import CellType, FileColumn, decimal_column

MONEY_SCALE = 14  # a unit price has 6 places, a quantity 8: their product is exact
UNIT_PRICE_SCALE = 16


def _text(*names: str) -> tuple[FileColumn, ...]:
    return tuple(FileColumn(name) for name in names)


def _times(*names: str) -> tuple[FileColumn, ...]:
    return tuple(FileColumn(name, CellType.TIME) for name in names)


def _money(*names: str) -> tuple[FileColumn, ...]:
    return tuple(decimal_column(name, MONEY_SCALE) for name in names)


def _unit_prices(*names: str) -> tuple[FileColumn, ...]:
    return tuple(decimal_column(name, UNIT_PRICE_SCALE) for name in names)


_COMMON = (
    *_money("BilledCost", "EffectiveCost", "ListCost", "ContractedCost"),
    *_text("BillingAccountId", "BillingAccountName", "BillingCurrency"),
    *_times("BillingPeriodStart", "BillingPeriodEnd"),
    *_times("ChargePeriodStart", "ChargePeriodEnd"),
    *_text("ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency"),
    *_money("PricingQuantity"),
    *_text("PricingUnit", "PricingCategory"),
    *_unit_prices("ListUnitPrice", "ContractedUnitPrice"),
    *_text("PricingCurrency"),
    *_money("PricingCurrencyEffectiveCost"),
    *_unit_prices("PricingCurrencyListUnitPrice"),
    *_unit_prices("PricingCurrencyContractedUnitPrice"),
    *_money("ConsumedQuantity"),
    *_text("ConsumedUnit"),
    *_text("ServiceCategory", "ServiceSubcategory", "ServiceName"),
)
_SHARED_TAIL = _text(
    *("SkuId", "SkuPriceId", "SkuMeter", "SkuPriceDetails"),
    *("SubAccountId", "SubAccountName"),
    *("ResourceId", "ResourceName", "ResourceType"),
    *("InvoiceIssuerName", "InvoiceId"),
)
_OURS = (
    *_text("x_LineId", "x_LineKind", "x_State", "x_ClusterName", "x_Namespace"),
    *_text("x_WorkloadKind", "x_Workload", "x_WorkloadType"),
    *_text("x_GpuModel", "x_MigProfile", "x_Lifecycle", "x_PriorityTier"),
    FileColumn("x_Milliseconds", CellType.INTEGER),
    *_unit_prices("x_ConversionRate"),
    *_text("x_Method", "x_Revision", "x_Corrects", "x_Reference"),
)


@dataclass(frozen=True, slots=True)
class FocusProfile:
    """One version of the specification as a file.

    Attributes:
        name: as a command names it, such as `focus-1.4`.
        columns: in the order of the file.
    """

    name: str
    version: str
    columns: tuple[FileColumn, ...]


FOCUS_1_4 = FocusProfile(
    "focus-1.4",
    "1.4",
    (
        *_COMMON,
        *_text("ServiceProviderName", "HostProviderName"),
        *_SHARED_TAIL,
        *_text("InvoiceDetailId"),
        *_text("AllocatedMethodId", "AllocatedResourceId", "AllocatedResourceName"),
        *_OURS,
    ),
)
# Version 1.2 has no columns for split costs and invoice lines: ours keep what they say. The rules
# of its validator read the columns of commitment discounts even if there are none: they are null.
FOCUS_1_2 = FocusProfile(
    "focus-1.2",
    "1.2",
    (
        *_COMMON,
        *_text("ProviderName", "PublisherName"),
        *_text("CommitmentDiscountId", "CommitmentDiscountStatus"),
        *_SHARED_TAIL,
        *_OURS,
        *_text("x_InvoiceDetailId", "x_AllocatedMethodId"),
        *_text("x_AllocatedResourceId", "x_AllocatedResourceName"),
    ),
)
PROFILES = {profile.name: profile for profile in (FOCUS_1_4, FOCUS_1_2)}
