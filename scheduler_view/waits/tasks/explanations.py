"""Stores why work waits: rows that changed, and which observation they are of."""

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256

import msgspec

from accounting.core.interval import to_instant
from accounting.metering.models.cluster import Cluster
from scheduler_view.clusters.models import WAITS, ObservationRun
from scheduler_view.waits.mapping import wait_content
from scheduler_view.waits.models import UnitWait
from scheduler_view.waits.rules.cause import WaitCause
from scheduler_view.waits.rules.explanation import WaitExplanation
from scheduler_view.waits.rules.world.world import World

BATCH = 500
_CONTENT = ("stage", "cause", "since", "cause_since", "changed_at", "digest", "content")


def locked_run(cluster: Cluster, now: datetime) -> ObservationRun:
    """The observation of waits by objects, locked until the transaction ends."""
    ObservationRun.objects.get_or_create(
        cluster=cluster, kind=WAITS, defaults={"tried_at": now}
    )
    return ObservationRun.objects.select_for_update().get(cluster=cluster, kind=WAITS)


def store_explanations(
    cluster: Cluster, world: World, found: Iterable[WaitExplanation], now: datetime
) -> int:
    """Write what changed and remove what no longer waits; returns how many rows changed."""
    known = {
        (row.kind, row.namespace, row.name): row
        for row in UnitWait.objects.filter(cluster=cluster)
    }
    rows = []
    for one in found:
        old = known.pop((one.kind, one.namespace, one.name), None)
        row = _row(cluster, world, one, old, now)
        if old is None or (old.digest, old.cause) != (row.digest, row.cause):
            rows.append(row)
    UnitWait.objects.bulk_create(
        rows,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["cluster", "kind", "namespace", "name"],
        update_fields=_CONTENT,
    )
    UnitWait.objects.filter(pk__in=[row.pk for row in known.values()]).delete()
    return len(rows) + len(known)


def _row(
    cluster: Cluster,
    world: World,
    one: WaitExplanation,
    old: UnitWait | None,
    now: datetime,
) -> UnitWait:
    content = wait_content(one)
    is_free = one.cause in (WaitCause.RETRY_PENDING, WaitCause.OTHER)
    if is_free and not one.is_from_metrics:  # which do not show that nothing blocks
        free = world.free_since_ms.get(one.subject)
        since = now if free is None else to_instant(free)
        content["free_since"] = since.isoformat()
    text = msgspec.json.encode(content, order="sorted")
    is_same = old is not None and old.cause == one.cause
    return UnitWait(
        cluster=cluster,
        kind=one.kind[:63],
        namespace=one.namespace[:63],
        name=one.name[:253],
        stage=one.stage.value,
        cause=one.cause.value,
        since=None if one.since_ms is None else to_instant(one.since_ms),
        cause_since=old.cause_since if old is not None and is_same else now,
        changed_at=now,
        digest=sha256(text).hexdigest()[:32],
        content=content,
    )
