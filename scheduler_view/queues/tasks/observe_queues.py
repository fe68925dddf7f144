"""Explains why work waits, from the objects of a cluster; stores what changed (scheduling.md S5).

Objects that were just listed for other purposes are not listed again. A kind that may not be
listed is recorded, and its absence proves nothing; the explanation is made without it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from accounting.core.interval import to_instant, to_ms
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.resources import added_names
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import ClusterError, Forbidden, NotFound
from scheduler_view.clusters.client.kinds import (
    EVENT,
    POD,
    READ_FOR_WAITS,
    READ_IF_ALLOWED,
)
from scheduler_view.clusters.client.live import LiveObject
from scheduler_view.clusters.models import WAITS, ObservationRun
from scheduler_view.clusters.tasks.observe import note_error
from scheduler_view.queues.tasks.queues import store_queues
from scheduler_view.queues.tasks.queues_from_metrics import shown_waits, store_shown
from scheduler_view.waits.models import UnitWait
from scheduler_view.waits.reads.held_activity import HeldActivity
from scheduler_view.waits.rules.cause import WaitCause
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.node_notes import notes_of_cluster
from scheduler_view.waits.rules.world.events import READ_FIELDS
from scheduler_view.waits.rules.world.world import World, read_world
from scheduler_view.waits.tasks.explanations import locked_run, store_explanations

NOT_BEFORE = timedelta(minutes=1)  # a unit is explained at most once a minute

Listed = Mapping[str, Sequence[LiveObject]]


def observe_waits(
    cluster: Cluster, client: ClusterClient, listed: Listed, now: datetime
) -> int:
    """Explain every unit that waits; returns how many rows changed.

    Args:
        listed: objects that were listed just now, by kind.
    """
    run = ObservationRun.objects.filter(cluster=cluster, kind=WAITS).first()
    if run is not None and run.seen_at is not None and run.seen_at > now - NOT_BEFORE:
        return 0
    try:
        found, unread = read_objects(cluster, client, listed)
    except ClusterError as error:  # it does not respond: earlier rows are kept
        note_error(cluster, [WAITS], error)
        return 0
    objects = {kind: manifests_of(live) for kind, live in found.items()}
    world = read_world(objects, to_ms(now), unread=unread, added=added_names())
    return store_waits(cluster, _with_history(cluster, world), now)


def read_objects(
    cluster: Cluster, client: ClusterClient, listed: Listed
) -> tuple[dict[str, Sequence[LiveObject]], set[str]]:
    """The objects of each kind, and the kinds that may not be listed or do not exist."""
    found, unread = dict(listed), set[str]()
    for kind in READ_FOR_WAITS:
        if kind in found:
            continue
        try:
            found[kind] = client.list(kind).objects
        except NotFound:
            unread.add(kind)  # an API that this cluster does not have
        except Forbidden as error:
            note_error(cluster, [kind], error)
            unread.add(kind)
        else:
            _forget_error(cluster, kind)
    for kind in READ_IF_ALLOWED:
        try:
            found[kind] = client.list(kind).objects
        except (NotFound, Forbidden):
            unread.add(kind)  # its labels, and entries of queues, show most of it
    try:
        found[EVENT] = [
            event
            for fields in READ_FIELDS
            for event in client.list(EVENT, fields=fields).objects
        ]
    except (NotFound, Forbidden) as error:
        note_error(cluster, [EVENT], error)
        unread.add(EVENT)
    return found, unread


def _forget_error(cluster: Cluster, kind: str) -> None:
    """A kind that may be listed now is no longer reported as forbidden."""
    runs = ObservationRun.objects.filter(cluster=cluster, kind=kind, is_allowed=False)
    runs.update(error="", code=None, is_allowed=True)


def manifests_of(objects: Iterable[LiveObject]) -> Iterator[Mapping[str, Any]]:
    """Their JSON, decoded one by one: a large cluster's manifests are never in memory together."""
    for one in objects:
        yield one.sent


def _with_history(cluster: Cluster, world: World) -> World:
    """The world with since when nothing has blocked a unit, and how busy its holders are."""
    rows = UnitWait.objects.filter(
        cluster=cluster, cause__in=(WaitCause.RETRY_PENDING, WaitCause.OTHER)
    )
    since = {
        f"{row.kind}/{row.namespace}/{row.name}": to_ms(
            datetime.fromisoformat(row.content["free_since"])
        )
        for row in rows.only("kind", "namespace", "name", "content")
        if row.content.get("free_since")
    }
    holds = HeldActivity(cluster.pk, to_instant(world.now_ms))
    return replace(world, free_since_ms=since, holds=holds)


Note = Mapping[str, Any]


def kept_notes(
    old: Iterable[Note], new: Iterable[Note], now_ms: int
) -> list[dict[str, Any]]:
    """Notes of nodes with since when each has been seen; numbers of pods may change."""
    since = {_key(one): one["since_ms"] for one in old}
    return [{**one, "since_ms": since.get(_key(one), now_ms)} for one in new]


def _key(note: Note) -> tuple[Any, ...]:
    names = ("kind", "node", "taint", "budget", "namespace")
    return tuple(note.get(name) for name in names)


def store_waits(cluster: Cluster, world: World, now: datetime) -> int:
    """Explain and store; returns how many rows changed."""
    with transaction.atomic():
        run = locked_run(cluster, now)
        if run.seen_at is not None and run.seen_at > now - NOT_BEFORE:
            return 0  # another process stored newer ones
        explainer = Explainer(world)
        found = list(explainer.waiting())
        shown = shown_waits(cluster) if POD in world.unread else None
        if shown is not None:  # who waits is not known from objects
            known = {one.subject for one in found}
            found += [one for one in shown.explanations if one.subject not in known]
            store_shown(cluster, shown, now)
        changed = store_explanations(cluster, world, found, now)
        store_queues(cluster, explainer, found, now)
        run.seen_at = run.tried_at = now
        run.error, run.code, run.is_allowed = "", None, True
        run.notes = kept_notes(
            run.notes, notes_of_cluster(explainer.index), world.now_ms
        )
        run.save()
    return changed
