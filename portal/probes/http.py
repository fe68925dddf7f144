"""Probes: is this process alive, and can it do its work.

A middleware and not a view, because a probe sends no host name, has no session and must not be
redirected to https.
"""

from collections.abc import Callable

import redis
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse

REDIS_TIMEOUT = 2  # seconds; a probe that hangs is useless


def postgres_answers() -> bool:
    """True if PostgreSQL answers a query on this process's connection."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return True
    except (DatabaseError, InterfaceError):
        connection.close()  # the next probe starts with a new one
        return False


def redis_answers() -> bool:
    """True if Redis responds in time."""
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=REDIS_TIMEOUT,
        socket_connect_timeout=REDIS_TIMEOUT,
    )
    try:
        with client:
            return bool(client.ping())
    except redis.RedisError:
        return False


class HealthMiddleware:
    """Answers `/healthz` (alive, without checks) and `/readyz`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path == "/healthz":
            return HttpResponse("ok\n", content_type="text/plain")
        if request.path == "/readyz":
            return readiness()
        return self.get_response(request)


def readiness() -> JsonResponse:
    """200 if everything responds, else 503 with the part that does not."""
    parts = {"postgres": postgres_answers(), "redis": redis_answers()}
    return JsonResponse(parts, status=200 if all(parts.values()) else 503)
