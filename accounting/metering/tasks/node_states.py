"""Stores the newest state of each node, from which it is explained why work waits.

Nodes seldom change: a state that is shown again is not written again. One row of the cluster says
when states were last shown; a node that is missing in a newer scrape has the time of its last one.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from django.db import connection

from accounting.core.interval import Interval
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.node_state import NodeState, NodeStateRead
from accounting.metering.reads.resources import added_resources
from accounting.metering.rules.inventory.node_states import ScrapedNode, newest_states
from accounting.metering.rules.samples.series import Reading
from accounting.metering.rules.units.resources import sanitised


class _KnownNode(NamedTuple):
    """What is compared of a stored row."""

    digest: str
    missing_ms: int | None


def store(cluster: Cluster, readings: Sequence[Reading], period: Interval) -> None:
    """Keep the newest scrape of each node, in a transaction; order does not matter."""
    added = {sanitised(resource): resource for resource in added_resources()}
    found = {
        name[:253]: one for name, one in newest_states(readings, period, added).items()
    }
    if not found:
        return
    read = NodeStateRead.objects.filter(cluster=cluster).first()
    read_ms = read.at_ms if read else 0
    newest_ms = max(one.at_ms for one in found.values())
    known = _known(cluster)
    rows = list(_changed(cluster.pk, known, found, read_ms, newest_ms))
    with connection.cursor() as cursor:
        cursor.executemany(_STORE, rows)
    if newest_ms <= read_ms:
        return
    missing = [
        name
        for name, row in known.items()
        if name not in found and row.missing_ms is None
    ]
    if missing:
        gone = NodeState.objects.filter(cluster=cluster, name__in=missing)
        gone.update(missing_ms=read_ms)
    NodeStateRead.objects.update_or_create(
        cluster=cluster, defaults={"at_ms": newest_ms}
    )


def _known(cluster: Cluster) -> dict[str, _KnownNode]:
    rows = NodeState.objects.filter(cluster=cluster)
    return {
        name: _KnownNode(digest, missing_ms)
        for name, digest, missing_ms in rows.values_list("name", *_KnownNode._fields)
    }


def _changed(
    cluster_id: int,
    known: Mapping[str, _KnownNode],
    found: Mapping[str, ScrapedNode],
    read_ms: int,
    newest_ms: int,
) -> Iterator[tuple[int | str | bool | None, ...]]:
    """The rows of nodes that were not known, changed, or were missing, in the order of names.

    Args:
        cluster_id: of the nodes.
        known: as stored.
        found: of one period, which may be older than what is stored.
        read_ms: the newest scrape that is stored.
        newest_ms: the newest scrape of the period.
    """
    for name, one in sorted(found.items()):
        row = known.get(name)
        if row is not None:
            shown_ms = read_ms if row.missing_ms is None else row.missing_ms
            if one.at_ms <= shown_ms:
                continue
        state = (
            *(_json(one.capacity), _json(one.allocatable)),
            *(_json(sorted(one.taints)), one.is_cordoned),
        )
        now = _KnownNode(
            hashlib.md5(repr(state).encode(), usedforsecurity=False).hexdigest(),
            None if newest_ms > read_ms else one.at_ms,
        )
        if now != row:
            yield cluster_id, name, one.at_ms, *state, *now


def _json(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


_STORE = """
    INSERT INTO accounting_nodestate
        (cluster_id, name, at_ms, capacity, allocatable, taints, is_cordoned, digest,
         missing_ms)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (cluster_id, name) DO UPDATE SET
        at_ms = excluded.at_ms, capacity = excluded.capacity,
        allocatable = excluded.allocatable, taints = excluded.taints,
        is_cordoned = excluded.is_cordoned, digest = excluded.digest,
        missing_ms = excluded.missing_ms
"""
