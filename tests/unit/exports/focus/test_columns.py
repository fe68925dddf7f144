"""Which columns FOCUS files have, and of which type (money.md M44, M45).

Not here: whether a whole file is valid (`tests/integration/exports/test_validators.py`).
"""

import pytest

from accounting.exports.rules.focus import columns
from accounting.exports.rules.focus.columns import FocusProfile
from tests.unit.anew import built_anew

COSTS = (
    *("BilledCost", "EffectiveCost", "ListCost", "ContractedCost"),
    *("PricingQuantity", "ConsumedQuantity", "PricingCurrencyEffectiveCost"),
)
UNIT_PRICES = (
    *("ListUnitPrice", "ContractedUnitPrice", "PricingCurrencyListUnitPrice"),
    *("PricingCurrencyContractedUnitPrice", "x_ConversionRate"),
)
TIMES = (
    *("BillingPeriodStart", "BillingPeriodEnd"),
    *("ChargePeriodStart", "ChargePeriodEnd"),
)
OTHERS = (
    dict.fromkeys(COSTS, ("Decimal", 38, 14))
    | dict.fromkeys(UNIT_PRICES, ("Decimal", 38, 16))
    | dict.fromkeys(TIMES, ("Date/Time", 0, 0))
    | {"x_Milliseconds": ("Integer", 0, 0)}
)
# the text columns that FOCUS 1.2 and 1.4 demand of every file
DEMANDED = {
    *("BillingAccountId", "BillingAccountName", "BillingCurrency", "ChargeCategory"),
    *("ChargeClass", "ChargeDescription", "PricingUnit", "ServiceCategory"),
    *("ServiceName", "InvoiceIssuerName"),
}


def profile(name: str) -> FocusProfile:
    found: FocusProfile = built_anew(columns).PROFILES[name]
    return found


@pytest.mark.parametrize("name", ["focus-1.4", "focus-1.2"])
def test_amounts_and_times_have_their_types_and_all_else_is_text(name: str) -> None:
    found = {
        one.name: (str(one.type), one.precision, one.scale)
        for one in profile(name).columns
    }
    typed = {key: value for key, value in found.items() if value != ("String", 0, 0)}
    assert typed == OTHERS
    assert found.keys() - typed.keys() >= DEMANDED


def test_a_profile_is_named_by_its_version() -> None:
    versions = {name: profile(name).version for name in columns.PROFILES}
    assert versions == {"focus-1.4": "1.4", "focus-1.2": "1.2"}
    assert [profile(name).name for name in versions] == list(versions)


def test_versions_differ_in_the_columns_that_came_later() -> None:
    """M44: version 1.2 has `x_` columns in place of those that came with later versions."""
    new, old = (
        [one.name for one in profile(name).columns]
        for name in ("focus-1.4", "focus-1.2")
    )
    later = ["InvoiceDetailId", "AllocatedMethodId"]
    later += ["AllocatedResourceId", "AllocatedResourceName"]
    assert [name for name in new if name not in old] == [
        "ServiceProviderName",
        "HostProviderName",
        *later,
    ]
    assert [name for name in old if name not in new] == [
        *("ProviderName", "PublisherName"),
        *("CommitmentDiscountId", "CommitmentDiscountStatus"),
        *(f"x_{name}" for name in later),
    ]
