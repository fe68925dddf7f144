"""Declared lists of what limits GPUs, and of work that waits."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from django.utils import timezone

from accounting.access.rights import SIGNED_IN, WHOLE_FLEET
from accounting.access.scope import Scope
from accounting.kit.reads.paging import ALL_ROWS, Seek
from accounting.kit.resources.resource import Filters, Resource
from accounting.metering.serializers.queues import QueueRowSerializer
from scheduler_view.alerts.resource import ALERTS
from scheduler_view.idle.resource import IDLE_HOLDERS
from scheduler_view.queues.reads.pools import PoolRow, pool_rows
from scheduler_view.queues.reads.queued_units import QueuedUnitRow, queued_rows
from scheduler_view.queues.reads.wait_times import WaitTimeRow, wait_time_rows
from scheduler_view.quotas.reads.limits.limit_row import LimitRow
from scheduler_view.quotas.reads.limits.rows import limit_rows
from scheduler_view.quotas.reads.queue_values import QueueValueRow, value_rows
from scheduler_view.quotas.reads.quotas import QuotaRow, among, quota_rows
from scheduler_view.quotas.reads.tiers import TierRow, tier_rows
from scheduler_view.waits.reads.node_notes import NodeNoteRow, node_note_rows
from scheduler_view.waits.reads.preempted import (
    PreemptedRow,
    preempted_key,
    preempted_of,
)
from scheduler_view.waits.reads.scheduler_queues import all_queue_rows
from scheduler_view.waits.reads.waiting_row import WaitingUnitRow
from scheduler_view.waits.reads.waiting_units import waiting_rows

CLUSTER = ("cluster",)
CLUSTER_AND_TEAM = ("cluster", "team")


def _now(
    read: Callable[[Scope, datetime], Iterable[Any]],
) -> Callable[[Scope, Filters], Iterable[Any]]:
    """The rows of a moment, by filters."""
    return lambda scope, filters: among(read(scope, timezone.now()), filters)


def _preempted(scope: Scope, filters: Filters, seek: Seek = ALL_ROWS) -> Iterable[Any]:
    return preempted_of(
        scope,
        timezone.now(),
        clusters=filters.get("cluster"),
        teams=filters.get("team"),
        seek=seek,
    )


RESOURCES = (
    ALERTS,
    IDLE_HOLDERS,
    Resource(
        "quotas",
        QuotaRow,
        SIGNED_IN,
        _now(quota_rows),
        "List quotas of the teams that you can see.",
        filters=CLUSTER_AND_TEAM,
    ),
    Resource(
        "limits",
        LimitRow,
        SIGNED_IN,
        _now(limit_rows),
        "List quotas, limit ranges, priority classes and queues, also those of others.\n\n"
        "People see those of their teams' namespaces, and of the whole cluster what names no "
        "other\nteam.",
        filters=CLUSTER_AND_TEAM,
    ),
    Resource(
        "tiers",
        TierRow,
        SIGNED_IN,
        lambda scope, filters: among(tier_rows() if scope.sees_any else [], filters),
        "List tiers, highest first. People without a team see none.",
        filters=CLUSTER,
    ),
    Resource(
        "queues",
        QueueRowSerializer,
        WHOLE_FLEET,
        lambda scope, filters: among(all_queue_rows(), filters),
        "List queues. Teams share queues, so only finance and administrators can see them.",
        filters=CLUSTER,
    ),
    Resource(
        "queue-values",
        QueueValueRow,
        WHOLE_FLEET,
        lambda scope, filters: among(value_rows(), filters),
        "List fields of queues that change sets can change, as last observed.",
        filters=CLUSTER,
    ),
    Resource(
        "waiting",
        WaitingUnitRow,
        SIGNED_IN,
        _now(waiting_rows),
        "List pending work: why it waits, who holds what it needs and what would let it start.",
        filters=CLUSTER_AND_TEAM,
    ),
    Resource(
        "preemptions",
        PreemptedRow,
        SIGNED_IN,
        _preempted,
        "List pods that the scheduler preempted in the last 30 days, newest first.",
        filters=CLUSTER_AND_TEAM,
        key=preempted_key,
    ),
    Resource(
        "queued-units",
        QueuedUnitRow,
        SIGNED_IN,
        _now(queued_rows),
        "List pending work with its position in its pool and its estimated start.",
        filters=CLUSTER_AND_TEAM,
    ),
    Resource(
        "resource-pools",
        PoolRow,
        SIGNED_IN,
        _now(pool_rows),
        "List pools: what is pending, free and fits now, and the error of estimates.",
        filters=CLUSTER,
    ),
    Resource(
        "node-notes",
        NodeNoteRow,
        SIGNED_IN,
        _now(node_note_rows),
        "List nodes with GPUs that report none, are not set up, or cannot be drained.",
        filters=CLUSTER,
    ),
    Resource(
        "wait-times",
        WaitTimeRow,
        SIGNED_IN,
        _now(wait_time_rows),
        "List how long work of each tier waited in the last 28 days, of all teams.",
        filters=CLUSTER,
    ),
)
"""Their addresses over REST and their reports derive from this."""
