"""Stores the newest state of each node, from which it is explained why work waits."""

from collections.abc import Sequence

import msgspec
from django.db import connection

from accounting.domain.core.interval import Interval
from accounting.domain.inventory.node_states import newest_states
from accounting.domain.samples.series import Reading
from accounting.domain.units.resources import sanitised
from accounting.models import Cluster
from accounting.queries.resources import added_resources


def store(cluster: Cluster, readings: Sequence[Reading], period: Interval) -> None:
    """Keep the newest scrape of each node, in a transaction; order does not matter."""
    added = {sanitised(resource): resource for resource in added_resources()}
    rows = [
        (
            cluster.pk,
            name[:253],
            one.at_ms,
            _json(one.capacity),
            _json(one.allocatable),
            _json(sorted(one.taints)),
            one.is_cordoned,
        )
        for name, one in sorted(newest_states(readings, period, added).items())
    ]
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.executemany(_STORE, rows)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


_STORE = """
    INSERT INTO accounting_nodestate AS known
        (cluster_id, name, at_ms, capacity, allocatable, taints, is_cordoned)
    VALUES (%s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (cluster_id, name) DO UPDATE SET
        at_ms = excluded.at_ms, capacity = excluded.capacity,
        allocatable = excluded.allocatable, taints = excluded.taints,
        is_cordoned = excluded.is_cordoned
    WHERE excluded.at_ms > known.at_ms
"""
