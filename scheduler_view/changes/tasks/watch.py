"""Finds what differs from the desired state in a cluster: once, or following its changes.

A watch reports a change within a second; every five minutes everything is also listed, so that a
missed event, or a watch that does not run, only delays the observation.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog
from django.db import DatabaseError, connections

from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.tasks.drift import find_drift
from scheduler_view.clusters.client.access import AccessRole
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import ClusterError, WatchExpired
from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS
from scheduler_view.clusters.tasks.cluster_connection import (
    Connect,
    connect_to,
    visible_clusters,
)
from scheduler_view.clusters.tasks.observe import (
    Seen,
    note_error,
    observe,
    observe_queues,
    store_all,
    store_event,
)

WATCHED = (QUOTA, CLASS)
WATCH_S = 300.0  # of one watch; then everything is listed again
END_S = 5.0  # for a watch to end before it is stopped
SET_UP_S = 30.0  # between two reads of the list of clusters
REST_S, LONGEST_REST_S = 1.0, 60.0  # after an error; doubles while it lasts

log = structlog.get_logger(__name__)
Now = Callable[[], datetime]
Also = Callable[[ClusterClient, Seen], set[ObjectKey]]


def look_at(
    cluster: Cluster,
    kinds: Sequence[str],
    *,
    now: Now,
    connect: Connect = connect_to,
    also: Also | None = None,
) -> Seen:
    """Store the objects of some kinds, and find differences from the desired state.

    If a cluster does not respond, its stored objects are kept; its observation runs have the
    reason.

    Args:
        also: what else is observed by the same connection; returns the objects that changed.
    """
    try:
        with connect(cluster, AccessRole.READER) as client:
            listed = [kind for kind in kinds if kind not in QUEUE_FIELDS]
            seen = observe(cluster, client, listed)
            changed = set(seen.changed)
            changed |= observe_queues(cluster, client, QUEUE_FIELDS.keys() & set(kinds))
            if also is not None:
                changed |= also(client, seen)
    except ClusterError as error:  # no credentials: nothing was read
        message = note_error(cluster, kinds, error)
        return Seen(errors=dict.fromkeys(kinds, message))
    if any(k in kinds and k not in seen.errors for k in (*WATCHED, *QUEUE_FIELDS)):
        find_drift(cluster, changed, now())
    return seen


def follow(
    cluster: Cluster,
    *,
    now: Now,
    ending: threading.Event,
    connect: Connect = connect_to,
    watch_s: float = WATCH_S,
) -> None:
    """Follow a cluster's quotas and priority classes until `ending` is set.

    An idle watch ends with its process; it has nothing to lose.
    """
    threads = [
        threading.Thread(
            target=_follow_kind,
            args=(cluster, kind, now, ending, connect, watch_s),
            name=f"{cluster.name}-{kind}",
            daemon=True,
        )
        for kind in WATCHED
    ]
    for thread in threads:
        thread.start()
    ending.wait()
    for thread in threads:
        thread.join(END_S)


def follow_all(
    *,
    now: Now,
    ending: threading.Event,
    alive: Callable[[], None],
    only: str = "",
    pause_s: float = SET_UP_S,
    watch_s: float = WATCH_S,
) -> None:
    """Follow every cluster with a reader until `ending` is set.

    Clusters that are connected later are included; a cluster with changed settings is restarted,
    and a removed one is stopped.

    Args:
        only: the name of a cluster; empty for all.
        alive: called in each round in which every thread runs.
        pause_s: between two reads of the list of clusters.
    """
    following: dict[str, _Following] = {}
    begin = partial(follow, now=now, watch_s=watch_s)
    while not ending.is_set():
        try:
            wanted = {
                cluster.name: cluster
                for cluster in visible_clusters()
                if not only or cluster.name == only
            }
        except DatabaseError as error:
            log.warning("cannot read the setup", error=str(error))
        else:
            _keep_following(following, wanted, begin)
            if all(one.thread.is_alive() for one in following.values()):
                alive()
        finally:
            connections.close_all()  # this thread's own
        ending.wait(pause_s)
    for one in following.values():
        one.ending.set()
    for one in following.values():
        one.thread.join(2 * END_S)


@dataclass(frozen=True, slots=True)
class _Following:
    """One cluster that is followed."""

    settings: object
    ending: threading.Event
    thread: threading.Thread


def _keep_following(
    following: dict[str, _Following],
    wanted: dict[str, Cluster],
    begin: Callable[..., None],
) -> None:
    """Stop clusters that are no longer wanted in this form, and start new ones."""
    for name, one in list(following.items()):
        cluster = wanted.get(name)
        if cluster is None or cluster.kubernetes != one.settings:
            one.ending.set()
            del following[name]
    for name, cluster in wanted.items():
        if name in following and following[name].thread.is_alive():
            continue
        ending = threading.Event()
        run = partial(begin, cluster, ending=ending)
        thread = threading.Thread(target=run, name=name, daemon=True)
        following[name] = _Following(cluster.kubernetes, ending, thread)
        thread.start()
        log.info("following", cluster=name)


def _follow_kind(
    cluster: Cluster,
    kind: str,
    now: Now,
    ending: threading.Event,
    connect: Connect,
    watch_s: float,
) -> None:
    rest_s = REST_S
    while not ending.is_set():
        try:
            with connect(cluster, AccessRole.READER) as client:
                while not ending.is_set():
                    _watch_once(cluster, kind, client, now, ending, watch_s)
                    rest_s = REST_S
        except WatchExpired:
            continue  # the next list includes what was missed
        except ClusterError as error:
            note_error(cluster, [kind], error)
            rest_s = min(LONGEST_REST_S, 2 * rest_s)
            ending.wait(error.retry_after_s or rest_s)
        except DatabaseError as error:
            log.warning("cannot store what was seen", cluster=cluster.name, error=error)
            rest_s = min(LONGEST_REST_S, 2 * rest_s)
            ending.wait(rest_s)
        finally:
            connections.close_all()  # this thread's own


def _watch_once(
    cluster: Cluster,
    kind: str,
    client: ClusterClient,
    now: Now,
    ending: threading.Event,
    watch_s: float,
) -> None:
    """List, then watch from there; an error of the list is stored and raised."""
    began = now()
    listing = client.list(kind)
    changed = store_all(cluster, kind, listing.objects, began)
    find_drift(cluster, changed, now())
    for event in client.watch(kind, listing.resource_version, for_s=watch_s):
        changed = store_event(cluster, event)
        find_drift(cluster, changed, now())
        if ending.is_set():
            return
