"""Applies the current prices to rollup rows whose facts have expired.

Values that a rollup does not store stay unchanged: teams, and the profiles of instances that
no price distinguished.
"""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from accounting.prices.sql.charge_sql import KEY_COLUMNS, RATE_COLUMNS, SUMMED_COLUMNS
from accounting.prices.sql.price_sql import PRICES

_KEY = ", ".join(KEY_COLUMNS)
_WRITTEN = ", ".join((*SUMMED_COLUMNS, *RATE_COLUMNS))
_SUMS = ", ".join(f"sum(c.{name})::bigint AS {name}" for name in SUMMED_COLUMNS)


def rows(table: str, kept: Sequence[str], where: str, values: dict[str, Any]) -> None:
    """Replace some rows of one cluster, in the current transaction.

    Args:
        table: a table with the columns of a charge.
        kept: columns of its key that not all rollups have.
        where: SQL condition over `u`: the rows.
        values: `cluster`; `cuts` and `days` of the time of the rows; the parameters of `where`.
    """
    names = ("cluster_id", *kept, *KEY_COLUMNS[:-2])
    key = ", ".join(f"c.{name}" for name in names)
    further = ", ".join(("cluster_id", *kept))
    columns = f"{further}, {_KEY}, {_WRITTEN}"
    with connection.cursor() as cursor:
        cursor.execute(_again(table, key, where), values)
        cursor.execute(
            f"DELETE FROM {table} u WHERE u.cluster_id = %(cluster)s AND {where}",
            values,
        )
        cursor.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM again")
        cursor.execute("DROP TABLE again")


def _again(table: str, key: str, where: str) -> str:
    """SQL that creates the table `again`: rows with current prices; equal rows are merged."""
    return f"""
CREATE TEMPORARY TABLE again ON COMMIT DROP AS
WITH piece AS (
    SELECT billing_on, min(at) AS at
    FROM unnest(%(cuts)s::timestamptz[], %(days)s::date[]) AS t(at, billing_on)
    GROUP BY billing_on
), c AS (
    SELECT u.*, coalesce(t.at, (%(cuts)s::timestamptz[])[1]) AS at,
           coalesce(p.profile, '') AS profile
    FROM {table} u
    LEFT JOIN piece t USING (billing_on)
    LEFT JOIN accounting_unitprice p ON p.id = u.price_id
    WHERE u.cluster_id = %(cluster)s AND {where}
)
SELECT {key},
       coalesce((line).id, 0) AS price_id, coalesce((own).id, 0) AS gpu_price_id, {_SUMS},
       max((line).rate_per_gpu_hour) AS rate, max((paid).rate_per_gpu_hour) AS cost,
       max((own).rate_per_gpu_hour) AS gpu_rate, max((paid).rate_per_gpu_hour) AS gpu_cost,
       coalesce(max((line).currency), '') AS currency
FROM c CROSS JOIN LATERAL ({PRICES}) prices
GROUP BY {key}, (line).id, (own).id
"""
