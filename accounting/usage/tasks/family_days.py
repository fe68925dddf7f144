"""Moves days of usage to another family where a label was read since (rules.md N41).

Days by family are kept by triggers (migrations 0015 and 0019), by the families as they are.
"""

from datetime import date, timedelta
from typing import Any

from django.db import connection, transaction

from accounting.kit.locks import lock

_MOVED = """
    UPDATE accounting_workload w SET family = o.next_family, next_family = ''
    FROM (SELECT id, next_family FROM accounting_workload
          WHERE cluster_id = %(cluster)s AND next_family <> ''
          ORDER BY id LIMIT %(most)s FOR UPDATE SKIP LOCKED) o
    WHERE w.id = o.id RETURNING w.id, w.namespace_id
"""
_DAYS = """
    SELECT DISTINCT u.billing_on FROM usage_day u
    WHERE u.cluster_id = %(cluster)s AND u.namespace_id = ANY(%(spaces)s)
      AND u.workload_id = ANY(%(works)s) AND u.billing_on >= (
          SELECT coalesce(to_timestamp(min(p.first_ms) / 1000.0)::date, '-infinity')
          FROM accounting_pod p WHERE p.workload_id = ANY(%(works)s)
      ) - %(near)s::interval
"""
_LINES = """
    SELECT accounting_regroup_lines(c.name, %(days)s::date[], array_agg(n.name::text))
    FROM accounting_cluster c JOIN accounting_namespace n ON n.cluster_id = c.id
    WHERE c.id = %(cluster)s AND n.id = ANY(%(spaces)s) GROUP BY c.name
"""
_NEAR = timedelta(days=2)  # a billing day may begin on another day than UTC's
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
    values: dict[str, Any] = {"cluster": cluster_id, "most": MOST, "near": _NEAR}
    with transaction.atomic(), connection.cursor() as cursor:
        lock("rollup", cluster_id)  # the trigger of a rollup reads families
        cursor.execute(_MOVED, values)
        moved = cursor.fetchall()
        if not moved:
            return 0
        spaces = sorted({space for _, space in moved})
        works = [work for work, _ in moved]
        cursor.execute(_DAYS, values | {"spaces": spaces, "works": works})
        days: list[date] = sorted(day for (day,) in cursor.fetchall())
        if days:
            cursor.execute(
                "SELECT accounting_group_days(%s, %s::date[], %s::bigint[])",
                [cluster_id, days, spaces],
            )
            cursor.execute(_LINES, values | {"days": days, "spaces": spaces})
    return len(moved)
