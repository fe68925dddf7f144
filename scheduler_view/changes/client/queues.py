"""Sends the step of a queue: a JSON patch, or an apply of the fields that we own."""

from scheduler_view.changes.rules.queue_steps import patch_of
from scheduler_view.changes.rules.steps import PlanStep
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.rules.live_objects import Manifest
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS


def send_queue(
    client: ClusterClient, step: PlanStep, live: Manifest, *, dry_run: bool = False
) -> None:
    """Send a step once.

    Args:
        client: the pusher.
        step: of a kind in `QUEUE_FIELDS`, with a body.
        live: the object as just read.
        dry_run: everything except the write.

    Raises:
        ClusterError: it failed.
        StalePatch: the object is not as planned any more; nothing was sent.
    """
    kind = step.key.kind
    if QUEUE_FIELDS[kind].is_applied:
        body = step.body or {}
        client.apply_fields(
            kind, body, uid=step.pin.uid, dry_run=dry_run, force=step.force
        )
    else:
        client.patch(kind, live, patch_of(step, live), dry_run=dry_run)
