"""Observes a cluster and stores its objects; writes only changes.

A list that started before newer data was stored is dropped: an old list never overwrites a
watch event. A kind that may not be listed, or that fails, does not affect the others.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

import msgspec
import structlog
from django.db import transaction
from django.utils import timezone

from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.resources import added_names
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import ClusterError, Forbidden, NotFound
from scheduler_view.clusters.client.kinds import LIMIT_RANGE, NAMESPACE, NODE, POD
from scheduler_view.clusters.client.live import LiveObject, WatchEvent
from scheduler_view.clusters.models import Observation, ObservationRun
from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.quota_key import NONE_ADDED, Added
from scheduler_view.clusters.rules.schedulers import QUEUE_OBJECTS
from scheduler_view.clusters.rules.stored_manifest import FAULTS, kept

log = structlog.get_logger(__name__)
KINDS = (QUOTA, CLASS, NAMESPACE, LIMIT_RANGE, NODE, POD)  # the most important first
BATCH = 1000  # rows of one statement
_CONTENT = ("uid", "resource_version", "digest", "manifest", "changed_at")


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of an observation.

    Attributes:
        changed: objects that are new, changed or deleted.
        errors: by kind, as text; empty on success.
        count: objects seen.
        listed: the objects by kind, as the API server sent them.
    """

    changed: frozenset[ObjectKey] = frozenset()
    errors: dict[str, str] = field(default_factory=dict)
    count: int = 0
    listed: Mapping[str, Sequence[LiveObject]] = field(default_factory=dict)


def observe(
    cluster: Cluster, client: ClusterClient, kinds: Sequence[str] = KINDS
) -> Seen:
    """List a cluster's objects and store what changed; errors are stored, not raised."""
    changed: set[ObjectKey] = set()
    errors: dict[str, str] = {}
    listed: dict[str, Sequence[LiveObject]] = {}
    for index, kind in enumerate(kinds):
        began = timezone.now()
        try:
            objects = client.list(kind).objects
        except Forbidden as error:
            errors[kind] = note_error(cluster, [kind], error)
        except ClusterError as error:
            # It would not respond for the others either, and each would wait for the timeout.
            message = note_error(cluster, kinds[index:], error)
            errors |= dict.fromkeys(kinds[index:], message)
            break
        else:
            changed |= store_all(cluster, kind, objects, began)
            listed[kind] = objects
    count = sum(len(objects) for objects in listed.values())
    return Seen(frozenset(changed), errors, count, listed)


def observe_queues(
    cluster: Cluster, client: ClusterClient, kinds: Iterable[str] = QUEUE_OBJECTS
) -> set[ObjectKey]:
    """Queue objects, by kind; nothing is stored for a cluster that never had any.

    Returns the objects that are new, changed or deleted.
    """
    changed: set[ObjectKey] = set()
    asked = list(kinds)
    for index, kind in enumerate(asked):
        began = timezone.now()
        objects: Sequence[LiveObject] | None = None
        try:
            objects = client.list(kind).objects
        except NotFound:  # the cluster does not have its API
            pass
        except Forbidden as error:
            note_error(cluster, [kind], error)
            continue
        except ClusterError as error:
            note_error(cluster, asked[index:], error)
            break
        runs = ObservationRun.objects.filter(cluster=cluster, kind=kind)
        if objects is not None or runs.exists():  # otherwise the scheduler was removed
            changed |= store_all(cluster, kind, objects or (), began)
    return changed


def store_all(
    cluster: Cluster, kind: str, objects: Iterable[LiveObject], began: datetime
) -> set[ObjectKey]:
    """Make the stored objects of a kind equal to a list that started at `began`."""
    with transaction.atomic():
        run = _locked(cluster, kind, began)
        if run.seen_at is not None and run.seen_at > began:
            return set()
        known = {
            (namespace, name): (pk, uid, version, digest)
            for pk, namespace, name, uid, version, digest in Observation.objects.filter(
                cluster=cluster, kind=kind
            ).values_list(
                "pk", "namespace", "name", "uid", "resource_version", "digest"
            )
        }
        added = added_names() if kind == POD else {}
        rows: list[Observation] = []
        for live in objects:
            old = known.pop((live.namespace, live.name), None)
            if old is not None and old[1:3] == (live.uid, live.resource_version):
                continue
            row = _row(cluster, kind, live, began, added)
            if row is None:
                continue
            if old is None or old[1] != row.uid or old[3] != row.digest:
                rows.append(row)
        _write(rows)
        gone = [old[0] for old in known.values()]
        Observation.objects.filter(pk__in=gone).delete()
        _note_seen(run, began)
    stored = {ObjectKey(kind, row.namespace, row.name) for row in rows}
    return stored | {ObjectKey(kind, *place) for place in known}


def store_event(cluster: Cluster, event: WatchEvent) -> set[ObjectKey]:
    """Store one change of a watch; a bookmark shows that nothing was missed."""
    now, live = timezone.now(), event.live
    with transaction.atomic():
        run = _locked(cluster, live.kind, now)
        _note_seen(run, now)
        if event.type == "BOOKMARK":
            return set()
        mine = Observation.objects.filter(
            cluster=cluster, kind=live.kind, namespace=live.namespace, name=live.name
        )
        row = None if event.type == "DELETED" else _row(cluster, live.kind, live, now)
        if row is None:
            mine.delete()
        elif mine.filter(uid=row.uid, digest=row.digest).exists():
            return set()
        else:
            _write([row])
    return {ObjectKey(live.kind, live.namespace, live.name)}


def note_error(cluster: Cluster, kinds: Iterable[str], error: ClusterError) -> str:
    """Store why some kinds could not be observed; earlier objects are kept."""
    is_allowed = not isinstance(error, Forbidden)
    for kind in kinds:
        ObservationRun.objects.update_or_create(
            cluster=cluster,
            kind=kind,
            defaults={
                "tried_at": timezone.now(),
                "error": error.message,
                "code": error.code,
                "is_allowed": is_allowed,
            },
        )
    return error.message


def _locked(cluster: Cluster, kind: str, at: datetime) -> ObservationRun:
    """The row of a kind, locked: every process that stores its objects waits for it."""
    ObservationRun.objects.get_or_create(
        cluster=cluster, kind=kind, defaults={"tried_at": at}
    )
    return ObservationRun.objects.select_for_update().get(cluster=cluster, kind=kind)


def _note_seen(run: ObservationRun, at: datetime) -> None:
    run.seen_at = run.tried_at = at
    run.error, run.code, run.is_allowed = "", None, True
    run.save()


def _row(
    cluster: Cluster,
    kind: str,
    live: LiveObject,
    at: datetime,
    added: Added = NONE_ADDED,
) -> Observation | None:
    manifest = kept(kind, live.sent, added)
    if manifest is None:
        return None
    if FAULTS in manifest:
        log.warning(
            "wrong fields",
            cluster=cluster.name,
            kind=kind,
            name=live.name,
            faults=manifest[FAULTS],
        )
    text = msgspec.json.encode(manifest, order="sorted")
    return Observation(
        cluster=cluster,
        kind=kind,
        namespace=live.namespace,
        name=live.name,
        uid=live.uid,
        resource_version=live.resource_version,
        digest=sha256(text).hexdigest()[:32],
        manifest=manifest,
        changed_at=at,
    )


def _write(rows: list[Observation]) -> None:
    Observation.objects.bulk_create(
        rows,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["cluster", "kind", "namespace", "name"],
        update_fields=_CONTENT,
    )
