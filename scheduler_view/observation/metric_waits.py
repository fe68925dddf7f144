"""Explains why work waits from metrics alone, where the objects of a cluster are not observed.

Objects win: while they were observed within `OBJECTS_LAST`, nothing is written here, and the next
observation of them replaces every row. Pools, positions, estimates and what rules of waste read
are not stored: metrics show too little to say that something would fit.
"""

from datetime import UTC, datetime, timedelta

from django.db import transaction

from accounting.models import Cluster, Scraper
from scheduler_view.domain.queues.queued import QueueReader
from scheduler_view.domain.waits.cause import WaitCause
from scheduler_view.domain.waits.explain import Explainer
from scheduler_view.domain.waits.from_metrics import (
    ShownCluster,
    explain_shown,
    world_of,
)
from scheduler_view.models import ObservationRun
from scheduler_view.observation.start_estimates import store_waiting
from scheduler_view.observation.wait_records import store_records
from scheduler_view.observation.waits import (
    WAITS,
    locked_run,
    store_explanations,
)
from scheduler_view.queries.resources import added_names
from scheduler_view.queries.waits.shown_cluster import (
    newest_scrape_ms,
    shown_cluster,
)
from scheduler_view.queries.waits.waiting_units import METRIC_WAITS

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
    at_ms = newest_scrape_ms(cluster.pk)
    if at_ms is None:
        return 0
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    with transaction.atomic():
        seen_at = locked_run(cluster, now).seen_at
        if seen_at is not None and seen_at > min(at, now - OBJECTS_LAST):
            return 0
        run, _ = ObservationRun.objects.get_or_create(
            cluster=cluster, kind=METRIC_WAITS, defaults={"tried_at": now}
        )
        if run.seen_at is not None and run.seen_at >= at:
            return 0
        shown = shown_cluster(cluster.pk)
        changed = 0 if shown is None else _store(cluster, shown, at)
        run.seen_at, run.tried_at = at, now
        run.save()
    return changed


def _store(cluster: Cluster, shown: ShownCluster, at: datetime) -> int:
    world = world_of(shown, added_names())
    explainer = Explainer(world)
    found = explain_shown(explainer, shown)
    changed = store_explanations(cluster, world, found, at)
    by_subject = {(one.kind, one.namespace, one.name): one for one in found}
    jobs = {key for key, o in by_subject.items() if o.cause is WaitCause.SUSPENDED}
    records = store_records(
        cluster, explainer.index, at, is_from_metrics=True, others=jobs
    )
    queued = QueueReader(explainer, {}).read(found)
    store_waiting(queued, by_subject, {}, records)
    return changed
