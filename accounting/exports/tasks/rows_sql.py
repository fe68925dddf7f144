"""The rows of a file as SQL for COPY, in the order of the close hash (money.md M29, M45)."""

from accounting.exports.rules.column_types import CellType, FileColumn
from accounting.exports.sql.file_tables import ExportTable, What
from accounting.months.reads.lines import Booking
from accounting.months.sql.line_text_sql import line_text

# A spreadsheet executes a cell that begins with one of these. It reads full-width forms as the
# plain ones. PostgreSQL stores no NUL.
DANGEROUS = "=+-@\uff1d\uff0b\uff0d\uff20\t\n\r\0"
_DANGEROUS_SQL = "E'=+-@\uff1d\uff0b\uff0d\uff20\\t\\n\\r'"


def copy_rows(
    table: ExportTable, booking: Booking, *, guarded: bool, grouped: bool = True
) -> str:
    """A SELECT of the file's cells, in the order of its rows.

    Parameters: `revision_id`; for lines `first_day`, `day_starts` and `day_ends` (texts by day),
    and `kind` and `teams` of the block; for statements `team` (null: all); for a journal `journal`,
    its rows as JSON; and those of the cells.

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
    if table.what is What.JOURNAL:
        return f"""SELECT {cells} FROM jsonb_array_elements(%(journal)s::jsonb)
            WITH ORDINALITY AS l(cells, number) ORDER BY l.number"""
    lines = _ordered(table, booking, grouped=grouped)
    for derived in table.derived:
        added = ", ".join(f"{sql} AS {name}" for name, sql in derived.items())
        lines = f"SELECT l.*, {added} FROM ({lines}) l OFFSET 0"
    return f"SELECT {cells} FROM ({lines}) l"


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
    # Most texts begin with a letter, or are empty.
    return (
        f"CASE WHEN ascii({cell}) BETWEEN {ord('A')} AND {ord('z')} THEN {cell}"
        f" WHEN {cell} = '' THEN NULL"
        f" WHEN strpos({_DANGEROUS_SQL}, left({cell}, 1)) > 0 THEN '''' || {cell} ELSE {cell} END"
    )
