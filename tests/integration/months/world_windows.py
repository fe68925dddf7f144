"""The facts of a world as five-minute windows that the product rolls up itself.

Each fact has a GPU, a node and a pod of its own; the node's labels and the pod's team begin at the
start of the fact's billing day.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection

from accounting.access.models.teams import Team
from accounting.access.reads.billing_settings import billing_day, midnight
from accounting.core.ledger_line import STATES
from accounting.metering.models.cluster import Cluster, Gpu, GpuGeometry, Node, NodeFact
from accounting.metering.models.ledger import DirtyHour
from accounting.metering.models.pod import Pod, PodAttribution, Workload
from accounting.metering.tasks.facts import partitions
from accounting.usage.tasks.rollup import roll_up_complete_hours

FAR = datetime(9999, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
_EMPTIED = ("usage_window", "usage_hour", "accounting_pendinggpuhour")
_REPLACED = (PodAttribution, Pod, GpuGeometry, NodeFact, Gpu, Node, DirtyHour)
_COLUMNS = "window_start, cluster_id, gpu_id, pod_id, node_id, instance, flags"


def write(
    facts: Sequence[Mapping[str, Any]], keys: Sequence[tuple[Cluster, Workload | None]]
) -> None:
    """Replace all windows, hours and days.

    Args:
        facts: of a world.
        keys: the cluster of each, and the workload that held it.
    """
    with connection.cursor() as cursor:
        for table in _EMPTIED:
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608  # names of the product's tables
    for model in _REPLACED:
        model._default_manager.all().delete()  # Django's own name for it
    hours = set()
    for number, (fact, (cluster, workload)) in enumerate(zip(facts, keys, strict=True)):
        at = datetime.fromisoformat(fact["at"])
        _window(number, at, fact, cluster, workload)
        hours.add((cluster.pk, at.replace(minute=0)))
    DirtyHour.objects.bulk_create(
        DirtyHour(cluster_id=pk, hour_start=hour, marked_at=hour, reason="facts")
        for pk, hour in sorted(hours)
    )
    for cluster in {cluster for cluster, _ in keys}:
        roll_up_complete_hours(cluster.pk)


def _window(
    number: int,
    at: datetime,
    fact: Mapping[str, Any],
    cluster: Cluster,
    workload: Workload | None,
) -> None:
    since = midnight(billing_day(at))
    node = Node.objects.create(cluster=cluster, name=f"node-{number}")
    gpu = Gpu.objects.create(cluster=cluster, uuid=f"GPU-{number}", model=fact["model"])
    for begins, lifecycle in ((since - HOUR, "reserved"), (since, fact["lifecycle"])):
        NodeFact.objects.create(node=node, valid_from=begins, lifecycle=lifecycle)
    GpuGeometry.objects.create(gpu=gpu, from_ms=0, instances=[[0, fact["profile"]]])
    pod_id = _pod(number, since, fact, workload) if workload else 0
    partitions.ensure([partitions.WINDOWS], at, at + HOUR)
    states = [fact["ms"].get(state, 0) for state in STATES]
    names = ", ".join(f"{state}_ms" for state in STATES)
    ids = [at, cluster.pk, gpu.pk, pod_id, node.pk, 0 if fact["profile"] else -1, 0]
    values = [*ids, *states]
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY usage_window ({_COLUMNS}, {names}) FROM STDIN") as copy,
    ):
        copy.write_row(values)


def _pod(
    number: int, since: datetime, fact: Mapping[str, Any], workload: Workload
) -> int:
    pod = Pod.objects.create(
        cluster_id=workload.cluster_id,
        uid=f"uid-{number}",
        name=f"pod-{number}",
        namespace_id=workload.namespace_id,
        workload=workload,
    )
    team = Team.objects.get(slug=fact["team"]) if fact["team"] else None
    PodAttribution.objects.create(
        pod=pod,
        team=team,
        tier=fact["tier"],
        workload_type=fact["workload_type"],
        valid_from=since,
        valid_to=FAR,
    )
    return pod.pk
