"""The columns of a provider's file: those of FOCUS 1.0 and newer (money.md M41)."""

from collections.abc import Sequence
from dataclasses import dataclass


class BillFileError(ValueError):
    """The file cannot be used; nothing was imported."""


NEEDED = {
    "account": "BillingAccountId",
    "currency": "BillingCurrency",
    "period_start": "BillingPeriodStart",
    "period_end": "BillingPeriodEnd",
    "category": "ChargeCategory",
    "start": "ChargePeriodStart",
    "end": "ChargePeriodEnd",
    "cost": "EffectiveCost",
}
OPTIONAL = {
    "sub_account": ("SubAccountId",),
    "resource": ("ResourceId",),
    "resource_name": ("ResourceName",),
    "service": ("ServiceName",),
    "provider": ("ServiceProviderName", "ProviderName", "InvoiceIssuerName"),
}
"""The names of a field, the first one that the file has."""
FEWEST_FOUND = 3  # needed columns, below which a file is another kind of file


@dataclass(frozen=True, slots=True)
class BillColumns:
    """Where each field is.

    Attributes:
        count: cells of a row.
        at: the position by field; optional fields that the file lacks are not in it.
    """

    count: int
    at: dict[str, int]


def columns_of(header: Sequence[str]) -> BillColumns:
    """Find the columns by name; case and underscores do not matter, as some exports change them.

    Raises:
        BillFileError: a column is missing or is there twice; with the names.
    """
    names = [_plain(name) for name in header]
    at: dict[str, int] = {}
    missing = []
    for field, name in NEEDED.items():
        if _plain(name) in names:
            at[field] = _only(names, name)
        else:
            missing.append(name)
    if len(NEEDED) - len(missing) < FEWEST_FOUND:
        raise BillFileError(
            "this is not a FOCUS file: its header has none of "
            f"{', '.join(NEEDED.values())}. Export the bill as FOCUS 1.0 or newer"
            if len(missing) == len(NEEDED)
            else f"this is not a FOCUS file: {', '.join(missing)} are missing"
        )
    if missing:
        raise BillFileError(
            f"the header lacks {', '.join(missing)}: add the columns to the export"
        )
    for field, spellings in OPTIONAL.items():
        found = next((name for name in spellings if _plain(name) in names), None)
        if found:
            at[field] = _only(names, found)
    return BillColumns(len(header), at)


def _plain(name: str) -> str:
    return name.strip().replace("_", "").casefold()


def _only(names: Sequence[str], name: str) -> int:
    if names.count(_plain(name)) > 1:
        raise BillFileError(f"the column {name} is there more than once")
    return names.index(_plain(name))
