"""The check of a close that reads bills of providers: is the cost final? (money.md M27, M43)."""

from decimal import Decimal
from typing import Any

from django.db import connection

from accounting.months.rules.close_checks import Cause
from accounting.months.tasks.periods import PeriodTerms, first_day, previous_period

# Bills with lines on days of the month, as a bill of the next month has for corrections.
_NOT_FINAL = """
    SELECT 'account ' || b.account || ', bills not final', count(*)
    FROM accounting_bill b
    WHERE b.replaced_at IS NULL AND NOT b.is_final AND EXISTS (
        SELECT FROM accounting_billline l
        WHERE l.bill_id = b.id AND l.cluster_id IS NOT NULL
          AND l.billing_on >= %(first)s AND l.billing_on < %(after)s
    )
    GROUP BY b.account ORDER BY b.account
"""
# What had a bill in the month before and has GPU time, but no bill, in this one. A line without a
# node is of the whole cluster.
_MISSING = """
    WITH line AS MATERIALIZED (
        SELECT DISTINCT l.cluster_id, l.node_id, l.billing_on >= %(first)s AS is_now
        FROM accounting_billline l
        JOIN accounting_bill b ON b.id = l.bill_id AND b.replaced_at IS NULL
        WHERE l.cluster_id IS NOT NULL
          AND l.billing_on >= %(before)s AND l.billing_on < %(after)s
    ), missing AS (
        SELECT h.cluster_id, h.node_id FROM line h
        WHERE NOT h.is_now AND NOT EXISTS (
            SELECT FROM line n
            WHERE n.is_now AND n.cluster_id = h.cluster_id
              AND (n.node_id = h.node_id OR n.node_id IS NULL)
        )
    )
    SELECT 'cluster ' || c.name || CASE WHEN m.node_id IS NULL
               THEN ', accounts without a bill' ELSE ', nodes without a bill' END AS subject,
           count(*)
    FROM missing m
    JOIN accounting_cluster c ON c.id = m.cluster_id
    WHERE EXISTS (
        SELECT FROM usage_gpu_day u
        WHERE u.cluster_id = m.cluster_id AND (m.node_id IS NULL OR u.node_id = m.node_id)
          AND u.billing_on >= %(first)s AND u.billing_on < %(after)s
    )
    GROUP BY subject ORDER BY subject
"""


def causes(terms: PeriodTerms) -> list[Cause]:
    """Bills that are not final, and nodes and clusters whose bill is missing; with their number.

    Nothing where no bill was ever imported: then the cost is estimated, and nobody waits for one.
    """
    values: dict[str, Any] = {
        "before": first_day(previous_period(terms.name)),
        "first": terms.first,
        "after": terms.after,
    }
    found: list[Cause] = []
    with connection.cursor() as cursor:
        for query in (_NOT_FINAL, _MISSING):
            cursor.execute(query, values)
            found += [Cause(subject, Decimal(count)) for subject, count in cursor]
    return found
