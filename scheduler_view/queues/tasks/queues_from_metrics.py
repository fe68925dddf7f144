"""Explains why work waits from metrics alone, where the objects of a cluster are not observed.

Objects take precedence: while they were observed within `OBJECTS_LAST`, nothing is written here,
and the next observation of them replaces every row. If pods may not be listed, that observation
adds the units that metrics show. Pools, positions, estimates and what rules of waste read are not
stored: metrics show too little to say that something would fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from accounting.core.interval import to_instant
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.evidence import Scraper
from accounting.metering.reads.resources import added_names
from scheduler_view.clusters.models import METRIC_WAITS, WAITS, ObservationRun
from scheduler_view.queues.rules.queued import QueueReader
from scheduler_view.queues.tasks.start_estimates import store_waiting
from scheduler_view.queues.tasks.wait_records import store_records
from scheduler_view.waits.reads.shown_cluster import newest_scrape_ms, shown_cluster
from scheduler_view.waits.rules.cause import WaitCause
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.explanation import WaitExplanation
from scheduler_view.waits.rules.from_metrics import explain_shown, world_of
from scheduler_view.waits.tasks.explanations import locked_run, store_explanations

OBJECTS_LAST = timedelta(minutes=15)  # three observations of a large cluster


def clusters_by_metrics(now: datetime) -> list[Cluster]:
    """Clusters in use with kube-state-metrics whose objects were not observed lately."""
    observed = ObservationRun.objects.filter(
        kind=WAITS, seen_at__gt=now - OBJECTS_LAST
    ).values("cluster_id")
    shown = Scraper.objects.filter(is_kube_state=True).values("cluster_id")
    clusters = Cluster.objects.filter(pk__in=shown, retired_at=None)
    return list(clusters.exclude(pk__in=observed))


def look_at_metrics(cluster: Cluster, now: datetime) -> int:
    """Explain what waits in the newest scrape and store it; returns how many rows changed.

    Nothing is written if objects were observed lately or after that scrape, or without a newer one.
    """
    at = _newest_scrape(cluster)
    if at is None:
        return 0
    with transaction.atomic():
        seen_at = locked_run(cluster, now).seen_at
        if seen_at is not None and seen_at > min(at, now - OBJECTS_LAST):
            return 0
        run = ObservationRun.objects.filter(cluster=cluster, kind=METRIC_WAITS).first()
        if run is not None and run.seen_at is not None and run.seen_at >= at:
            return 0
        shown = shown_waits(cluster)
        if shown is None:
            return 0
        store_shown(cluster, shown, now)
        world = shown.explainer.index.world
        return store_explanations(cluster, world, shown.explanations, at)


def _newest_scrape(cluster: Cluster) -> datetime | None:
    at_ms = newest_scrape_ms(cluster.pk)
    return None if at_ms is None else to_instant(at_ms)


@dataclass(frozen=True, slots=True)
class ShownWaits:
    """What waits in the newest scrape."""

    at: datetime
    explainer: Explainer
    explanations: Sequence[WaitExplanation]


def shown_waits(cluster: Cluster) -> ShownWaits | None:
    """Explain what waits in the newest scrape; None without kube-state-metrics."""
    shown = shown_cluster(cluster.pk)
    if shown is None:
        return None
    explainer = Explainer(world_of(shown, added_names()))
    found = explain_shown(explainer, shown)
    return ShownWaits(to_instant(shown.at_ms), explainer, found)


def store_shown(cluster: Cluster, shown: ShownWaits, now: datetime) -> None:
    """Store the waits of units in metrics, and as of when they are; in a transaction."""
    by_subject = {(o.kind, o.namespace, o.name): o for o in shown.explanations}
    jobs = {key for key, o in by_subject.items() if o.cause is WaitCause.SUSPENDED}
    index = shown.explainer.index
    records = store_records(cluster, index, shown.at, is_from_metrics=True, others=jobs)
    queued = QueueReader(shown.explainer, {}).read(shown.explanations)
    store_waiting(queued, by_subject, records, said={}, starts={})
    ObservationRun.objects.update_or_create(
        cluster=cluster,
        kind=METRIC_WAITS,
        defaults={"seen_at": shown.at, "tried_at": now},
    )
