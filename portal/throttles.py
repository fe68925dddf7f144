"""Rate limits of the API: per person, and per address for clients that are not signed in.

Each is a count in the current minute: atomic, so parallel requests all count. The counts are in
Redis, for all processes together. While it does not respond, each process counts separately: the
limit is then multiplied by the number of processes, but still applies.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import redis
import structlog
from django.core.cache import BaseCache, caches
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from portal.http.client_address import site_of

if TYPE_CHECKING:  # the views import this module while they are defined
    from rest_framework.views import APIView

log = structlog.get_logger(__name__)
SHARED, OWN = "default", "process"  # names of caches
ASK_AGAIN_S = 10.0  # how long Redis is not tried again after a failure


class MinuteThrottle(SimpleRateThrottle):
    """A number of requests of one client in a minute of the clock."""

    num_requests: int  # the framework reads both from the rate, such as 600/min
    duration: int  # seconds
    _silent_until = 0.0  # of the monotonic clock, for all throttles of this process

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Whether this request is within its limit; it counts in any case."""
        key = self.get_cache_key(request, view)
        if key is None:
            return True
        now = time.time()
        window = int(now // self.duration)
        self._left = self.duration - now % self.duration
        return self._count(f"{key}:{window}") <= self.num_requests

    def wait(self) -> float:
        """Seconds until the next window."""
        return self._left

    def _count(self, key: str) -> int:
        """The number of requests in this minute, including this one."""
        if time.monotonic() >= MinuteThrottle._silent_until:
            try:
                return _increased(caches[SHARED], key, self.duration)
            except redis.RedisError as error:
                MinuteThrottle._silent_until = time.monotonic() + ASK_AGAIN_S
                log.warning(
                    "Redis does not respond: rate limits are counted per process",
                    error=str(error),
                )
        return _increased(caches[OWN], key, self.duration)


def _increased(cache: BaseCache, key: str, duration: float) -> int:
    if cache.add(key, 1, timeout=2 * duration):
        return 1
    try:
        return cache.incr(key)
    except ValueError:  # it expired in the meantime
        return 1


class AnonymousThrottle(MinuteThrottle):
    """By address: clients without a token or with a wrong one."""

    scope = "anon"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        """None for a person."""
        del view
        if request.user.is_authenticated:
            return None
        ident = site_of(request.META.get("REMOTE_ADDR", ""))
        return self.cache_format % {"scope": self.scope, "ident": ident}


class PersonThrottle(MinuteThrottle):
    """By person, over all their tokens and sessions."""

    scope = "user"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        """None for clients that are not signed in."""
        del view
        if not request.user.is_authenticated:
            return None
        return self.cache_format % {"scope": self.scope, "ident": request.user.pk}
