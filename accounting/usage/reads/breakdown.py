"""Usage of a period split by one dimension and by day, with the previous period.

Used by the overview and team pages: every number comes from rollups through `usage_rows` and
`ledger_rows`, rounded as rules.md N28 has it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from accounting.core.interval import Interval
from accounting.core.money import Money, amount_of
from accounting.kit.reads.dimensions import BY_NAME
from accounting.kit.reads.selection import Selection
from accounting.usage.reads.series import STEPS, step_key
from accounting.usage.reads.usage import usage_rows
from accounting.usage.rules.comparison import (
    COMPARABLE,
    Comparison,
    average_gpus,
    change,
    refusal,
    share,
)
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.totals import rounded, rounded_each, total_of


@dataclass(frozen=True, slots=True)
class Sides:
    """The period to compare with, and how much of both has data (0 to 1)."""

    before: Interval
    seen_before: float | None
    seen_after: float | None

    @property
    def refusal(self) -> str:
        """Why nothing is compared; "" if it is."""
        return refusal(self.seen_before, self.seen_after)

    def change(self, then: UsageRow, now: UsageRow, name: str) -> Comparison | None:
        """The change of one field of a row, doubtful if too little was observed.

        None if too little was observed for any comparison.
        """
        observed = _least(then.coverage, now.coverage)
        is_of_observed = name in {"efficiency", "idle_charge"}
        if self.refusal or (is_of_observed and (observed or 0) < COMPARABLE):
            return None
        before, after = getattr(then, name), getattr(now, name)
        if isinstance(before, float) and isinstance(after, float):
            before, after = Decimal(str(before)), Decimal(str(after))
        elif isinstance(before, Money) and isinstance(after, Money):
            if len({before.currency, after.currency} - {""}) > 1:
                return None
            before, after = before.amount, after.amount
        return change(
            before,
            after,
            seen_before=_least(self.seen_before, then.coverage),
            seen_after=_least(self.seen_after, now.coverage),
        )


def _least(*shares: float | None) -> float | None:
    return min((share for share in shares if share is not None), default=None)


@dataclass(frozen=True, slots=True)
class Summary:
    """The total of a period and its changes.

    Attributes:
        total: time and money of everything selected.
        average: average number of held GPUs while there was data.
        idle_average: average number of idle GPUs.
        idle_share: idle charge / charge.
        charge, allocated, efficiency, idle_charge: changes against the previous period.
    """

    total: UsageRow
    average: float | None
    idle_average: float | None
    idle_share: float | None
    charge: Comparison | None = None
    allocated: Comparison | None = None
    efficiency: Comparison | None = None
    idle_charge: Comparison | None = None


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One list by a dimension, its total, and the same by hour, day or month if requested.

    Attributes:
        rows: by the dimension, largest charge first.
        before: rows of the previous period, by key.
        by_step: the row by key of the dimension, then by step.
        steps: the total by step.
    """

    rows: tuple[UsageRow, ...]
    before: Mapping[str, UsageRow]
    by_step: Mapping[str, Mapping[str, UsageRow]]
    steps: Mapping[str, UsageRow]
    summary: Summary
    unnamed: int = 0  # the number of rows that are in `steps` and not in `rows`
    refusal: str = ""  # why there is no `before`, if one was requested

    @property
    def has_before(self) -> bool:
        """True if the previous period has usage to compare with."""
        return bool(self.before)

    @property
    def has_usage(self) -> bool:
        """True if there is held time."""
        return any(row.allocated_ms for row in self.rows)


def breakdown(
    selection: Selection,
    dimension: str,
    *,
    sides: Sides | None,
    length_ms: int,
    places: int,
    step: str = "",
    named: int = 0,
) -> Breakdown:
    """Split a selection by a dimension and by step; three queries, two without `sides`.

    Args:
        selection: with its period set.
        dimension: one that rollups store (team, family, model, ...).
        sides: the comparison.
        length_ms: length of the time with data, for averages.
        places: of the currency.
        step: hour, day or month; "" for a page without charts, which has no rows by step.
        named: only so many, the largest, have rows by step if there are many more; 0 for all. The
            others are in the total by step.
    """
    exact = usage_rows(selection, (dimension,))
    rows = sorted(rounded_each(exact, places), key=_by_charge)
    unnamed = max(0, len(rows) - named) if named and len(rows) > named + 1 else 0
    few = selection
    if unnamed:
        few = _only(selection, rows[:named], dimension)
    finer, steps = [], {}
    if step:
        finer = rounded(usage_rows(few, (dimension, STEPS[step])), places)
        summed = finer
        if unnamed:
            summed = rounded(usage_rows(selection, (STEPS[step],)), places)
        steps = _totals(summed, step)
    earlier = _earlier(selection, (dimension,), sides, places)
    return Breakdown(
        rows=tuple(rows),
        before={row_name(row, dimension): row for row in earlier},
        by_step=_by_step(finer, dimension, step, rows[:named] if unnamed else rows),
        steps=steps,
        summary=summarise(_total(exact, places), earlier, sides, length_ms),
        unnamed=unnamed,
        refusal=sides.refusal if sides else "",
    )


def totals(
    selection: Selection, *, sides: Sides | None, length_ms: int, places: int
) -> Breakdown:
    """A selection as one sum, compared, for what shows no list of it; two queries.

    Args:
        selection, sides, length_ms, places: as for `breakdown`.
    """
    exact = usage_rows(selection, ())
    earlier = _earlier(selection, (), sides, places)
    return Breakdown(
        rows=tuple(rounded_each(exact, places)),
        before={"": earlier[0]} if earlier else {},
        by_step={},
        steps={},
        summary=summarise(_total(exact, places), earlier, sides, length_ms),
        refusal=sides.refusal if sides else "",
    )


def _earlier(
    selection: Selection, by: Sequence[str], sides: Sides | None, places: int
) -> list[UsageRow]:
    if sides is None or sides.refusal:
        return []
    earlier = replace(selection, period=sides.before)
    return rounded_each(usage_rows(earlier, by), places)


def _total(exact: Sequence[UsageRow], places: int) -> UsageRow:
    """The total of a list, rounded once: the same one however the list is divided."""
    [total] = rounded_each([total_of(exact)], places)
    return total


def _by_charge(row: UsageRow) -> tuple[Decimal, int]:
    return -(amount_of(row.charge) or Decimal(0)), -row.allocated_ms


def row_name(row: UsageRow, dimension: str) -> str:
    """The key of a row in a breakdown; of a family, its namespace and name."""
    return "/".join(row.key[key.name] for key in BY_NAME[dimension].keys)


def _only(selection: Selection, rows: Sequence[UsageRow], dimension: str) -> Selection:
    """A selection with the values of some rows; each key by itself, so others may be in it."""
    names = [key.name for key in BY_NAME[dimension].keys]
    values = {name: tuple({row.key[name] for row in rows}) for name in names}
    return replace(selection, filters={**selection.filters, **values})


def _by_step(
    rows: Sequence[UsageRow], dimension: str, step: str, of: Sequence[UsageRow]
) -> dict[str, dict[str, UsageRow]]:
    """Rows of a chart by name and step, of the rows that are named."""
    names = {row_name(row, dimension) for row in of}
    found: dict[str, list[UsageRow]] = {}
    for row in rows:
        if (name := row_name(row, dimension)) in names:
            found.setdefault(name, []).append(row)
    return {name: _totals(of_name, step) for name, of_name in found.items()}


def _totals(rows: Sequence[UsageRow], step: str) -> dict[str, UsageRow]:
    grouped: dict[str, list[UsageRow]] = {}
    for row in rows:
        grouped.setdefault(step_key(row, step), []).append(row)
    return {
        key: of_step[0] if len(of_step) == 1 else total_of(of_step)
        for key, of_step in sorted(grouped.items())
    }


def summarise(
    now: UsageRow,
    earlier: Sequence[UsageRow],
    sides: Sides | None,
    length_ms: int,
) -> Summary:
    """A total compared with that of earlier rows."""
    plain = Summary(
        now,
        average_gpus(now.allocated_ms, length_ms),
        average_gpus(now.idle_ms, length_ms),
        share(amount_of(now.idle_charge), amount_of(now.charge)),
    )
    if sides is None or not earlier:
        return plain
    then = total_of(earlier)
    return replace(
        plain,
        charge=sides.change(then, now, "charge"),
        allocated=sides.change(then, now, "allocated_ms"),
        efficiency=sides.change(then, now, "efficiency"),
        idle_charge=sides.change(then, now, "idle_charge"),
    )


@dataclass(frozen=True, slots=True)
class Mover:
    """A family whose charge changed between two periods."""

    team: str
    namespace: str
    family: str
    change: Comparison
