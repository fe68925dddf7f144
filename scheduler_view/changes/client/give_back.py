"""Sends a step that gives an object back: its values, then the managers of its fields."""

from collections.abc import Callable

from scheduler_view.changes.client.queues import send_queue
from scheduler_view.changes.rules.queue_steps import is_done
from scheduler_view.changes.rules.steps import PlanStep
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import Invalid
from scheduler_view.clusters.rules.former import (
    manager_operations,
    value_operations,
    whole_body,
)
from scheduler_view.clusters.rules.live_objects import CLASS, Manifest
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS

MANAGERS_TRIED = 5  # others write the status of the object at the same time
_HEAD = {"apiVersion", "kind", "metadata"}
_IMMUTABLE = {"value", "preemptionPolicy"}


def give_back(
    client: ClusterClient,
    step: PlanStep,
    live: Manifest | None,
    *,
    read: Callable[[], Manifest | None] | None = None,
) -> None:
    """Send a step; it may be sent again after any of its calls.

    Args:
        client: the pusher.
        step: with `former`.
        live: the object as just read.
        read: reads it again; None for a dry run: everything except the writes.

    Raises:
        ClusterError: it failed; nothing was overwritten that was written meanwhile.
    """
    former, key, dry_run = step.former, step.key, read is None
    if former is None:
        raise ValueError(f"{key} has nothing to give back")
    if live is not None and is_recreated(step):
        if dry_run:
            return
        client.delete(key.kind, key.name, key.namespace, uid=step.pin.uid)
        live = None
    if live is not None and step.key.kind in QUEUE_FIELDS:
        _queue(client, step, live, dry_run=dry_run)
        made = read() if read else live
    elif live is None:
        body = whole_body(former, step.body)
        made = client.apply(body, dry_run=dry_run, force=True).manifest
    else:
        values = value_operations(former, live)
        made = live
        if values:
            made = client.patch(key.kind, live, values, dry_run=dry_run).manifest
    if read is None:
        return
    _managers(client, step, made, read)
    if live is not None:
        _apply_rest(client, step)


def _apply_rest(client: ClusterClient, step: PlanStep) -> None:
    """What stays managed, without what is given back."""
    kind, body, uid = step.key.kind, step.body, step.pin.uid
    if body is None:
        return
    if kind not in QUEUE_FIELDS:
        client.apply(body, force=step.force, uid=uid)
    elif QUEUE_FIELDS[kind].is_applied and body.keys() - _HEAD:
        client.apply_fields(kind, body, uid=uid, force=step.force)


def _queue(
    client: ClusterClient, step: PlanStep, live: Manifest, *, dry_run: bool
) -> None:
    """The values of a queue."""
    kind, former = step.key.kind, step.former
    if former is None:
        return
    if not QUEUE_FIELDS[kind].is_applied:
        if not is_done(step, live):
            send_queue(client, step, live, dry_run=dry_run)
        return
    if values := value_operations(former, live):
        client.patch(kind, live, values, dry_run=dry_run)


def is_recreated(step: PlanStep) -> bool:
    """True for a priority class whose former value cannot be set in place."""
    return step.key.kind == CLASS and any(c.field in _IMMUTABLE for c in step.changes)


def _managers(
    client: ClusterClient,
    step: PlanStep,
    live: Manifest | None,
    read: Callable[[], Manifest | None],
) -> None:
    """Others may write the object at the same time: then it is read again."""
    for left in reversed(range(MANAGERS_TRIED)):
        if live is None or step.former is None:
            return
        operations = manager_operations(step.former, live)
        if not operations:
            return
        try:
            client.patch(step.key.kind, live, operations)
        except Invalid:
            if not left:
                raise
            live = read()
        else:
            return
