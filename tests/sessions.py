"""Sessions of people in tests, without the way there: signing in has tests of its own."""

from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import VALID_KEY_CHARS
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils.crypto import get_random_string


def give(client: Client, user: Any, backend: str | None = None) -> None:
    """Write a session of a user, and let a client have its cookie.

    Args:
        client: of Django; its browser has no session yet, or forgets it.
        user: who signs in.
        backend: who said so; without one, the user knows (`Client.login`).
    """
    store = SessionStore()
    seen = {
        SESSION_KEY: str(user.pk),
        BACKEND_SESSION_KEY: backend or user.backend,
        HASH_SESSION_KEY: user.get_session_auth_hash(),
    }
    made = Session.objects.create(
        session_key=get_random_string(32, VALID_KEY_CHARS),
        session_data=store.encode(seen),
        expire_date=store.get_expiry_date(),
    )
    client.cookies[settings.SESSION_COOKIE_NAME] = made.session_key
