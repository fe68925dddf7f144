"""Keeps what waits, is free and fits in each pool, as long as it does not change (S16)."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Max

from accounting.metering.models.cluster import Cluster
from scheduler_view.queues.models.queues import PoolSample
from scheduler_view.queues.rules.depth import PoolDepth

LONGEST_GAP = timedelta(
    minutes=11
)  # two observations of five minutes, and their length
_VALUES = (
    *("waiting", "refused", "held_back", "work", "capacity", "available"),
    *("fitting", "fitting_held", "policy_nodes", "unused_nodes"),
)


def store_samples(cluster: Cluster, depths: Iterable[PoolDepth], now: datetime) -> None:
    """Extend the newest sample of each pool, or begin another one.

    The time since the last observation has the values of then: they lasted until now. After a
    longer gap nothing is known of it.
    """
    newest = PoolSample.objects.filter(
        cluster=cluster, until__gte=now - LONGEST_GAP
    ).order_by("resource", "model", "-since")
    last = {
        (row.resource, row.model): row for row in newest.distinct("resource", "model")
    }
    extended, begun = [], []
    for one in depths:
        key = one.pool.resource[:317], one.pool.model[:253]
        old = last.pop(key, None)
        if old is not None:
            old.until = now
            extended.append(old)
        if old is None or _values(old) != _values(one):
            begun.append(_sample(cluster, one, now))
    PoolSample.objects.bulk_update(extended, ["until"])
    PoolSample.objects.bulk_create(begun, ignore_conflicts=True)


def last_observed(cluster: Cluster, now: datetime) -> datetime | None:
    """When the pools of a cluster were last observed; None if that is too long ago."""
    samples = PoolSample.objects.filter(cluster=cluster, until__gte=now - LONGEST_GAP)
    found: datetime | None = samples.aggregate(last=Max("until"))["last"]
    return found


def _values(one: PoolSample | PoolDepth) -> list[object]:
    return [getattr(one, name) for name in _VALUES]


def _sample(cluster: Cluster, one: PoolDepth, now: datetime) -> PoolSample:
    return PoolSample(
        cluster=cluster,
        resource=one.pool.resource[:317],
        model=one.pool.model[:253],
        since=now,
        until=now,
        **{name: getattr(one, name) for name in _VALUES},
    )


def forget_samples(before: datetime) -> None:
    """Remove samples that ended before."""
    PoolSample.objects.filter(until__lt=before).delete()
