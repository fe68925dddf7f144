"""Stores what one observation shows of queues: instants, positions, starts, pools (S3, S15-S19).

Also what rules of waste need of the past (S21-S26, S32).
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings

from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Cluster
from scheduler_view.queues.rules.depth import depths_of
from scheduler_view.queues.rules.queued import QueueReader
from scheduler_view.queues.tasks.history.free_cpu import (
    forget_free_cpus,
    store_free_cpus,
    store_pod_needs,
)
from scheduler_view.queues.tasks.history.kept_nodes import (
    forget_kept_nodes,
    store_kept_nodes,
)
from scheduler_view.queues.tasks.history.pool_samples import (
    forget_samples,
    last_observed,
    store_samples,
)
from scheduler_view.queues.tasks.history.wait_stretches import (
    forget_stretches,
    store_stretches,
)
from scheduler_view.queues.tasks.start_estimates import store_estimates
from scheduler_view.queues.tasks.summaries import store_summaries
from scheduler_view.queues.tasks.wait_records import forget_records, store_records
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.explanation import WaitExplanation


def store_queues(
    cluster: Cluster,
    explainer: Explainer,
    explanations: Iterable[WaitExplanation],
    now: datetime,
) -> None:
    """Store the queues of a cluster; nothing if its pods or nodes may not be read."""
    index = explainer.index
    if index.world.unread & {"Pod", "Node"}:
        return
    records = store_records(cluster, index, now)
    admitted = {
        subject: None if row.admitted_at is None else to_ms(row.admitted_at)
        for subject, row in records.items()
    }
    reader, found = QueueReader(explainer, admitted), list(explanations)
    queued = reader.read(found)
    before = last_observed(cluster, now)
    store_kept_nodes(cluster, index, before, now)
    store_free_cpus(cluster, index, before, now)
    store_pod_needs(cluster, index, reader.pools, now)
    store_samples(cluster, depths_of(reader.pools, index.rooms, queued), now)
    store_stretches(cluster, index, found, queued, records, now)
    store_estimates(cluster, reader, found, queued, records, now)
    store_summaries(cluster, now)


def forget_queues(now: datetime) -> None:
    """Remove what is older than facts are kept."""
    before = now - timedelta(days=settings.FACT_DAYS)
    forget_records(before)
    forget_samples(before)
    forget_stretches(before)
    forget_kept_nodes(before)
    forget_free_cpus(before)
