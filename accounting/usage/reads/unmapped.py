"""Usage that belongs to no team, by namespace."""

from accounting.core.money import amount_of
from accounting.kit.reads.selection import Selection
from accounting.usage.reads.usage import usage_rows
from accounting.usage.rules.rows import UsageRow


def unmapped_rows(selection: Selection) -> list[UsageRow]:
    """Namespaces without a team, the most expensive first; for people who see everything."""
    if not selection.scope.sees_all:
        return []
    found = [
        row
        for row in usage_rows(selection, ("team", "namespace"))
        if row.key["team"] == "unmapped"
    ]
    return sorted(found, key=lambda r: (-(amount_of(r.charge) or 0), -r.allocated_ms))
