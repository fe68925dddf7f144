"""A request that is sent twice is done once: the same key gets the same answer."""

import hashlib
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction

from accounting.kit.models.idempotency import IdempotencyKey

LONGEST_KEY = 200
KEPT = timedelta(days=1)


class KeyReused(Exception):
    """The key was used with another request."""


def digest_of(*parts: Any) -> str:
    """A digest of a request."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def once(
    *, user_id: int, key: str, digest: str, at: datetime, make: Callable[[], Any]
) -> tuple[Any, bool]:
    """Do something, or find what it was answered with; and whether it was done now.

    If two requests are parallel, the second waits for the first. A failed request stores no key: it
    can be corrected and sent again with the same one.

    Args:
        user_id: of the person; keys of others are others.
        key: "" to do it each time.
        digest: of the request.
        at: time of the request.
        make: does it, and returns what JSON can store.

    Raises:
        KeyReused: the key was used with another request.
    """
    if not key:
        return make(), True
    try:
        with transaction.atomic():
            row = IdempotencyKey.objects.create(
                user_id=user_id, key=key, digest=digest, made_at=at
            )
            row.answer = make()
            row.save(update_fields=["answer"])
            return row.answer, True
    except IntegrityError:
        known = IdempotencyKey.objects.filter(user_id=user_id, key=key).first()
        if known is None:
            raise
    if known.digest != digest:
        raise KeyReused("this key was used for a different request: use a new key")
    return known.answer, False


def forget_keys(at: datetime) -> int:
    """Delete keys after a day; returns their number."""
    return IdempotencyKey.objects.filter(made_at__lt=at - KEPT).delete()[0]
