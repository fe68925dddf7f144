"""The lifecycle of each node, and the hours whose price changes with it (rules.md N26).

The lifecycle is looked up when an hour is rolled up, not stored with the facts: if samples show it
only after the hour was rolled up, no fact changes, and nothing else would roll the hour up again.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from django.db import connection

from accounting.access.models.labels import LabelPurpose, LabelSpelling
from accounting.core.interval import FAR_MS, to_ms
from accounting.kit.locks import lock
from accounting.metering.models.cluster import Cluster, NodeFact
from accounting.metering.sources.catalogue import lifecycle_of
from accounting.metering.sql.dirty_hours_sql import mark_spans
from accounting.metering.tasks.evidence.ids import BATCH

Life = Sequence[
    tuple[int, str]
]  # since when (ms), and the lifecycle; the first applies to all time before


def spelled_by() -> tuple[str, ...]:
    """The node labels for the lifecycle in the setup file, in order."""
    rows = LabelSpelling.objects.filter(purpose=LabelPurpose.LIFECYCLE)
    return tuple(rows.order_by("position").values_list("label", flat=True))


def respell() -> None:
    """Determine every node's lifecycle from its labels again, using the current setup file.

    In the caller's transaction: no other process observes a cluster in the meantime.
    """
    own = spelled_by()
    for cluster_id in Cluster.objects.order_by("pk").values_list("pk", flat=True):
        lock("evidence", cluster_id)
        facts = list(NodeFact.objects.filter(node__cluster_id=cluster_id))
        before = lifecycles_of(facts)
        first = _first_labels(facts)
        changed = []
        for fact in facts:
            wanted = lifecycle_of(_own(fact.labels) or first[fact.node_id], own)
            if fact.lifecycle != wanted:
                fact.lifecycle = wanted
                changed.append(fact)
        NodeFact.objects.bulk_update(changed, ["lifecycle"], batch_size=BATCH)
        mark_changed(cluster_id, {fact.node_id for fact in changed}, before)


def _own(labels: Mapping[str, str]) -> Mapping[str, str]:
    """The labels that kube-state showed, without what samples showed of partitions."""
    return {key: labels[key] for key in labels if key.startswith("label_")}


def _first_labels(facts: Iterable[NodeFact]) -> dict[int, Mapping[str, str]]:
    """The first labels of each node, which apply to the time before them (N24)."""
    found: dict[int, Mapping[str, str]] = {}
    for fact in sorted(facts, key=lambda f: f.valid_from):
        if not found.get(fact.node_id):
            found[fact.node_id] = _own(fact.labels)
    return found


def lifecycles_of(facts: Iterable[NodeFact]) -> dict[int, list[tuple[int, str]]]:
    """The lifecycles of each node in order, by node."""
    found: dict[int, list[tuple[int, str]]] = {}
    for fact in sorted(facts, key=lambda f: f.valid_from):
        life = found.setdefault(fact.node_id, [])
        life.append((to_ms(fact.valid_from), fact.lifecycle))
    return found


def differing(before: Life, after: Life) -> list[tuple[int, int]]:
    """[start, end) in ms where two versions of a node's lifecycle differ."""
    edges = sorted({0, FAR_MS, *(at for at, _ in before), *(at for at, _ in after)})
    return [
        (start, end)
        for start, end in pairwise(edges)
        if _at(before, start) != _at(after, start)
    ]


def _at(life: Life, instant_ms: int) -> str:
    latest = [name for since, name in life if since <= instant_ms]
    if latest:
        return latest[-1]
    return life[0][1] if life else "unknown"


def mark_changed(
    cluster_id: int, node_ids: Collection[int], before: Mapping[int, Life]
) -> None:
    """Mark the hours dirty in which a GPU was on a node whose lifecycle changed."""
    after = lifecycles_of(NodeFact.objects.filter(node_id__in=node_ids))
    spans = [
        (node, start, end)
        for node in sorted(node_ids)
        for start, end in differing(before.get(node, ()), after.get(node, ()))
    ]
    if not spans:
        return
    nodes, starts, ends = (list(column) for column in zip(*spans, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(
            _MARK,
            {
                "nodes": nodes,
                "starts": starts,
                "ends": ends,
                "cluster": cluster_id,
                "reason": "lifecycle",
            },
        )


_MARK = mark_spans("""
    SELECT greatest(t.start_ms, p.start_ms) AS low_ms,
           least(t.end_ms, coalesce(p.end_ms, t.end_ms)) AS high_ms
    FROM unnest(%(nodes)s::bigint[], %(starts)s::bigint[], %(ends)s::bigint[])
        AS t(node_id, start_ms, end_ms)
    JOIN accounting_gpupresence p USING (node_id)
""")
