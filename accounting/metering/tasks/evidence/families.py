"""The family of workloads: by a label of their pods, else by their name (rules.md N41)."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from django.db import connection

from accounting.access.models.labels import LabelPurpose, LabelSpelling
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import Pod, Workload
from accounting.metering.rules.inventory.families import LABEL, family_of, label_value
from accounting.metering.rules.inventory.label_names import label_name

# A workload that has no family has no days either. The days of others are moved by a rollup.
_UPDATE = """
    UPDATE accounting_workload w SET family_pod_id = nullif(m.pod_id, 0),
        family = CASE WHEN w.family = '' THEN m.family ELSE w.family END,
        next_family = CASE WHEN w.family IN ('', m.family) THEN '' ELSE m.family END
    FROM unnest(%s::bigint[], %s::text[], %s::bigint[]) AS m(id, family, pod_id)
    WHERE w.id = m.id
"""


def resolve_families(
    cluster: Cluster, pods: Sequence[Pod], created: Collection[int], *, is_all: bool
) -> None:
    """Update the families of the workloads of pods.

    Of several pods with a label the one that was created last counts; of its labels the last one.
    So a result is that of the evidence, in whatever order it was read. A family that changes is
    `next_family`, until a rollup moves its days (`facts.family_days`).

    Args:
        cluster: of the pods.
        pods: with their workloads.
        created: workloads that have no family yet.
        is_all: they are all pods of the cluster, so that other pods' labels do not count any more.
    """
    spellings = LabelSpelling.objects.filter(purpose=LabelPurpose.FAMILY)
    labels = list(spellings.values_list("label", flat=True)) or [LABEL]
    names = [label_name(label) for label in labels]
    shown = {pod.pk: value for pod in pods if (value := _shown(pod, names))}
    candidates: dict[int, list[Pod]] = defaultdict(list)
    for pod in pods:
        if pod.pk in shown and pod.workload_id is not None:
            candidates[pod.workload_id].append(pod)
    works = Workload.objects.filter(cluster=cluster).select_related("family_pod")
    if not is_all:
        if not candidates and not created:
            return
        works = works.filter(pk__in={*candidates, *created})
    changed = []
    for work in works:
        known = work.next_family or work.family
        of_work = list(candidates[work.pk])
        if not is_all and work.family_pod and work.family_pod.workload_id == work.pk:
            of_work.append(work.family_pod)
            shown.setdefault(work.family_pod.pk, known)
        last = max(of_work, key=_order, default=None)
        family = family_of(work.name, work.kind, shown[last.pk] if last else "")
        pod_id = last.pk if last else None
        if (known, work.family_pod_id) != (family, pod_id):
            changed.append((work.pk, family, pod_id or 0))
    _store(changed)


def _store(changed: Sequence[tuple[int, str, int]]) -> None:
    if changed:
        with connection.cursor() as cursor:
            cursor.execute(_UPDATE, [list(one) for one in zip(*changed, strict=True)])


def _shown(pod: Pod, names: Sequence[str]) -> str:
    """The family that the last of a pod's labels names; empty for none."""
    for _, labels in reversed(pod.record.get("labels", [])):
        if found := _first(labels, names):
            return found
    return ""


def _first(labels: Mapping[str, str], names: Sequence[str]) -> str:
    values = (label_value(labels.get(name, "")) for name in names)
    return next((value for value in values if value), "")


def _order(pod: Pod) -> tuple[int, str]:
    """When it was created, which does not change with further samples; then its uid."""
    return pod.record.get("created_ms") or 0, pod.uid
