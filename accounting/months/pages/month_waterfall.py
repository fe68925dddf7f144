"""What a month comes to, step by step: charges of teams, their adjustments, unallocated time."""

from collections.abc import Iterator
from dataclasses import dataclass

from accounting.core.charge_lines import NAMES
from accounting.core.money import NOTHING, Money
from accounting.core.unmapped import UNMAPPED
from accounting.kit.charts.bars import BarPart
from accounting.kit.charts.waterfall import WaterfallStep, waterfall
from accounting.months.reads.statement_table import StatementCells, StatementTable
from accounting.months.reads.statements import StatementRow

NAMED = 8  # teams with a bar of their own, the dearest; all others have one together


@dataclass(frozen=True, slots=True)
class MonthStep:
    """One bar of a month, with its amount as the table of statements shows it.

    Attributes:
        slot: the color of a team; 0 for others.
        by: how charges of the month are divided to see what is in it; "" if that shows nothing.
        is_sum: the sum of all steps before it.
    """

    title: str
    amount: Money
    kind: str
    slot: int = 0
    by: str = ""
    is_sum: bool = False


def month_waterfall(table: StatementTable) -> list[tuple[MonthStep, BarPart]]:
    """Steps and their bars: those before a sum come to it, to the cent."""
    steps = list(_steps(table))
    bars = waterfall(
        [WaterfallStep(one.amount.amount, one.kind, one.is_sum) for one in steps]
    )
    return [(step, bar.part) for step, bar in zip(steps, bars, strict=True)]


def _steps(table: StatementTable) -> Iterator[MonthStep]:
    yield from _teams(table)
    yield from _adjustments(table.teams, " of teams")
    yield MonthStep("Teams", table.teams.payable, "explained", is_sum=True)
    yield MonthStep("Unallocated", table.platform.charge, "rest")
    yield from _adjustments(table.platform, " of the platform")
    yield MonthStep("Payable", table.all.payable, "action", is_sum=True)


def _teams(table: StatementTable) -> Iterator[MonthStep]:
    rows = [one for one in table.rows if one[0].team not in NAMES]
    rows.sort(key=lambda one: (-one[1].charge.amount, one[0].name.casefold()))
    single = len(rows) if len(rows) <= NAMED + 1 else NAMED
    for row, cells in rows[:single]:
        yield _team(row, cells)
    if rest := rows[single:]:
        amount = sum((cells.charge for _, cells in rest), NOTHING)
        yield MonthStep(f"{len(rest)} other teams", amount, "busy")
    for row, cells in table.rows:
        if row.team == UNMAPPED and cells.charge.amount:
            yield _team(row, cells)


def _team(row: StatementRow, cells: StatementCells) -> MonthStep:
    return MonthStep(row.name, cells.charge, "busy", row.slot)


def _adjustments(cells: StatementCells, whose: str) -> Iterator[MonthStep]:
    """What is paid beside the charges of the month; nothing where there is nothing."""
    named = (
        (f"Entries{whose}", cells.entries, "state"),
        (f"Corrections{whose}", cells.corrections, "correction"),
        (f"Rounding{whose}", cells.rounding, ""),
    )
    for title, amount, by in named:
        if amount.amount:
            kind = "less" if amount.amount < 0 else "more"
            yield MonthStep(title, amount, kind, by=by)
