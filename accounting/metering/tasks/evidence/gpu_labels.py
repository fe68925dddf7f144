"""Loads the pods that GPU samples named: near a period, and in distant gaps of kube-state.

Labels from an hour before to an hour after determine which GPU a hold has there; counts of other
hours are stored with the hold (`hold_labels`). While kube-state is not seen, labels create and
continue holds (rules.md N13): for such a gap the first and the last samples of each label are
loaded, regardless of its length.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from accounting.core.interval import FAR_MS, HOUR_MS, Interval, to_instant, to_ms
from accounting.metering.mapping import unpack_steps, unpack_times
from accounting.metering.models.cluster import Cluster
from accounting.metering.rules.holds.label_counts import whole_hours
from accounting.metering.rules.inventory.labels import is_own, union_of
from accounting.metering.rules.inventory.nodes import node_facts
from accounting.metering.rules.inventory.records import (
    Inventory,
    LabelKey,
    Naming,
    SampleSpan,
    ScrapeLocation,
    ShownPod,
    merged,
)
from accounting.metering.rules.samples.series import PodName
from accounting.metering.tasks.evidence.ids import Ids, rows_of

LABEL_REACH_MS = HOUR_MS


def label_period(period: Interval) -> Interval:
    """The hours whose GPU labels are all loaded for a period."""
    hours = whole_hours(period)
    start_ms = max(0, hours.start_ms - LABEL_REACH_MS)
    return Interval(start_ms, hours.end_ms + LABEL_REACH_MS)


def reach_of(inventory: Inventory, near: Interval) -> Interval:
    """Some hours, and every gap of kube-state that overlaps them, in full."""
    spans = [
        SampleSpan(span.first_ms, span.last_ms + span.step_ms, 1)
        for record in inventory.scrapers.values()
        for span in record.spans
    ]
    seen = merged(spans)
    start_ms, end_ms = near.start_ms, near.end_ms
    silent_ms, last_ms = 0, FAR_MS - FAR_MS % HOUR_MS
    for span in [*seen, SampleSpan(last_ms, last_ms, 1)]:
        if silent_ms < near.end_ms and span.first_ms > near.start_ms:
            start_ms = min(start_ms, silent_ms)
            end_ms = max(end_ms, span.first_ms)
        silent_ms = span.last_ms
    return Interval(start_ms, end_ms)


_FIELDS = """
    g.uuid, n.name, l.scraper_id, l.instance, l.vgpu, l.namespace, l.pod, l.pod_uid,
    l.is_plain, l.profile, l.hour_start, l.times, l.steps
"""
_FROM = """
    accounting_gpulabelhour l
    JOIN accounting_gpu g ON g.id = l.gpu_id
    JOIN accounting_node n ON n.id = l.node_id
"""
_NEAR = f"""
    SELECT {_FIELDS} FROM {_FROM}
    WHERE g.cluster_id = %(cluster)s
      AND l.hour_start >= %(since)s AND l.hour_start < %(until)s
    ORDER BY l.hour_start
"""


def load_near(cluster: Cluster, near: Interval, inventory: Inventory, ids: Ids) -> None:
    """Every label of some hours."""
    rows = rows_of(_NEAR, cluster, since=near.start, until=near.end)
    inventory.gpu_labels = _labels(rows, ids)


def _labels(rows: Iterable[tuple[Any, ...]], ids: Ids) -> dict[LabelKey, Naming]:
    by_id = {pk: key for key, pk in ids.scrapers.items()}
    parts: dict[LabelKey, list[Naming]] = defaultdict(list)
    for row in rows:
        uuid, node, scraper, instance, vgpu, *named, is_plain, profile = row[:-3]
        hour, times, steps = row[-3:]
        key = LabelKey(
            uuid,
            ScrapeLocation(node, by_id[scraper]),
            instance,
            vgpu,
            PodName(*named),
            is_plain,
            profile,
        )
        shown = unpack_times(bytes(times), to_ms(hour))
        parts[key].append(Naming(shown, unpack_steps(bytes(steps))))
    return {key: union_of(found) for key, found in parts.items()}


_OF_NAMES = f"""
    SELECT {_FIELDS} FROM {_FROM}
    WHERE g.cluster_id = %(cluster)s
      AND l.hour_start >= %(since)s AND l.hour_start < %(until)s
      AND ((l.namespace, l.pod) IN (SELECT * FROM unnest(%(spaces)s::text[], %(pods)s::text[]))
           OR l.node_id = ANY(%(nodes)s))
    ORDER BY l.hour_start
"""


def labels_of_names(
    cluster: Cluster,
    names: Collection[tuple[str, str]],
    hours: Interval,
    ids: Ids,
    nodes: Iterable[str] = (),
) -> dict[LabelKey, Naming]:
    """Every label of some hours that names pods of these names, or is from these nodes."""
    spaces, pods = zip(*sorted(names), strict=True) if names else ((), ())
    rows = rows_of(
        _OF_NAMES,
        cluster,
        since=hours.start,
        until=hours.end,
        spaces=list(spaces),
        pods=list(pods),
        nodes=[ids.nodes[name] for name in nodes],
    )
    return _labels(rows, ids)


_IS_FAR = """
    g.cluster_id = %(cluster)s
    AND l.hour_start >= %(since)s AND l.hour_start < %(until)s
    AND (l.hour_start < %(near_start)s OR l.hour_start >= %(near_end)s)
    AND (l.namespace, l.pod) IN (SELECT * FROM unnest(%(spaces)s::text[], %(pods)s::text[]))
"""
_KEY = """
    {0}.gpu_id, {0}.node_id, {0}.scraper_id, {0}.instance, {0}.profile, {0}.vgpu,
    {0}.namespace, {0}.pod, {0}.pod_uid, {0}.is_plain
"""
_FAR_ENDS = f"""
    WITH ends AS (
        SELECT {_KEY.format("l")}, min(l.hour_start) AS first, max(l.hour_start) AS last
        FROM accounting_gpulabelhour l JOIN accounting_gpu g ON g.id = l.gpu_id
        WHERE {_IS_FAR}
        GROUP BY l.hour_start < %(near_start)s, {_KEY.format("l")}
    )
    SELECT {_FIELDS} FROM {_FROM}
    JOIN ends ON ({_KEY.format("l")}) = ({_KEY.format("ends")})
        AND l.hour_start IN (ends.first, ends.last)
"""
_FAR_WHOLE = f"""
    SELECT {_FIELDS} FROM {_FROM}
    WHERE ({_IS_FAR} AND (
            l.hour_start = ANY(%(edges)s)
            OR (l.namespace, l.pod) IN (
                SELECT * FROM unnest(%(used_spaces)s::text[], %(used_again)s::text[]))))
       OR (l.node_id = ANY(%(nodes)s)
           AND l.hour_start >= %(since)s AND l.hour_start < %(until)s
           AND (l.hour_start < %(near_start)s OR l.hour_start >= %(near_end)s))
"""


def load_far(
    cluster: Cluster,
    near: Interval,
    names: Collection[tuple[str, str]],
    inventory: Inventory,
    ids: Ids,
) -> None:
    """The first and the last hour of each label in the gaps of kube-state around a period.

    On each side of the loaded hours, for pods of these names. All hours are loaded for names of
    several pods, and for nodes with shared GPUs, on which a label counts only together with others.
    """
    reach = inventory.reach
    if reach == near or not names:
        return
    again = {name for name, count in _bearers(inventory).items() if count > 1}
    again &= set(names)
    hours = whole_hours(reach)
    columns = [list(column) for column in zip(*sorted(names), strict=True)]
    used = [list(column) for column in zip(*sorted(again), strict=True)] or [[], []]
    values: dict[str, Any] = {
        "since": hours.start,
        "until": hours.end,
        "near_start": near.start,
        "near_end": near.end,
        "spaces": columns[0],
        "pods": columns[1],
    }
    whole = {
        "edges": [hours.start, to_instant(hours.end_ms - HOUR_MS)],
        "used_spaces": used[0],
        "used_again": used[1],
        "nodes": [ids.nodes[name] for name in _shared_nodes(inventory)],
    }
    rows = rows_of(_FAR_ENDS, cluster, **values)
    rows += rows_of(_FAR_WHOLE, cluster, **values, **whole)  # some of them once more
    inventory.far_labels = _labels(rows, ids)


def _bearers(inventory: Inventory) -> Counter[tuple[str, str]]:
    """The number of loaded pods with each name."""
    return Counter((pod.namespace, pod.name) for pod in inventory.pods.values())


def _shared_nodes(inventory: Inventory) -> list[str]:
    """The nodes on which several units ever represented one GPU."""
    return [
        name
        for name, node in inventory.nodes.items()
        if any(
            node_facts(node, at).replicas > 1
            for at in {at for at, _ in (*node.capacity, *node.labels)}
        )
    ]


def names_of(inventory: Inventory) -> set[tuple[str, str]]:
    """The names of the loaded pods, and the names in loaded labels."""
    return {
        *((pod.namespace, pod.name) for pod in inventory.pods.values()),
        *((key.pod.namespace, key.pod.pod) for key in inventory.gpu_labels),
    }


_SHOWN = """
    SELECT n.name, s.name, p.name, p.uid
    FROM accounting_pod p
    JOIN accounting_namespace s ON s.id = p.namespace_id
    JOIN accounting_node n ON n.id = p.node_id
    WHERE p.cluster_id = %(cluster)s AND NOT p.is_inferred AND p.first_ms IS NOT NULL
      AND (s.name, p.name) IN (SELECT * FROM unnest(%(spaces)s::text[], %(pods)s::text[]))
"""


def load_shown(cluster: Cluster, inventory: Inventory) -> None:
    """Which of the pods in labels that are not loaded kube-state has ever shown."""
    known = {
        (pod.node, pod.namespace, pod.name, spelled)
        for uid, pod in inventory.pods.items()
        for spelled in (uid, "")
    }
    missing = {
        (key.pod.namespace, key.pod.pod)
        for labels in (inventory.gpu_labels, inventory.far_labels)
        for key in labels
        if (key.place.node, *key.pod) not in known and not is_own(key, inventory)
    }
    if not missing:
        return
    spaces, pods = zip(*sorted(missing), strict=True)
    rows = rows_of(_SHOWN, cluster, spaces=list(spaces), pods=list(pods))
    inventory.shown = {ShownPod(*row) for row in rows}
