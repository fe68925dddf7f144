"""Rate limits of the API; without Redis they let everybody through, and say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import redis
import structlog
from rest_framework.request import Request
from rest_framework.throttling import (
    AnonRateThrottle,
    SimpleRateThrottle,
    UserRateThrottle,
)

if TYPE_CHECKING:  # the views import this module while they are made
    from rest_framework.views import APIView

log = structlog.get_logger(__name__)


class LenientThrottle(SimpleRateThrottle):
    """A limit that protects the product must not take it down with Redis."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Whether this request is within its limit."""
        try:
            return super().allow_request(request, view)
        except redis.RedisError as error:
            log.warning("no rate limit: Redis does not answer", error=str(error))
            return True


class AnonymousThrottle(LenientThrottle, AnonRateThrottle):
    """By address."""


class PersonThrottle(LenientThrottle, UserRateThrottle):
    """By person."""
