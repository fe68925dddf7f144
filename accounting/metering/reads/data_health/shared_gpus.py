"""GPUs in two clusters at the same time: one of the two names is wrong (rules.md N39).

A GPU without an identifier is named after its node (`<node>/amd-0`, `<node>/0`): such names are
not compared across clusters.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

from django.db import connection

from accounting.core.interval import Interval


class ClusterPresence(NamedTuple):
    """The presence of a GPU in a cluster in a period, up to the end of that cluster's data."""

    cluster: str
    uuid: str
    period: Interval


_PRESENCES = """
    SELECT c.name, g.uuid, greatest(p.start_ms, %(start)s) AS low,
           least(coalesce(p.end_ms, c.data_end_ms), %(end)s) AS high
    FROM accounting_gpu g
    JOIN accounting_cluster c ON c.id = g.cluster_id
    JOIN accounting_gpupresence p ON p.gpu_id = g.id
    WHERE g.uuid = ANY(%(uuids)s) AND strpos(g.uuid, '/') = 0
      AND p.start_ms < %(end)s AND coalesce(p.end_ms, c.data_end_ms) > %(start)s
    ORDER BY c.id, g.uuid, low
"""


def presences_of(uuids: Collection[str], period: Interval) -> list[ClusterPresence]:
    """The presences of GPUs in a period, in the order in which their clusters became known.

    Args:
        uuids: of the GPUs.
        period: half-open; presences are cut to it.
    """
    values: dict[str, Any] = {
        "uuids": sorted(uuids),
        "start": period.start_ms,
        "end": period.end_ms,
    }
    with connection.cursor() as cursor:
        cursor.execute(_PRESENCES, values)
        return [
            ClusterPresence(name, uuid, Interval(low, high))
            for name, uuid, low, high in cursor.fetchall()
        ]


_SHARED = """
    SELECT other.name, count(DISTINCT mine.uuid), min(mine.uuid)
    FROM accounting_cluster own
    JOIN accounting_gpu mine ON mine.cluster_id = own.id AND strpos(mine.uuid, '/') = 0
    JOIN accounting_gpu theirs
      ON theirs.uuid = mine.uuid AND theirs.cluster_id < mine.cluster_id
    JOIN accounting_cluster other ON other.id = theirs.cluster_id
    JOIN accounting_gpupresence a ON a.gpu_id = mine.id
    JOIN accounting_gpupresence b ON b.gpu_id = theirs.id
     AND a.start_ms < coalesce(b.end_ms, other.data_end_ms)
     AND b.start_ms < coalesce(a.end_ms, own.data_end_ms)
    WHERE own.id = %s
    GROUP BY other.name ORDER BY count(DISTINCT mine.uuid) DESC, other.name
"""


class Shared(NamedTuple):
    """An older cluster that has GPUs of another one at the same time."""

    cluster: str
    gpus: int
    example: str  # UUID of one of them


def shared_with(cluster_id: int) -> list[Shared]:
    """The older clusters that have GPUs of this one at the same time."""
    with connection.cursor() as cursor:
        cursor.execute(_SHARED, [cluster_id])
        return [Shared(*row) for row in cursor.fetchall()]
