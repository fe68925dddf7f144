"""Sends one step to the API server, and determines its outcome."""

from dataclasses import dataclass, replace
from enum import StrEnum

from accounting.kit.failpoints import reach
from scheduler_view.changes.client.give_back import give_back, is_recreated
from scheduler_view.changes.client.queues import send_queue
from scheduler_view.changes.rules.queue_steps import StalePatch, is_done
from scheduler_view.changes.rules.steps import Action, PlanStep, matches
from scheduler_view.changes.tasks.cluster_snapshot import get_or_none
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import (
    ClusterError,
    FieldConflict,
    Invalid,
    NotConfigured,
    NotFound,
    TlsFailure,
    Unauthorized,
    WriteConflict,
)
from scheduler_view.clusters.client.kinds import NAMESPACE
from scheduler_view.clusters.rules.former import is_given_back, value_operations
from scheduler_view.clusters.rules.live_objects import Manifest, Pin, pin_of
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS

HOPELESS = (
    NotConfigured,
    TlsFailure,
    WriteConflict,
)  # the next object would fail in the same way
TOKEN_REST_S = 60.0  # before a token that was not accepted is tried again
PATCHES_TRIED = 3  # of an object that others write at the same time
READ_BACK = "found in the cluster when it was read back"


class Fate(StrEnum):
    """The outcome of a step."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    LATER = "later"  # a temporary error: the same step is retried
    STOPPED = "stopped"  # neither this nor any other step can be done


@dataclass(frozen=True, slots=True)
class PushResult:
    """An outcome with the server's message.

    Attributes:
        waits_for_token: a person must renew a token.
        is_not_done: the API server did not accept the token, so it did nothing.
    """

    fate: Fate
    message: str = ""
    code: int | None = None
    retry_after_s: float | None = None
    waits_for_token: bool = False
    is_not_done: bool = False


def settled(
    reader: ClusterClient, step: PlanStep, *, was_sent: bool
) -> PushResult | None:
    """The outcome of a step without sending it; None if it must be sent.

    Args:
        was_sent: it may have been sent before, and the outcome is not known.

    Raises:
        ClusterError: the cluster cannot be read.
    """
    live = get_or_none(reader, step.key)
    if was_sent and _is_done(step, live):
        return PushResult(Fate.APPLIED, READ_BACK)
    if was_sent and _is_half_done(step, live):
        return None
    why = step.pin.difference(_pin(reader, step, live))
    if why:
        return _stale(why)
    if step.action == Action.KEEP:
        return PushResult(Fate.UNCHANGED, "unchanged; nothing was written")
    if step.blocked:
        return PushResult(Fate.REFUSED, step.blocked)
    return None


def _is_half_done(step: PlanStep, live: Manifest | None) -> bool:
    """True between the calls of a step that needs several."""
    if live is None:  # removed, and not created yet
        return step.action == Action.REPLACE or is_recreated(step)
    former = step.former
    return former is not None and not value_operations(former, live)


def send(pusher: ClusterClient, reader: ClusterClient, step: PlanStep) -> PushResult:
    """Send a step; an unknown outcome is read back at once."""
    try:
        _send(pusher, step, reader)
    except StalePatch as stale:
        return _stale(str(stale))
    except ClusterError as error:
        if not error.is_outcome_unknown:
            # of several calls, an earlier one may have been accepted
            is_one_call = step.action != Action.REPLACE and step.former is None
            is_not_done = is_one_call and isinstance(error, Unauthorized)
            return replace(outcome_of(error), is_not_done=is_not_done)
        return _read_back(reader, step, error)
    return PushResult(Fate.APPLIED)


def outcome_of(error: ClusterError) -> PushResult:
    """The outcome of a step that failed with an error."""
    if isinstance(error, HOPELESS):
        return PushResult(Fate.STOPPED, error.message, error.code)
    if error.is_temporary:
        return _later(error)
    if isinstance(error, FieldConflict):
        text = f"Conflict with {error.owner}: {error.message}"
        return PushResult(Fate.REFUSED, text, error.code)
    return PushResult(Fate.REFUSED, error.message, error.code)


def _send(pusher: ClusterClient, step: PlanStep, reader: ClusterClient) -> None:
    key, uid = step.key, step.pin.uid
    if step.action == Action.REMOVE:
        pusher.delete(key.kind, key.name, key.namespace, uid=uid)
    elif step.former is not None:
        give_back(
            pusher,
            step,
            get_or_none(reader, key),
            read=lambda: get_or_none(reader, key),
        )
    elif step.body is None:
        raise ValueError(f"{key} has nothing to send")
    elif key.kind in QUEUE_FIELDS:
        _send_queue(pusher, step, reader)
    elif step.action == Action.REPLACE:
        if get_or_none(reader, key) is not None:
            pusher.delete(key.kind, key.name, key.namespace, uid=uid)
        reach("class_removed")
        pusher.apply(step.body, force=step.force)
    else:
        pusher.apply(step.body, force=step.force, uid=uid)
    reach("step_sent")


def _send_queue(pusher: ClusterClient, step: PlanStep, reader: ClusterClient) -> None:
    """Others may write the object at the same time: if it is as planned, send again."""
    for left in reversed(range(PATCHES_TRIED)):
        live = get_or_none(reader, step.key)
        if live is None:
            raise StalePatch("the object was removed since this plan")
        try:
            send_queue(pusher, step, live)
        except FieldConflict:
            raise
        except (Invalid, WriteConflict):
            if not left:
                raise
        else:
            return


def _is_done(step: PlanStep, live: Manifest | None) -> bool:
    former = step.former
    if former is not None and not is_given_back(former, live):
        return False
    if step.key.kind in QUEUE_FIELDS:
        return is_done(step, live)
    if former is not None and step.body is None:
        return True
    return matches(step.body, live)


def _stale(why: str) -> PushResult:
    text = f"The cluster changed since this plan: {why}. Plan again."
    return PushResult(Fate.REFUSED, text)


def _read_back(
    reader: ClusterClient, step: PlanStep, error: ClusterError
) -> PushResult:
    try:
        if _is_done(step, get_or_none(reader, step.key)):
            return PushResult(Fate.APPLIED, READ_BACK, error.code)
    except ClusterError as unread:
        return _later(unread)
    return _later(error)


def _later(error: ClusterError) -> PushResult:
    is_token = isinstance(error, Unauthorized)
    rest_s = error.retry_after_s or (TOKEN_REST_S if is_token else None)
    return PushResult(Fate.LATER, error.message, error.code, rest_s, is_token)


def _pin(reader: ClusterClient, step: PlanStep, live: Manifest | None) -> Pin:
    """The current pin. An existing object proves its namespace by its own uid."""
    if live is not None or not step.key.namespace:
        return pin_of(live, step.pin.namespace_uid)
    try:
        return pin_of(None, reader.get(NAMESPACE, step.key.namespace).uid)
    except NotFound:
        return Pin()
