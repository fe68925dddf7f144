"""The fields of a line of a booking in their order, and its kinds (money.md M9).

Not here: a line as a value, its id and the hash of its close
(`accounting/months/rules/close_hash.py`).
"""

from accounting.core.unmapped import UNMAPPED

KEY_FIELDS = (
    "kind",
    "team",
    "billing_on",
    "cluster",
    "namespace",
    "workload_kind",
    "workload",
    "workload_type",
    "model",
    "profile",
    "lifecycle",
    "tier",
    "state",
    "price_currency",
    "rate",
    "status",
)
FIELDS = (
    *KEY_FIELDS[:-1],
    "fx",
    "ms",
    "raw",
    "charge",
    "status",
    "corrects",
    "reference",
)
KIND_TITLES = {
    "usage": "Usage",
    "platform": "Held by nobody",
    "difference": "Difference to other prices",
    "spread": "Spread",
    "credit": "Credit",
    "adjustment": "Adjustment",
    "rounding": "Rounding",
}
"""Kinds of lines, as pages name them."""

PLATFORM = "platform"  # the `team` of what the organization itself pays
NAMES = {PLATFORM: "Platform", UNMAPPED: "Unmapped"}  # where a line is of no team
