"""Rows of Explore: a selection by one or two groupings, and the same of the range before."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from accounting.explore.reads.groupings import TIMES
from accounting.explore.rules import ExploreMeasure
from accounting.kit.reads.dimensions import Dimension, keys_of
from accounting.kit.reads.selection import Selection, SelectionError
from accounting.usage.reads.breakdown import row_name
from accounting.usage.reads.usage import usage_rows
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.totals import RoundedTable, rounded_table, total_of

# Of both groupings together: a page takes 30 microseconds for each. 324 GPUs by day and two months
# have 19,000.
MOST_CELLS = 20_000


@dataclass(frozen=True, slots=True)
class ExploreRow:
    """One combination of the groupings; zero in a range that does not have it.

    Attributes:
        before: of the compared range; None where rows are not compared.
    """

    key: dict[str, str]
    now: UsageRow
    before: UsageRow | None = None


@dataclass(frozen=True, slots=True)
class ExploreTable:
    """All rows with what makes them come to their totals (rules.md N28).

    Attributes:
        cells: the exact rows by all groupings, which the chart draws.
        places: the exact rows by what the chart has along its axis alone: the ledger's own sums,
            and not sums of cells, each of which was rounded to six places.
        now, before: rows rounded one by one, their total, and the rounding between.
        has_changes: whether rows are compared, not only the totals.
        refusal: why there is nothing before, if stored time does not answer it.
    """

    cells: list[UsageRow]
    places: list[UsageRow]
    rows: tuple[ExploreRow, ...]
    now: RoundedTable
    before: RoundedTable | None
    has_changes: bool
    refusal: str = ""

    def sorted_by(self, measure: ExploreMeasure) -> list[ExploreRow]:
        """The largest first; those without a figure are last."""

        def order(row: ExploreRow) -> tuple[bool, Decimal, int, str]:
            value = measure.of(row.now)
            held = -row.now.allocated_ms
            return (
                value is None,
                -(value or Decimal(0)),
                held,
                "/".join(row.key.values()),
            )

        return sorted(self.rows, key=order)


def explored(
    selection: Selection,
    by: Sequence[str],
    rows_by: Sequence[str],
    before: Selection | None,
    places: int,
) -> ExploreTable:
    """A selection by its groupings; three queries, one less without `before`, or by one grouping.

    Args:
        selection: with its period.
        by: the groupings.
        rows_by: those of the table: with time as the second grouping, the first alone.
        before: the compared selection: rows are compared if they are not of days, which are others.
        places: of the currency.

    Raises:
        SelectionError: what stored time does not answer, or more than MOST_CELLS.
    """
    cells = usage_rows(selection, by)
    if len(cells) > MOST_CELLS:
        raise SelectionError(
            f"these groupings have {len(cells):,} rows here, and a page shows at most"
            f" {MOST_CELLS:,}: choose fewer days or a filter, or read them over the API"
        )
    axis = next((name for name in by if name in TIMES), by[0])
    along = usage_rows(selection, (axis,)) if len(by) > 1 else cells
    now = rounded_table(_summed(cells, rows_by), places)
    if before is None:
        rows = tuple(ExploreRow(row.key, row) for row in now.rows)
        return ExploreTable(cells, along, rows, now, None, has_changes=False)
    has_changes = not set(rows_by) & set(TIMES)
    try:
        found = usage_rows(before, rows_by if has_changes else ())
    except SelectionError as error:  # what is shown has an answer all the same
        rows = tuple(ExploreRow(row.key, row) for row in now.rows)
        return ExploreTable(
            cells, along, rows, now, None, has_changes=False, refusal=str(error)
        )
    then = rounded_table(found, places)
    if not has_changes:
        rows = tuple(ExploreRow(row.key, row) for row in now.rows)
        return ExploreTable(cells, along, rows, now, then, has_changes=False)
    old = {tuple(row.key.values()): row for row in then.rows}
    new = {tuple(row.key.values()): row for row in now.rows}
    keys = {tuple(row.key.values()): row.key for row in (*now.rows, *then.rows)}
    nothing = total_of([])
    rows = tuple(
        ExploreRow(
            key,
            new.get(name) or replace(nothing, key=key),
            old.get(name) or replace(nothing, key=key),
        )
        for name, key in keys.items()
    )
    return ExploreTable(cells, along, rows, now, then, has_changes=True)


def _summed(cells: Sequence[UsageRow], rows_by: Sequence[str]) -> list[UsageRow]:
    """Rows by some of their keys, exact."""
    names = [key.name for key in keys_of(rows_by)]
    grouped: dict[tuple[str, ...], list[UsageRow]] = {}
    for row in cells:
        grouped.setdefault(tuple(row.key[name] for name in names), []).append(row)
    if all(len(rows) == 1 for rows in grouped.values()):
        return [*cells]
    return [
        replace(total_of(rows), key=dict(zip(names, key, strict=True)))
        for key, rows in grouped.items()
    ]


def teams_of(
    selection: Selection, of: Dimension, rows: Sequence[ExploreRow]
) -> dict[str, str]:
    """The team of each family or workload, whose page it is on: the one that held most.

    Args:
        selection: of the rows.
        of: a grouping of them.
        rows: those that are shown; one query, or none if teams are a grouping.

    Returns:
        Slugs of teams by `row_name`.
    """
    if all("team" in row.key for row in rows):
        return {row_name(row.now, of.name): row.key["team"] for row in rows}
    values = {
        name: tuple({row.key[name] for row in rows}) for name in (of.name, "namespace")
    }
    few = replace(selection, filters={**selection.filters, **values})
    found = usage_rows(few, (of.name, "team"))
    return {  # the last one of a name stays
        row_name(row, of.name): row.key["team"]
        for row in sorted(found, key=lambda row: row.allocated_ms)
    }
