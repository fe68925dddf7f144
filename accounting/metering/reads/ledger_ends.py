"""Where stored usage begins and ends, by one row of each cluster."""

from datetime import date

from django.db import connection


def oldest(table: str, column: str, ordered_by: str) -> str:
    """A scalar subquery: the first value of a column of a partitioned table.

    By cluster, in the order of its key: a minimum over all clusters would read every row.
    """
    return _end("min", table, column, ordered_by)


def newest(table: str, column: str) -> str:
    """A scalar subquery: the last value of the column that follows the cluster in a table's key."""
    return _end("max", table, column, f"{column} DESC")


def _end(which: str, table: str, column: str, ordered_by: str) -> str:
    return f"""(
        SELECT {which}(f.{column}) FROM accounting_cluster c CROSS JOIN LATERAL (
            SELECT {column} FROM {table} o WHERE o.cluster_id = c.id
            ORDER BY {ordered_by} LIMIT 1
        ) f
    )"""  # names of this project


def first_billing_day() -> date | None:
    """The first billing day with usage; None without any."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT min(billing_on) FROM usage_day_total")
        found: date | None = cursor.fetchone()[0]
        return found
