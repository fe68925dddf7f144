"""Moves days of usage to another family where a label was read since (rules.md N41).

Days by family are kept by triggers (migrations 0015, 0019 and 0026), by the families as they are.
"""

from datetime import date
from typing import Any

from django.db import connection, transaction

from accounting.kit.locks import lock

# A close reads families and then books: who moves them waits for it, and it for who moves them.
_HOLD = "LOCK TABLE ONLY usage_day IN ROW EXCLUSIVE MODE"
_MOVED = """
    UPDATE accounting_workload w SET family = o.next_family, next_family = ''
    FROM (SELECT id, family, next_family FROM accounting_workload
          WHERE cluster_id = %(cluster)s AND next_family <> ''
          ORDER BY id LIMIT %(most)s FOR UPDATE SKIP LOCKED) o
    WHERE w.id = o.id RETURNING w.namespace_id, o.family
"""
# Days with the old family: a workload may have lost its time, or its pods, since it was booked.
_DAYS = """
    SELECT u.billing_on FROM usage_family_day u
    WHERE u.cluster_id = %(cluster)s AND u.namespace_id = ANY(%(spaces)s)
      AND u.family = ANY(%(families)s)
    UNION
    SELECT b.billing_on FROM charge_family_day b
    JOIN accounting_cluster c ON c.name = b.cluster
    JOIN accounting_namespace n ON n.cluster_id = c.id AND n.name = b.namespace
    WHERE c.id = %(cluster)s AND n.id = ANY(%(spaces)s) AND b.family = ANY(%(families)s)
"""
_LINES = """
    SELECT accounting_regroup_lines(name, %(days)s::date[], spaces),
           accounting_regroup_hours(name, %(days)s::date[], spaces)
    FROM (SELECT c.name, array_agg(n.name::text) AS spaces
          FROM accounting_cluster c JOIN accounting_namespace n ON n.cluster_id = c.id
          WHERE c.id = %(cluster)s AND n.id = ANY(%(spaces)s) GROUP BY c.name) o
"""
MOST = 1000  # workloads in one transaction


def move_families(cluster_id: int) -> int:
    """Give workloads their next family, and their days with them; returns how many.

    Until then every report has the family of before. One transaction for each thousand.
    """
    count = 0
    while moved := _move(cluster_id):
        count += moved
    return count


def _move(cluster_id: int) -> int:
    values: dict[str, Any] = {"cluster": cluster_id, "most": MOST}
    with transaction.atomic(), connection.cursor() as cursor:
        lock("rollup", cluster_id)  # the trigger of a rollup reads families
        cursor.execute(_HOLD)
        cursor.execute(_MOVED, values)
        moved = cursor.fetchall()
        if not moved:
            return 0
        spaces, families = ({pair[n] for pair in moved} for n in range(2))
        values |= {"spaces": sorted(spaces), "families": sorted(families)}
        cursor.execute(_DAYS, values)
        days: list[date] = sorted(day for (day,) in cursor.fetchall())
        if days:
            cursor.execute(
                "SELECT accounting_group_days(%s, %s::date[], %s::bigint[])",
                [cluster_id, days, values["spaces"]],
            )
            cursor.execute(_LINES, values | {"days": days})
    return len(moved)
