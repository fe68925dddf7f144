"""The rows of a file as SQL for COPY, in the order of the close hash (money.md M29, M45)."""

from accounting.domain.core.file_columns import CellType, FileColumn
from accounting.exports.tables import ExportTable, What
from accounting.queries.finance.months.lines import Booking
from accounting.rating.line_text_sql import line_text

# A spreadsheet executes a cell that begins with one of these. It reads full-width forms as the
# plain ones. PostgreSQL stores no NUL.
DANGEROUS = "=+-@\uff1d\uff0b\uff0d\uff20\t\n\r\0"
_DANGEROUS_SQL = "E'=+-@\uff1d\uff0b\uff0d\uff20\\t\\n\\r'"


def copy_rows(
    table: ExportTable, booking: Booking, *, guarded: bool, grouped: bool = True
) -> str:
    """A SELECT of the file's cells, in the order of its rows.

    Parameters: `revision_id`; for lines `first_day`, `day_starts` and `day_ends` (UTC, by day), and
    `kind` and `teams` of the block; for statements `team` (null: all); and those of the cells.

    Args:
        guarded: text that a spreadsheet would execute gets a leading `'`.
        grouped: only the lines of a block; else of all, sorted at once.
    """
    cells = ", ".join(
        f'{_cell(table, column, guarded=guarded)} AS "{column.name}"'
        for column in table.columns
    )
    if table.what is What.STATEMENTS:
        return f"""SELECT {cells} FROM (
            SELECT * FROM accounting_statement
            WHERE revision_id = %(revision_id)s
              AND (%(team)s::text IS NULL OR team = %(team)s)
            ORDER BY team COLLATE "C") s"""
    return f"""SELECT {cells} FROM (
            SELECT {_with(table)} FROM ({_ordered(table, booking, grouped=grouped)}) l OFFSET 0
        ) l
        LEFT JOIN LATERAL (
            SELECT {_instant("day_starts")} AS starts_at, {_instant("day_ends")} AS ends_at
        ) d ON true"""


def _with(table: ExportTable) -> str:
    """The columns of a line, and derived ones: computed once for all cells of a row."""
    derived = (f"{sql} AS {name}" for name, sql in table.derived.items())
    return ", ".join(("l.*", *derived))


def _instant(days: str) -> str:
    """Start or end of the line's billing day: an array by day is faster than a join."""
    found = f"(%({days})s::timestamp[])[l.billing_on - %(first_day)s::date + 1]"
    return f"""to_char({found}, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"""


def _ordered(table: ExportTable, booking: Booking, *, grouped: bool) -> str:
    """The lines alone are sorted: their cells are written afterwards, row by row."""
    group = " AND l.kind = %(kind)s AND l.team = ANY(%(teams)s)" if grouped else ""
    charged = " AND l.charge IS NOT NULL" if table.has_charge else ""
    return f"""SELECT l.* FROM {booking.table} l
        WHERE l.revision_id = %(revision_id)s{group}{charged}
        ORDER BY {line_text("l")} COLLATE "C" """


def group_totals(table: ExportTable, booking: Booking) -> str:
    """Rows, charge and time without money of each kind and team, in the order of the file.

    Parameters: `revision_id`, and `only_team` (null: all).
    """
    counted = "count(charge)" if table.has_charge else "count(*)"
    return f"""SELECT kind, team, {counted} AS row_count, coalesce(sum(charge), 0) AS charge,
               coalesce(sum(ms) FILTER (WHERE charge IS NULL), 0)::bigint AS without_money_ms
        FROM {booking.table}
        WHERE revision_id = %(revision_id)s
          AND (%(only_team)s::text IS NULL OR team = %(only_team)s)
        GROUP BY kind, team ORDER BY kind COLLATE "C", team COLLATE "C" """


def _cell(table: ExportTable, column: FileColumn, *, guarded: bool) -> str:
    cell = table.cells[column.name]
    if column.type is not CellType.TEXT:
        return cell
    if not guarded or column.name in table.safe:
        return f"nullif({cell}, '')"
    # Most texts begin with a letter: two comparisons of bytes settle that.
    return (
        f"""CASE WHEN {cell} >= 'A' COLLATE "C" AND {cell} < '{{' COLLATE "C" THEN {cell}"""
        f""" WHEN strpos({_DANGEROUS_SQL}, left(nullif({cell}, ''), 1)) > 0"""
        f""" THEN '''' || {cell} ELSE nullif({cell}, '') END"""
    )
