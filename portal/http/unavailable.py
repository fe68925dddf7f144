"""Errors that pass: PostgreSQL is away, or a lock has another holder for too long.

Clients repeat such a request, and monitors do not count a defect: 503 and 409 with `Retry-After`.
Every other error of the database is one of ours.
"""

from dataclasses import dataclass

import psycopg
from django.conf import settings
from django.db import Error, connection

LOCK_WAIT_S = (
    3  # of a request; without a limit, some that wait for one lock hold all threads
)
_AWAY = (
    "08",
    "57P01",
    "57P02",
    "57P03",
    "53300",
)  # SQLSTATE; 53300: too many connections


@dataclass(frozen=True, slots=True)
class Passing:
    """What to answer: status, `Retry-After` in seconds, and texts for people."""

    status: int
    retry_s: int
    title: str
    text: str


AWAY = Passing(
    503,
    10,
    "The portal is not available at this time",
    "The database does not respond. When it does, all work continues where it stopped.",
)
LOCKED = Passing(
    409,
    5,
    "Another change is in progress",
    "This request needs data that another change is using. Nothing was saved: try again.",
)


def passing(error: BaseException | None) -> Passing | None:
    """What to answer to a passing error; None for all others."""
    cause = error.__cause__ if isinstance(error, Error) else None
    if not isinstance(cause, psycopg.Error):
        return None
    if isinstance(cause, psycopg.errors.LockNotAvailable):
        return LOCKED
    if cause.sqlstate is not None:
        return AWAY if cause.sqlstate.startswith(_AWAY) else None
    if isinstance(cause, psycopg.InterfaceError):  # also of wrong use
        session = connection.connection
        return AWAY if session is None or session.closed else None
    return AWAY if isinstance(cause, psycopg.OperationalError) else None


def limit_lock_waits() -> None:
    """New sessions of this process wait for a lock for some seconds only."""
    options = settings.DATABASES["default"]["OPTIONS"]
    options["options"] = f"{options['options']} -c lock_timeout={LOCK_WAIT_S}s"
