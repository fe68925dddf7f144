"""Pools of clusters now, and their hourly averages (scheduling.md S15, S16)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from django.db import connection

from accounting.access.scope import Scope
from accounting.core.interval import HOUR_MS, to_ms
from accounting.kit.rows import column, listed
from scheduler_view.queues.models.queues import EstimateSummary, PoolSample
from scheduler_view.queues.reads.estimate_errors import estimate_errors
from scheduler_view.queues.rules.averages import ObservedLevels, averages
from scheduler_view.queues.rules.pools import ResourcePool

NEWEST = timedelta(minutes=30)  # an older sample is not "now"
_OF_NODES = "policy_nodes", "unused_nodes"  # large, and not shown


@listed("PoolRow")
class PoolRow:
    """One pool as last observed, in units of its resource.

    Attributes:
        waiting, refused, held_back: units requested; `depth` is their sum.
        work: units of work that wait.
        available: None if it is not known.
        error_ms: median error of estimated starts; None if not measured yet.
        held: share of estimates whose range had the start in it.
    """

    cluster: str = column()
    resource: str = column()
    model: str = column("empty if no node shows one")
    depth: int = column("all that waiting work requests", head="Requested")
    waiting: int = column("of it: the scheduler found no node")
    refused: int = column(
        "of it: pods that were not admitted", head="Refused or held back"
    )
    held_back: int = column("of it: suspended, queued or gated")
    work: int = column("units of work that wait", head="Pending work")
    capacity: int = column()
    available: int | None = column("free on ready nodes; null if not known")
    fitting: int = column("of the depth, what could be bound at once", head="Fits now")
    fitting_held: int = column("the same of what is refused or held back alone")
    estimates: int = column("of starts in the last 28 days; 0 if fewer than 20")
    error_ms: int | None = column(
        "median; null if not measured yet", name="estimate_error_ms"
    )
    held: float | None = column(
        "share of starts in their range", name="estimate_range_held"
    )
    seen_at: datetime = column()

    @property
    def key(self) -> str:
        """For an address: cluster, resource and model."""
        return pool_key(self.cluster, self.resource, self.model)

    @property
    def blocked_by_policy(self) -> int:
        """Units that wait refused or held back although they would fit."""
        return min(self.refused + self.held_back, self.fitting_held)


def pool_key(cluster: str, resource: str, model: str) -> str:
    """A pool in an address."""
    return f"{cluster}|{resource}|{model}"


def was_observed(now: datetime) -> bool:
    """Whether any cluster was observed in the last half hour; one query."""
    return PoolSample.objects.filter(until__gte=now - NEWEST).exists()


def pool_rows(scope: Scope, now: datetime, *, cluster: str = "") -> list[PoolRow]:
    """Every pool that was observed in the last half hour; none for people without a team."""
    if not scope.sees_any:
        return []
    samples = PoolSample.objects.filter(until__gte=now - NEWEST)
    if cluster:
        samples = samples.filter(cluster__name=cluster)
    pool = "cluster_id", "resource", "model"
    newest = samples.order_by(*pool, "-since").distinct(*pool)
    errors = estimate_errors()
    rows = [
        _row(one, errors.get((one.cluster_id, ResourcePool(one.resource, one.model))))
        for one in newest.select_related("cluster").defer(*_OF_NODES)
    ]
    return sorted(
        rows, key=lambda row: (row.cluster, -row.depth, row.resource, row.model)
    )


def _row(one: PoolSample, error: EstimateSummary | None) -> PoolRow:
    return PoolRow(
        cluster=one.cluster.name,
        resource=one.resource,
        model=one.model,
        depth=one.waiting + one.refused + one.held_back,
        waiting=one.waiting,
        refused=one.refused,
        held_back=one.held_back,
        work=one.work,
        capacity=one.capacity,
        available=one.available,
        fitting=one.fitting,
        fitting_held=one.fitting_held,
        estimates=error.estimates if error else 0,
        error_ms=error.median_error_ms if error else None,
        held=error.held if error else None,
        seen_at=one.until,
    )


@dataclass(frozen=True, slots=True)
class PoolHours:
    """Hourly averages of a pool, weighted by time; None where nothing was observed."""

    starts: Sequence[datetime]
    depth: Sequence[float | None]
    available: Sequence[float | None]
    fitting: Sequence[float | None]

    @property
    def first(self) -> int:
        """The position of the first hour that was observed; the number of hours if none was."""
        known = (i for i, value in enumerate(self.depth) if value is not None)
        return next(known, len(self.starts))

    def last(self, hours: int) -> "PoolHours":
        """Only the last hours."""
        kept = slice(-hours, None)
        return PoolHours(
            self.starts[kept],
            self.depth[kept],
            self.available[kept],
            self.fitting[kept],
        )


def pool_hours(row: PoolRow, now: datetime, *, hours: int) -> PoolHours:
    """The averages of a pool over its last hours, the running one included."""
    last = now.replace(minute=0, second=0, microsecond=0)
    starts = [last - timedelta(hours=n) for n in range(hours - 1, -1, -1)]
    bounds = np.array([*map(to_ms, starts), to_ms(last) + HOUR_MS])
    key = row.cluster, row.resource, row.model, starts[0]
    with connection.cursor() as cursor:
        cursor.execute(_SAMPLES, key)
        found = np.array(cursor.fetchall(), dtype=float).reshape(-1, 5)
    since, until = found[:, 0].astype(np.int64), found[:, 1].astype(np.int64)
    return PoolHours(
        starts,
        *(
            averages(ObservedLevels(since, until, found[:, column]), bounds)
            for column in (2, 3, 4)
        ),
    )


_SAMPLES = """
    SELECT (1000 * date_part('epoch', s.since))::bigint,
           (1000 * date_part('epoch', s.until))::bigint,
           s.waiting + s.refused + s.held_back, s.available, s.fitting
    FROM scheduler_view_poolsample s JOIN accounting_cluster c ON c.id = s.cluster_id
    WHERE c.name = %s AND s.resource = %s AND s.model = %s AND s.until > %s
    ORDER BY s.since
"""
