"""Actor and reason of changes: one transaction with its history context."""

from collections.abc import Iterator
from contextlib import contextmanager

import pghistory
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from structlog.contextvars import get_contextvars

SYSTEM = "system"  # the actor of commands and workers

Actor = AbstractBaseUser | str


@contextmanager
def act(
    actor: Actor, reason: str, *, by_worker: bool = False, requested_by: str = ""
) -> Iterator[None]:
    """A transaction whose history rows have the actor, the reason and the id of the request.

    Args:
        actor: who decided it, even if a worker carries it out later.
        by_worker: a worker carries it out.
        requested_by: who requested it, if that is another person.
    """
    name = actor if isinstance(actor, str) else actor.get_username()
    user_id = None if isinstance(actor, str) else actor.pk
    more: dict[str, bool | str] = {}
    if by_worker and name != SYSTEM:
        more["by_worker"] = True
    if requested_by and requested_by not in (name, SYSTEM):
        more["requested_by"] = requested_by
    request_id = get_contextvars().get("request_id", "")  # also in the logs of workers
    with (
        transaction.atomic(),
        pghistory.context(
            actor=name, user=user_id, reason=reason, request_id=request_id, **more
        ),
    ):
        yield
