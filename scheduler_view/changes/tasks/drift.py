"""Compares clusters with the desired state, and stores since when they differ.

Only objects that changed, or whose desired state changed, are compared; so a cluster without
changes costs its list and two queries. Objects of a change set that is being applied are compared
when it is done, and the reason of a difference is kept until the difference changes, so that the
state does not alternate.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec
import structlog
from django.db import transaction
from django.db.models import Q
from django.utils.dateparse import parse_datetime

from accounting.kit.locks import lock
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.resources import added_names
from scheduler_view.changes.models import ChangeSet, ChangeState, ChangeStep
from scheduler_view.changes.rules.drift import DriftStatus, standing_of
from scheduler_view.changes.tasks.desired_state import DesiredState, desired_of
from scheduler_view.clusters.models import Drift, Observation
from scheduler_view.clusters.rules.drift_state import DriftState
from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS
from scheduler_view.quotas.rules.quota_objects import (
    class_key_of,
    desired_class,
    desired_quotas,
)

log = structlog.get_logger(__name__)
KINDS = (QUOTA, CLASS, *QUEUE_FIELDS)
LATER = "compare again"  # a basis that differs from that of every object
BATCH = 1000  # rows of one statement
_COLUMNS = ("state", "since", "changes", "who", "by_at", "message", "basis")

Body = Mapping[str, Any]


def desired_objects(desired: DesiredState) -> dict[ObjectKey, Body]:
    """Every desired object of a cluster, as it would be applied."""
    found: dict[ObjectKey, Body] = {}
    found |= desired_quotas(desired.targets.values(), desired.tiers)
    for tier in desired.tiers.values():
        name = tier.class_name
        found[class_key_of(name)] = desired_class(name, tier.spec, is_current=True)
    queues: dict[ObjectKey, dict[str, str | None]] = {}
    for (kind, name, field), value in desired.queues.items():
        queues.setdefault(ObjectKey(kind, "", name), {})[field] = value
    return found | {key: {"values": values} for key, values in queues.items()}


def find_drift(
    cluster: Cluster, changed: Collection[ObjectKey], at: datetime
) -> list[Drift]:
    """Compare objects that may have changed; returns the changed rows.

    Args:
        changed: objects that changed since the last comparison.
        at: the current time.
    """
    desired = desired_of(cluster)
    wanted = desired_objects(desired)
    earlier = {
        class_key_of(name)
        for tier in desired.tiers.values()
        for name in tier.classes[1:]
    }
    bases = {key: _digest(body) for key, body in wanted.items()}
    with transaction.atomic():
        # parallel comparisons of one cluster wait for each other
        lock("drift", cluster.pk)
        known = _bases(cluster)
        asked = {key for key in changed if key.kind in KINDS}
        asked |= {
            key
            for key in bases.keys() | known.keys()
            if key not in known or known[key][1] != bases.get(key, "")
        }
        asked -= _put_off(asked, known, _being_applied(cluster))
        live = _observed(cluster, asked)
        before = _rows(known[key][0] for key in asked if key in known)
        rows, gone = [], []
        added = added_names() if asked else {}
        for key in sorted(asked):
            # Earlier versions of a tier are kept as long as pods may have them.
            standing = (
                None
                if key in earlier
                else standing_of(key, wanted.get(key), live.get(key), added)
            )
            old = before.get(key)
            if standing is None:
                gone += [old.pk] if old else []
            elif row := _row(cluster, key, standing, bases.get(key, ""), old, at):
                rows.append(row)
        _write(rows)
        Drift.objects.filter(pk__in=gone).delete()
    for row in rows:
        if row.state == DriftState.DIFFERS:
            log.info("differs", cluster=cluster.name, object=str(row), who=row.who)
    return rows


def _row(
    cluster: Cluster,
    key: ObjectKey,
    standing: DriftStatus,
    basis: str,
    old: Drift | None,
    at: datetime,
) -> Drift | None:
    """A row to write; None if nothing changed."""
    changes = [[c.field, c.before, c.after] for c in standing.changes]
    is_same = old is not None and (old.state, old.changes) == (standing.state, changes)
    if is_same and old is not None and old.basis == basis:
        return None
    return Drift(
        cluster=cluster,
        kind=key.kind,
        namespace=key.namespace,
        name=key.name,
        state=standing.state,
        since=old.since if is_same and old is not None else at,
        changes=changes,
        who=standing.who[:253],
        by_at=parse_datetime(standing.when) if standing.when else None,
        message=standing.message,
        basis=basis,
    )


def _write(rows: list[Drift]) -> None:
    Drift.objects.bulk_create(
        rows,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["cluster", "kind", "namespace", "name"],
        update_fields=_COLUMNS,
    )


def _bases(cluster: Cluster) -> dict[ObjectKey, tuple[int, str]]:
    """Number and basis of each row."""
    rows = Drift.objects.filter(cluster=cluster).values_list(
        "kind", "namespace", "name", "pk", "basis"
    )
    return {ObjectKey(*row[:3]): row[3:] for row in rows}


def _rows(numbers: Iterable[int]) -> dict[ObjectKey, Drift]:
    found = Drift.objects.filter(pk__in=list(numbers))
    return {ObjectKey(row.kind, row.namespace, row.name): row for row in found}


def _put_off(
    asked: Collection[ObjectKey],
    known: Mapping[ObjectKey, tuple[int, str]],
    applying: set[ObjectKey],
) -> set[ObjectKey]:
    """Objects that are being applied: compared the next time in any case."""
    rows = [known[key][0] for key in applying.intersection(asked) if key in known]
    Drift.objects.filter(pk__in=rows).update(basis=LATER)
    return applying


def _being_applied(cluster: Cluster) -> set[ObjectKey]:
    steps = ChangeStep.objects.filter(
        change_set__in=ChangeSet.objects.filter(
            cluster=cluster, state=ChangeState.APPLYING
        )
    )
    return {ObjectKey(*one) for one in steps.values_list("kind", "namespace", "name")}


def _observed(
    cluster: Cluster, keys: Collection[ObjectKey]
) -> dict[ObjectKey, dict[str, Any]]:
    """Stored objects: few keys by name, many in one read."""
    rows = Observation.objects.filter(cluster=cluster, kind__in=KINDS)
    if len(keys) <= BATCH:
        rows = rows.filter(
            Q(name__in={key.name for key in keys}),
            namespace__in={key.namespace for key in keys},
        )
    found = {
        ObjectKey(kind, namespace, name): manifest
        for kind, namespace, name, manifest in rows.values_list(
            "kind", "namespace", "name", "manifest"
        )
    }
    return {key: found[key] for key in keys if key in found}


def _digest(body: Body) -> str:
    text = msgspec.json.encode(body, order="sorted")
    return sha256(text).hexdigest()[:32]
