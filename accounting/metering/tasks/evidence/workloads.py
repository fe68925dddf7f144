"""The workload, its family, the team, tier and type of a pod's time, and from when on."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from django.db import connection

from accounting.access.models.labels import LabelPurpose, LabelSpelling
from accounting.access.models.teams import Binding, BindingKind
from accounting.core.interval import to_instant, to_ms
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import (
    NamespaceLabels,
    Owner,
    Pod,
    PodAttribution,
    Workload,
)
from accounting.metering.rules.inventory.label_names import label_name
from accounting.metering.sql.dirty_hours_sql import mark_spans
from accounting.metering.tasks.evidence.families import resolve_families
from accounting.metering.tasks.evidence.ids import BATCH

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
FOREVER = datetime(9999, 1, 1, tzinfo=UTC)

History = Sequence[tuple[int, dict[str, str]]]


def resolve_pods(
    cluster: Cluster, pod_ids: Iterable[int] | None = None
) -> dict[int, datetime]:
    """Update the workload and the attribution of pods.

    Args:
        cluster: of the pods.
        pod_ids: the pods; None means all of them.

    Returns:
        By pod, from when on its workload or attribution is another one than before; `FOREVER`
        for a pod that had none.
    """
    pods = Pod.objects.filter(cluster=cluster).select_related("namespace")
    chosen = list(pods if pod_ids is None else pods.filter(pk__in=list(pod_ids)))
    if not chosen:
        return {}
    created, moved = _resolve_workloads(cluster, chosen)
    resolve_families(cluster, chosen, created, is_all=pod_ids is None)
    rules = list(Binding.objects.order_by("position", "pk"))
    spellings = list(
        LabelSpelling.objects.filter(purpose=LabelPurpose.WORKLOAD_TYPE).values_list(
            "label", flat=True
        )
    )
    namespaces = _namespace_labels({pod.namespace_id for pod in chosen})
    wanted = {
        pod.pk: _attributions(
            pod, rules, spellings, namespaces.get(pod.namespace_id, [])
        )
        for pod in chosen
    }
    return _store(wanted) | dict.fromkeys(moved, BEGINNING)


def mark_changed(cluster_id: int, changed: Mapping[int, datetime]) -> None:
    """Mark the hours dirty in which pods were held while `changed` (of `resolve_pods`) applies.

    Facts name only the pod, so that none of them changes.
    """
    known = {pod: to_ms(since) for pod, since in changed.items() if since < FOREVER}
    if known:
        with connection.cursor() as cursor:
            values = {"pods": list(known), "since": list(known.values())}
            cursor.execute(
                _MARK, {"cluster": cluster_id, "reason": "workload", **values}
            )


_MARK = mark_spans("""
    SELECT lower(span) AS low_ms, upper(span) AS high_ms
    FROM (SELECT unnest(range_agg(int8range(held.low, held.high))) AS span
          FROM (SELECT greatest(h.bound_ms, c.since_ms) AS low,
                       coalesce(h.ended_ms, h.booked_until_ms) AS high
                FROM unnest(%(pods)s::bigint[], %(since)s::bigint[]) AS c(pod_id, since_ms)
                JOIN accounting_podhold h USING (pod_id)) held
          WHERE held.low < held.high) spans
""")


def _namespace_labels(ids: set[int]) -> dict[int, list[tuple[int, dict[str, str]]]]:
    found: dict[int, list[tuple[int, dict[str, str]]]] = defaultdict(list)
    rows = NamespaceLabels.objects.filter(namespace_id__in=ids).order_by("valid_from")
    for pk, at, labels in rows.values_list("namespace_id", "valid_from", "labels"):
        found[pk].append((to_ms(at), labels))
    return found


def _resolve_workloads(
    cluster: Cluster, pods: Sequence[Pod]
) -> tuple[set[int], set[int]]:
    """The topmost owner that kube-state shows (rules.md N25); without one, the pod.

    Returns the workloads that have no family yet, and the pods that had another workload.
    """
    owners = {
        (ns, kind, name): (above_kind, above_name)
        for ns, kind, name, above_kind, above_name in Owner.objects.filter(
            namespace__in={pod.namespace_id for pod in pods},
            name__in={pod.record.get("owner_name", "") for pod in pods},
        ).values_list("namespace_id", "kind", "name", "owner_kind", "owner_name")
    }
    keys: dict[int, tuple[int, str, str]] = {}
    for pod in pods:
        kind = pod.record.get("owner_kind") or "Pod"
        name = pod.record.get("owner_name") or pod.name
        above = owners.get((pod.namespace_id, kind, name))
        keys[pod.pk] = (pod.namespace_id, *(above or (kind, name)))
    Workload.objects.bulk_create(
        [
            Workload(cluster=cluster, namespace_id=ns, kind=kind, name=name)
            for ns, kind, name in sorted(set(keys.values()))
        ],
        ignore_conflicts=True,
        batch_size=BATCH,
    )
    rows = Workload.objects.filter(
        cluster=cluster,
        namespace_id__in={key[0] for key in keys.values()},
        name__in={key[2] for key in keys.values()},
    ).values_list("pk", "namespace_id", "kind", "name", "family")
    found = {(ns, kind, name): pk for pk, ns, kind, name, _ in rows}
    created = {pk for pk, *_, family in rows if not family}
    moved = [pod for pod in pods if pod.workload_id != found[keys[pod.pk]]]
    if not moved:
        return created, set()
    known = {pod.pk for pod in moved if pod.workload_id is not None}
    for pod in moved:
        pod.workload_id = found[keys[pod.pk]]
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE accounting_pod p SET workload_id = m.workload_id
               FROM unnest(%s::bigint[], %s::bigint[]) AS m(id, workload_id)
               WHERE p.id = m.id""",
            [[pod.pk for pod in moved], [pod.workload_id for pod in moved]],
        )
    return created, known


Attribution = tuple[datetime, datetime, int | None, str, str]


def _attributions(
    pod: Pod, rules: Sequence[Binding], spellings: Sequence[str], namespace: History
) -> list[Attribution]:
    """The attributions of a pod over time, from the beginning without an end."""
    own: History = [(at, labels) for at, labels in pod.record.get("labels", [])]
    edges = {BEGINNING}
    for rule in rules:
        edges.update(at for at in (rule.valid_from, rule.valid_to) if at is not None)
    for history in (own, namespace):
        edges.update(to_instant(at) for at, _ in history[1:])
    pieces: list[Attribution] = []
    ordered = sorted(edges)
    for start, end in zip(ordered, [*ordered[1:], FOREVER], strict=True):
        at = to_ms(start)
        labels, outer = _as_of(own, at), _as_of(namespace, at)
        team = _team(pod.namespace.name, outer, labels, rules, start)
        kind = _first_label(labels, spellings)
        piece = (start, end, team, pod.priority_class, kind)
        if pieces and pieces[-1][2:] == piece[2:]:
            pieces[-1] = (pieces[-1][0], end, *piece[2:])
        else:
            pieces.append(piece)
    return pieces


def _as_of(history: History, at: int) -> dict[str, str]:
    current: dict[str, str] = history[0][1] if history else {}
    for since, labels in history:
        if since <= at:
            current = labels
    return current


def _first_label(labels: dict[str, str], spellings: Sequence[str]) -> str:
    for spelling in spellings:
        value = labels.get(label_name(spelling), "")
        if value:
            return value[:32]
    return ""


def _team(
    namespace: str,
    namespace_labels: dict[str, str],
    pod_labels: dict[str, str],
    rules: Sequence[Binding],
    at: datetime,
) -> int | None:
    """The team of the first rule that is valid and matches; None is unmapped."""
    for rule in rules:
        if rule.valid_from > at or (rule.valid_to is not None and rule.valid_to <= at):
            continue
        if rule.kind == BindingKind.NAMESPACE:
            value: str | None = namespace
        elif rule.kind == BindingKind.NAMESPACE_LABEL:
            value = namespace_labels.get(label_name(rule.label))
        else:
            value = pod_labels.get(label_name(rule.label))
        if value is not None and fnmatchcase(value, rule.glob):
            return int(rule.team_id)
    return None


def _store(wanted: dict[int, list[Attribution]]) -> dict[int, datetime]:
    known: dict[int, list[Attribution]] = defaultdict(list)
    rows = PodAttribution.objects.filter(pod_id__in=wanted).order_by("valid_from")
    for pod, start, end, team, tier, kind in rows.values_list(
        "pod_id", "valid_from", "valid_to", "team_id", "tier", "workload_type"
    ):
        known[pod].append((start, end, team, tier, kind))
    changed = {
        pod: since
        for pod, pieces in wanted.items()
        if (since := _differ_from(known[pod], pieces)) is not None
    }
    PodAttribution.objects.filter(pod_id__in=changed).delete()
    PodAttribution.objects.bulk_create(
        [
            PodAttribution(
                pod_id=pod,
                valid_from=start,
                valid_to=end,
                team_id=team,
                tier=tier,
                workload_type=kind,
            )
            for pod in sorted(changed)
            for start, end, team, tier, kind in wanted[pod]
        ],
        batch_size=BATCH,
    )
    return changed


def _differ_from(
    before: Sequence[Attribution], after: Sequence[Attribution]
) -> datetime | None:
    """From when on two versions of a pod's attributions, each of all time, differ."""
    if not before:
        return FOREVER
    for (start, end, *old), (_, other, *new) in zip(before, after, strict=False):
        if old != new:
            return start
        if end != other:
            return min(end, other)
    return None
