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
def act(actor: Actor, reason: str) -> Iterator[None]:
    """A transaction whose history rows have the actor, the reason and the id of the request."""
    name = actor if isinstance(actor, str) else actor.get_username()
    user_id = None if isinstance(actor, str) else actor.pk
    request_id = get_contextvars().get("request_id", "")  # also in the logs of workers
    with (
        transaction.atomic(),
        pghistory.context(
            actor=name, user=user_id, reason=reason, request_id=request_id
        ),
    ):
        yield
