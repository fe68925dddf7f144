"""A request that is sent twice is done once: the same key returns the same change set."""

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from scheduler_view.models import ChangeSet, IdempotencyKey

LONGEST_KEY = 200


class KeyReused(Exception):
    """The key was used with another request."""


def digest_of(*parts: Any) -> str:
    """A digest of a request."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def once(
    *,
    user_id: int,
    key: str,
    digest: str,
    at: datetime,
    make: Callable[[], ChangeSet],
) -> tuple[ChangeSet, bool]:
    """Create a change set, or find the one that this key created; and whether it is new.

    If two requests are parallel, the second waits for the first. A failed request stores no key: it
    can be corrected and sent again with the same one.

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
            row.change_set = make()
            row.save(update_fields=["change_set"])
            return row.change_set, True
    except IntegrityError:
        known = IdempotencyKey.objects.filter(user_id=user_id, key=key).first()
    if known is None or known.change_set is None:
        raise KeyReused("a request with this key is running: send the request again")
    if known.digest != digest:
        raise KeyReused("this key was used for a different request: use a new key")
    return known.change_set, False
