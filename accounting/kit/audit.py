"""Actor and reason of changes: one transaction with its history context."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import pghistory
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from structlog.contextvars import get_contextvars

SYSTEM = "system"  # the actor of commands and workers

Actor = AbstractBaseUser | str
_outer: ContextVar[str] = ContextVar("outer_actor", default="")  # "" outside of `act`


@contextmanager
def act(
    actor: Actor, reason: str, *, by_worker: bool = False, requested_by: str = ""
) -> Iterator[None]:
    """A transaction whose history rows have the actor, the reason and the id of the request.

    Inside another one, it is a part of what the outer actor does: history has one actor and one
    reason for a transaction, those of the decision, and not of the steps that follow from it. What
    the system began is that of the person for whom a step is done.

    Args:
        actor: who decided it, even if a worker carries it out later.
        by_worker: a worker carries it out.
        requested_by: who requested it, if that is another person.
    """
    if _outer.get() not in ("", SYSTEM):
        with transaction.atomic():
            yield
        return
    name = actor if isinstance(actor, str) else actor.get_username()
    user_id = None if isinstance(actor, str) else actor.pk
    more: dict[str, bool | str] = {}
    if by_worker and name != SYSTEM:
        more["by_worker"] = True
    if requested_by and requested_by not in (name, SYSTEM):
        more["requested_by"] = requested_by
    request_id = get_contextvars().get("request_id", "")  # also in the logs of workers
    before = _outer.set(name)
    try:
        with (
            transaction.atomic(),
            pghistory.context(
                actor=name, user=user_id, reason=reason, request_id=request_id, **more
            ),
        ):
            yield
    finally:
        _outer.reset(before)
