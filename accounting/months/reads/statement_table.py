"""The statements of a month as a table: rows and columns add up as shown (money.md M6)."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounting.core.charge_lines import PLATFORM
from accounting.core.money import NOTHING, Money
from accounting.months.reads.statement_document import Item
from accounting.months.reads.statements import StatementRow


@dataclass(frozen=True, slots=True)
class StatementCells:
    """Amounts in the currency's places: charge + entries + corrections + rounding = payable."""

    charge: Money = NOTHING
    entries: Money = NOTHING
    corrections: Money = NOTHING
    payable: Money = NOTHING

    @property
    def rounding(self) -> Money:
        """What the payable is more than the amounts before it."""
        return self.payable - self.charge - self.entries - self.corrections


@dataclass(frozen=True, slots=True)
class StatementTable:
    """Teams and unmapped time, the platform's row, and both together.

    Attributes:
        teams, all: sums of the rows as they are shown.
        has_rounding: whether any row needs the column.
    """

    rows: tuple[tuple[StatementRow, StatementCells], ...]
    teams: StatementCells
    platform: StatementCells
    all: StatementCells
    held_ms: int
    has_rounding: bool


def statement_table(rows: Sequence[StatementRow]) -> StatementTable:
    """The table of `statement_rows`, in their order."""
    cells = [(row, _cells(row)) for row in rows]
    teams = _sum([one for row, one in cells if row.team != PLATFORM])
    platform = _sum([one for row, one in cells if row.team == PLATFORM])
    return StatementTable(
        tuple(cells),
        teams,
        platform,
        _sum([teams, platform]),
        sum(row.held_ms for row in rows),
        any(one.rounding.amount for _, one in cells),
    )


def _cells(row: StatementRow) -> StatementCells:
    return StatementCells(
        row.charge.rounded(),
        row.entries.rounded(),
        row.corrections.rounded(),
        row.payable,
    )


def _sum(several: Sequence[StatementCells]) -> StatementCells:
    return StatementCells(
        *(
            sum((getattr(one, name) for one in several), NOTHING)
            for name in ("charge", "entries", "corrections", "payable")
        )
    )


@dataclass(frozen=True, slots=True)
class PartsTable:
    """Parts of a statement that are not its rows, such as days, down to its payable.

    Attributes:
        rows: each with its amount in the currency's places, rounded once.
        other: spread, differences, entries and corrections, which no part has; None if nothing.
        rounding: what the payable is more than all of them; None if nothing.
    """

    rows: tuple[tuple[Item, Money], ...]
    other: Money | None
    rounding: Money | None
    payable: Money


def parts_table(items: Sequence[Item], row: StatementRow) -> PartsTable:
    """Parts of what a team's time is charged, such as its days or workloads.

    Args:
        items: all of them, with amounts in six places.
        row: the statement.
    """
    rows = tuple((item, item.amount.rounded()) for item in items)
    exact = sum((item.amount for item in items), NOTHING)
    other = (row.total - exact).rounded()
    shown = sum((amount for _, amount in rows), other)
    rounding = row.payable - shown
    return PartsTable(
        rows,
        other if other.amount else None,
        rounding if rounding.amount else None,
        row.payable,
    )
