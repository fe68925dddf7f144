"""How spend and use move through a period: rows for charts."""

from dataclasses import dataclass, replace
from decimal import Decimal

from accounting.domain.period import DAY_MS, Period
from accounting.domain.report import UsageRow
from accounting.queries.selection import Selection
from accounting.queries.usage import usage_rows


@dataclass(frozen=True, slots=True)
class Point:
    """One step of one line: the step's label (a day or an hour) and its sums."""

    at: str  # 2026-10-01, or 2026-10-01T10:00:00Z
    group: str
    row: UsageRow


HOURLY_UP_TO_MS = 7 * DAY_MS  # product 4.1: hours up to a week, days above


def step_of(period: Period | None) -> str:
    """`hour` or `day`, by the length of the period."""
    if period is not None and period.length_ms <= HOURLY_UP_TO_MS:
        return "hour"
    return "day"


def points(
    selection: Selection, group: str = "team", step: str | None = None
) -> list[Point]:
    """Use and charge by step and group, in order of time.

    Args:
        selection: what is asked for.
        group: a dimension, or "" for one line.
        step: `hour` or `day`; None chooses by the period's length.
    """
    chosen = step or step_of(selection.period)
    by = (chosen, group) if group else (chosen,)
    return [
        Point(row.key[chosen], row.key.get(group, ""), row)
        for row in usage_rows(selection, by)
    ]


@dataclass(frozen=True, slots=True)
class Change:
    """How much a name's charge differs from the period before."""

    name: str
    before: Decimal
    after: Decimal

    @property
    def difference(self) -> Decimal:
        """after - before."""
        return self.after - self.before


def biggest_changes(
    selection: Selection, before: Selection, dimension: str, limit: int = 5
) -> list[Change]:
    """Names whose charge changed most, by absolute difference, largest first."""
    old = {
        r.key[dimension]: r.charge or Decimal(0)
        for r in usage_rows(before, (dimension,))
    }
    new = {
        r.key[dimension]: r.charge or Decimal(0)
        for r in usage_rows(selection, (dimension,))
    }
    changes = [
        Change(name, old.get(name, Decimal(0)), new.get(name, Decimal(0)))
        for name in sorted(old.keys() | new.keys())
    ]
    moved = [change for change in changes if change.difference]
    return sorted(moved, key=lambda c: (-abs(c.difference), c.name))[:limit]


def previous(selection: Selection, offset_ms: int | None = None) -> Selection | None:
    """The same question about the period before; None where the period is open."""
    period = selection.period
    if period is None:
        return None
    shift = period.length_ms if offset_ms is None else offset_ms
    if shift > period.start_ms:
        return None
    moved = Period(period.start_ms - shift, period.end_ms - shift)
    return replace(selection, period=moved)
