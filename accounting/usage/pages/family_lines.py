"""Families with what they held and were charged: sorted, the largest, or in pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from accounting.access.reads.teams import TeamRef
from accounting.core.money import amount_of
from accounting.kit.charts.bars import BarPart
from accounting.kit.family_address import family_url
from accounting.kit.reads.selection import Selection
from accounting.usage.pages.shapes import held_parts, held_text
from accounting.usage.pages.tables import Sorter, ordered
from accounting.usage.reads.breakdown import Breakdown, Sides, row_name
from accounting.usage.reads.families import FamilyRuns, Names, runs_of_families
from accounting.usage.rules.comparison import Comparison
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.totals import Rounding, rounding_of, total_of

LISTED = 10  # families on the page of a team; its list of families has all
NO_FAMILY = "No workload"
"""Of what is charged without a workload: amounts that are spread over teams, and corrections."""


@dataclass(frozen=True, slots=True)
class FamilyUseLine:
    """One family in a list, or the sum of several.

    Attributes:
        url: its page; "" without one.
        runs: workloads that held GPUs in the range; None for several families, and for a charge
            whose workload is not known.
    """

    name: str
    namespace: str
    slot: int
    url: str
    row: UsageRow
    change: Comparison | None
    runs: int | None = None
    models: tuple[str, ...] = ()

    @property
    def names(self) -> Names:
        """Its key in reports."""
        return self.row.key["namespace"], self.row.key["family"]

    @property
    def parts(self) -> tuple[BarPart, ...]:
        """Its held time as a bar of full width."""
        return held_parts(self.row, self.row.allocated_ms)

    @property
    def text(self) -> str:
        """That bar as a sentence."""
        return held_text(self.row)


@dataclass(frozen=True, slots=True)
class FamilyTable:
    """Families with their total.

    Attributes:
        rest: the sum of the families that are not shown, `rest_count` of them.
        rounding: what the total is more than all families, which are rounded one by one.
        gone: the sum of `gone_count` families that only the previous period has.
        left: what the change of the total is more than all changes.
    """

    lines: tuple[FamilyUseLine, ...]
    rounding: Rounding
    total: UsageRow
    change: Comparison | None
    rest: FamilyUseLine | None = None
    rest_count: int = 0
    gone: FamilyUseLine | None = None
    gone_count: int = 0
    left: Decimal = Decimal(0)


FAMILY_SORTS: dict[str, Sorter] = {
    "family": lambda line: (line.name.lower(), line.namespace),
    "runs": lambda line: line.runs,
    "model": lambda line: line.models or None,
    "charge": lambda line: amount_of(line.row.charge),
    "change": lambda line: line.change.difference if line.change else None,
    "allocated": lambda line: line.row.allocated_ms,
    "efficiency": lambda line: line.row.efficiency,
    "coverage": lambda line: line.row.coverage,
    "idle": lambda line: line.row.idle_ms,
    "idle_charge": lambda line: amount_of(line.row.idle_charge),
}
BY_RUNS = ("runs", "model")
"""Columns that need the runs of all families to sort by."""


def _line(
    row: UsageRow, found: Breakdown, team: TeamRef, sides: Sides | None
) -> FamilyUseLine:
    before = found.before.get(row_name(row, "family")) or total_of([])
    namespace, family = row.key["namespace"], row.key["family"]
    return FamilyUseLine(
        name=family or NO_FAMILY,
        namespace=namespace,
        slot=team.slot,
        url=family_url(team.slug, namespace, family) if team.id else "",
        row=row,
        change=sides.change(before, row, "charge") if sides else None,
    )


def _with_runs(line: FamilyUseLine, runs: Mapping[Names, FamilyRuns]) -> FamilyUseLine:
    if line.names not in runs:
        return line
    found = runs[line.names]
    return replace(line, runs=found.count, models=found.models)


def family_table(
    selection: Selection,
    found: Breakdown,
    team: TeamRef,
    sides: Sides | None,
    sort: str,
) -> FamilyTable:
    """Families of a breakdown sorted as in the address; the total is below them.

    Their runs are read only if they are sorted by them; else `with_runs` reads those of a page.
    """
    runs = runs_of_families(selection) if sort.lstrip("-") in BY_RUNS else {}
    lines = [_with_runs(_line(row, found, team, sides), runs) for row in found.rows]
    now = {row_name(row, "family") for row in found.rows}
    ended = [row for name, row in found.before.items() if name not in now]
    gone = _sum([], ended, sides, team.slot) if ended else None
    return FamilyTable(
        lines=tuple(ordered(lines, sort, FAMILY_SORTS, "-charge")),
        rounding=rounding_of([line.row for line in lines], found.summary.total),
        total=found.summary.total,
        change=found.summary.charge,
        gone=gone,
        gone_count=len(ended),
        left=_left(found.summary.charge, [*lines, *([gone] if gone else [])]),
    )


def _left(total: Comparison | None, lines: Sequence[FamilyUseLine]) -> Decimal:
    if total is None:
        return Decimal(0)
    return total.difference - sum(
        (line.change.difference for line in lines if line.change), Decimal(0)
    )


def with_runs(
    selection: Selection, lines: Sequence[FamilyUseLine]
) -> tuple[FamilyUseLine, ...]:
    """The lines that are shown, with their runs; at most one query."""
    unread = [line.names for line in lines if line.runs is None and line.names[1]]
    runs = runs_of_families(selection, unread) if unread else {}
    return tuple(_with_runs(line, runs) for line in lines)


def matching(
    table: FamilyTable, found: Breakdown, sides: Sides | None, words: str
) -> FamilyTable:
    """The families whose namespace and name contain some words, with their sum."""
    if not words:
        return table
    low = words.lower()
    lines = [one for one in table.lines if low in f"{one.namespace}/{one.name}".lower()]
    if not lines:
        return replace(table, lines=())
    sums = _together(lines, found, sides)
    return replace(
        table,
        lines=tuple(lines),
        rounding=Rounding(None, None),
        total=sums.row,
        change=sums.change,
        gone=None,
        left=Decimal(0),
    )


def largest_families(
    table: FamilyTable, found: Breakdown, sides: Sides | None
) -> FamilyTable:
    """The first rows of a table, and one for all others; one other row is shown itself."""
    if len(table.lines) <= LISTED + 1:
        return table
    rest = table.lines[LISTED:]
    return replace(
        table,
        lines=table.lines[:LISTED],
        rest=_together(rest, found, sides),
        rest_count=len(rest),
    )


def _together(
    lines: Sequence[FamilyUseLine], found: Breakdown, sides: Sides | None
) -> FamilyUseLine:
    names = [row_name(line.row, "family") for line in lines]
    earlier = [found.before[name] for name in names if name in found.before]
    return _sum([line.row for line in lines], earlier, sides, lines[0].slot)


def _sum(
    rows: Sequence[UsageRow],
    earlier: Sequence[UsageRow],
    sides: Sides | None,
    slot: int,
) -> FamilyUseLine:
    total = total_of(rows)
    change = sides.change(total_of(earlier), total, "charge") if sides else None
    return FamilyUseLine("", "", slot, "", total, change)
