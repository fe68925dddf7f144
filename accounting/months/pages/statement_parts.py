"""The statements of a month, one page of them, sorted as in the address."""

from collections.abc import Mapping

from accounting.core.charge_lines import NAMES
from accounting.core.money import amount_of
from accounting.kit.pages.paging import ListPage, paged
from accounting.months.reads.statement_table import StatementTable
from accounting.usage.pages.tables import Sorter, ordered

COLUMNS: dict[str, Sorter] = {  # of a row and its cells
    "team": lambda one: one[0].name.casefold(),
    "held": lambda one: one[0].held_ms,
    "charge": lambda one: one[1].charge.amount,
    "payable": lambda one: one[1].payable.amount,
    "before": lambda one: amount_of(one[0].before),
}


def statement_page(table: StatementTable, query: Mapping[str, str]) -> ListPage:
    """Teams by a column; unmapped time and the platform are the last rows of the last page."""
    teams = [one for one in table.rows if one[0].team not in NAMES]
    others = [one for one in table.rows if one[0].team in NAMES]
    lines = ordered(teams, query.get("sort", ""), COLUMNS, "team")
    return paged([*lines, *others], query)
