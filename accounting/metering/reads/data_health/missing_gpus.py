"""Held time without GPUs, and GPUs without samples: by node, of a period.

The rows of the ledger show neither. Time on a node without GPUs is in none of them,
and a GPU that the capacity promises and no sample ever named is free at full price (N16).
"""

from collections.abc import Collection
from typing import Any, NamedTuple

from django.db import connection

from accounting.core.interval import HOUR_MS, WINDOW_MS, Interval

UNSAMPLED_MS = HOUR_MS  # an exporter may start later than its node; longer is a fault
GAP_MS = WINDOW_MS  # the longest step: ends of a hold and of GPUs may differ by it


class NodeTime(NamedTuple):
    """What is wrong on a node.

    Attributes:
        number: pods that held, or GPUs that were never sampled.
        of: GPUs of the node at the end of `period`.
        period: from the first to the last of it.
        ms: GPU time in milliseconds.
    """

    cluster: str
    node: str
    number: int
    of: int
    period: Interval
    ms: int


_UNSAMPLED = """
    WITH there AS (
        SELECT c.name AS cluster, p.node_id, p.gpu_id, g.is_placeholder, p.start_ms,
               coalesce(p.end_ms, c.data_end_ms, %(high)s) AS end_ms
        FROM accounting_gpupresence p
        JOIN accounting_gpu g ON g.id = p.gpu_id
        JOIN accounting_cluster c ON c.id = g.cluster_id
        WHERE (%(cluster)s::bigint IS NULL OR c.id = %(cluster)s) AND p.start_ms < %(high)s
    ), missing AS (
        SELECT cluster, node_id, count(DISTINCT gpu_id) AS gpus,
               min(greatest(start_ms, %(low)s)) AS low, max(least(end_ms, %(high)s)) AS high,
               sum(least(end_ms, %(high)s) - greatest(start_ms, %(low)s)) AS ms
        FROM there
        WHERE is_placeholder AND end_ms > %(low)s AND end_ms - start_ms > %(longest)s
        GROUP BY cluster, node_id
    )
    SELECT m.cluster, n.name, m.gpus,
           (SELECT count(DISTINCT t.gpu_id) FROM there t
            WHERE t.node_id = m.node_id AND t.start_ms < m.high AND t.end_ms >= m.high),
           m.low, m.high, m.ms::bigint
    FROM missing m JOIN accounting_node n ON n.id = m.node_id
    ORDER BY m.cluster, n.name
"""
_WITHOUT = """
    WITH seen AS (
        SELECT s.cluster_id, min(p.first_ms) AS first_ms
        FROM accounting_scrapespan p JOIN accounting_scraper s ON s.id = p.scraper_id
        GROUP BY s.cluster_id
    ), held AS (
        SELECT n.cluster_id, h.node_id, h.pod_id,
               h.units::numeric * h.share_numerator / h.share_denominator AS gpus,
               greatest(h.bound_ms, seen.first_ms, %(low)s) AS low,
               least(coalesce(h.booked_until_ms, h.bound_ms), %(high)s) AS high
        FROM accounting_podhold h
        JOIN accounting_node n ON n.id = h.node_id
        JOIN seen ON seen.cluster_id = n.cluster_id
        WHERE NOT h.is_inferred AND h.bound_ms < %(high)s AND h.booked_until_ms > %(low)s
          AND (%(cluster)s::bigint IS NULL OR n.cluster_id = %(cluster)s)
    ), there AS (
        SELECT node_id, range_agg(int8range(start_ms, end_ms)) AS spans
        FROM accounting_gpupresence
        WHERE node_id IN (SELECT node_id FROM held)
        GROUP BY node_id
    ), uncovered AS (
        SELECT cluster_id, node_id, pod_id, gpus,
               int8multirange(int8range(low, high))
               - coalesce(spans, '{}'::int8multirange) AS spans,
               high - low AS ms
        FROM held LEFT JOIN there USING (node_id)
        WHERE low < high AND NOT coalesce(spans @> int8range(low, high), false)
    ), lost AS (
        SELECT u.*, (SELECT sum(upper(r) - lower(r)) FROM unnest(u.spans) r) AS lost_ms
        FROM uncovered u
    )
    SELECT c.name, n.name, count(DISTINCT l.pod_id), 0, min(lower(l.spans)), max(upper(l.spans)),
           round(sum(l.lost_ms * l.gpus))::bigint
    FROM lost l
    JOIN accounting_cluster c ON c.id = l.cluster_id
    JOIN accounting_node n ON n.id = l.node_id
    WHERE l.lost_ms > %(gap)s OR l.lost_ms = l.ms
    GROUP BY c.name, n.name ORDER BY c.name, n.name
"""


def never_sampled(period: Interval, cluster_id: int | None = None) -> list[NodeTime]:
    """Nodes with GPUs of their capacity that were not sampled for more than an hour.

    Args:
        period: time outside of it does not count, but the hour may begin before it.
        cluster_id: only of this cluster.
    """
    return _rows(_UNSAMPLED, period, cluster_id, {"longest": UNSAMPLED_MS})


def without_gpus(period: Interval, cluster_id: int | None = None) -> list[NodeTime]:
    """Nodes on which pods held GPUs while the node had none; see `never_sampled`."""
    return _rows(_WITHOUT, period, cluster_id, {"gap": GAP_MS})


def _rows(
    query: str, period: Interval, cluster_id: int | None, values: dict[str, Any]
) -> list[NodeTime]:
    values |= {"low": period.start_ms, "high": period.end_ms, "cluster": cluster_id}
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        found: Collection[tuple[Any, ...]] = cursor.fetchall()
    return [
        NodeTime(cluster, node, number, of, Interval(low, high), ms)
        for cluster, node, number, of, low, high, ms in found
    ]
