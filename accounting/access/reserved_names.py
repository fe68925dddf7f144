"""Names that no team may have: those of the other parties of the ledger, and words of addresses.

A statement, a charge and an address name who pays by a slug. A team with the slug `platform` would
have read the statement of the organization, with the cost of everything that nobody held.
"""

from accounting.core.charge_lines import PLATFORM
from accounting.core.unmapped import UNMAPPED

RESERVED_SLUGS = {
    PLATFORM: "is reserved for what the organization itself pays",
    UNMAPPED: "is reserved for usage without a team",
    "new": "is reserved for addresses of forms",
}
"""Slug -> why it is reserved."""


def slug_fault(slug: str) -> str:
    """Why no team may have this slug, in any case of its letters; "" if one may."""
    return RESERVED_SLUGS.get(slug.casefold(), "")


def name_fault(name: str) -> str:
    """Why no team may be called so on pages; "" if one may."""
    word = name.strip().casefold()
    return RESERVED_SLUGS[word] if word in (PLATFORM, UNMAPPED) else ""


def other_slug(slug: str) -> str:
    """A slug to use instead of a reserved one."""
    return f"{slug.casefold()}-team"


def other_name(name: str) -> str:
    """A name to use instead of a reserved one."""
    return f"{name.strip()} team"
