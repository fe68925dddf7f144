"""The nodes that are there now, by kind: what they last said of themselves, and their GPUs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connection

from accounting.core.read_once import read_together


@dataclass(frozen=True, slots=True)
class AlikeNodes:
    """Present nodes that are alike in everything that counts a fleet.

    Attributes:
        gpus: present GPUs of each; 0 for nodes that never had any.
        capacity: units by resource, as kube-state spells it; None if the nodes were never sampled.
        labels: `NodeFact.gpu_labels`.
    """

    nodes: int
    gpus: int
    capacity: Mapping[str, int] | None
    labels: Mapping[str, str]
    model: str
    lifecycle: str


_GROUPS = """
    WITH present AS (
        SELECT node_id, count(*) AS gpus
        FROM (SELECT DISTINCT node_id, gpu_id FROM accounting_gpupresence WHERE end_ms IS NULL) p
        GROUP BY node_id
    ), latest AS (
        SELECT DISTINCT ON (f.node_id) f.node_id, f.capacity, f.gpu_labels, f.model, f.lifecycle
        FROM accounting_nodefact f JOIN accounting_node n ON n.id = f.node_id
        WHERE n.cluster_id = ANY(%(clusters)s)
        ORDER BY f.node_id, f.valid_from DESC
    )
    SELECT n.cluster_id, count(*), coalesce(p.gpus, 0), f.capacity::text, f.gpu_labels::text,
           coalesce(f.model, ''), coalesce(f.lifecycle, '')
    FROM accounting_node n
    LEFT JOIN present p ON p.node_id = n.id
    LEFT JOIN latest f ON f.node_id = n.id
    WHERE n.cluster_id = ANY(%(clusters)s) AND (p.node_id IS NOT NULL OR (
        f.node_id IS NOT NULL
        AND NOT EXISTS (SELECT FROM accounting_gpupresence g WHERE g.node_id = n.id)))
    GROUP BY n.cluster_id, p.gpus, f.capacity, f.gpu_labels, f.model, f.lifecycle
    ORDER BY n.cluster_id, min(n.id)
"""


@read_together
def alike_nodes(clusters: Sequence[int]) -> Mapping[int, Sequence[AlikeNodes]]:
    """The nodes of a cluster with a present GPU, or that never had any, in order of their ids."""
    found: dict[int, list[AlikeNodes]] = {one: [] for one in clusters}
    with connection.cursor() as cursor:
        cursor.execute(_GROUPS, {"clusters": list(clusters)})
        for cluster, nodes, gpus, capacity, labels, *named in cursor.fetchall():
            facts = (
                None if capacity is None else json.loads(capacity),
                json.loads(labels or "{}"),
            )
            found[cluster].append(AlikeNodes(nodes, gpus, *facts, *named))
    return found
