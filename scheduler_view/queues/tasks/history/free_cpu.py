"""Keeps the CPU beside free GPUs, and what pods with GPUs require (scheduling.md S25)."""

from datetime import datetime, timedelta

from accounting.metering.models.cluster import Cluster
from scheduler_view.queues.models.memory import FreeCpuSample, PodNeedRecord
from scheduler_view.queues.rules.free_cpu import CLASS_DAYS, free_cpus, pod_needs
from scheduler_view.queues.rules.pools import Pools
from scheduler_view.queues.tasks.history.node_spans import store_node_spans
from scheduler_view.waits.rules.placement.index import WorldIndex


def store_free_cpus(
    cluster: Cluster, index: WorldIndex, before: datetime | None, now: datetime
) -> None:
    """Keep the free CPU of each node with free GPUs; `before` as in `store_node_spans`."""
    found = {
        one.node: {"cpu_milli": one.cpu_milli, "model": one.model[:253]}
        for one in free_cpus(index)
    }
    store_node_spans(FreeCpuSample.objects, cluster, found, before, now)


def store_pod_needs(
    cluster: Cluster, index: WorldIndex, pools: Pools, now: datetime
) -> None:
    """Keep what each pod with GPUs requires, once: it does not change."""
    found = {one.uid: one for one in pod_needs(index, pools)}
    known = PodNeedRecord.objects.filter(cluster=cluster, pod_uid__in=found)
    for uid in known.values_list("pod_uid", flat=True):
        del found[uid]
    PodNeedRecord.objects.bulk_create(
        [
            PodNeedRecord(
                cluster=cluster,
                pod_uid=one.uid,
                cpu_milli=one.cpu_milli,
                accepted_models=list(one.models),
                seen_at=now,
            )
            for one in found.values()
        ],
        ignore_conflicts=True,
    )


def forget_free_cpus(before: datetime) -> None:
    """Remove rows that ended before, and pods that were first seen before usual ones of then."""
    FreeCpuSample.objects.filter(until__lt=before).delete()
    oldest = before - timedelta(days=CLASS_DAYS)
    PodNeedRecord.objects.filter(seen_at__lt=oldest).delete()
