"""Requests that hold a thread for long: at most some of the threads of each process.

They are uploads (other than small bodies, which the server receives without a thread) and streamed
answers, whose pace is that of the client. Each kind has a count of its own. Further ones get 429
with `Retry-After`, so that pages and health checks always find a thread.
"""

from collections.abc import Callable, Iterator
from threading import BoundedSemaphore, Lock
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse

from portal.http.refusals import refusal

SMALL_BODY = 65_536  # bytes, as in `patient_worker`
RETRY_S = 10
FILES = frozenset(
    {
        "multipart/form-data",
        "text/csv",
        "application/gzip",
        "application/vnd.apache.parquet",
    }
)
DETAIL = (
    "Too many files are sent or received at this time. Try again in some seconds. Large files of "
    "a month can be written in the background, on the page Exports."
)


class LongRequestMiddleware:
    """Counts uploads and streams of this process."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._uploads = BoundedSemaphore(settings.LONG_UPLOADS)
        self._streams = BoundedSemaphore(settings.LONG_STREAMS)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        slot: _Slot | None = None
        if _is_upload(request):
            slot = _taken(self._uploads)
            if slot is None:
                return _busy(request)
        try:
            answer = self.get_response(request)
        finally:
            if slot is not None:
                slot.release()
        if isinstance(answer, StreamingHttpResponse):
            slot = _taken(self._streams)
            if slot is None:
                answer.close()
                return _busy(request)
            parts: Any = answer.streaming_content
            answer.streaming_content = _HeldParts(parts, slot)
        return answer


def waits_for_body(request: HttpRequest) -> bool:
    """True if reading the body waits for the client, as far as the head says."""
    if request.method in ("GET", "HEAD"):
        return False
    length = request.META.get("CONTENT_LENGTH") or "0"
    is_short = length.isascii() and length.isdigit() and len(length) < 6
    return not is_short or int(length) > SMALL_BODY or "HTTP_EXPECT" in request.META


def _is_upload(request: HttpRequest) -> bool:
    """True for a body whose receipt or use takes long."""
    is_file = request.method not in ("GET", "HEAD") and request.content_type in FILES
    return is_file or waits_for_body(request)


class _Slot:
    """One of the places, given back once."""

    def __init__(self, free: BoundedSemaphore) -> None:
        self._free = free
        self._lock = Lock()
        self._is_held = True

    def release(self) -> None:
        with self._lock:
            was_held, self._is_held = self._is_held, False
        if was_held:
            self._free.release()


class _HeldParts:
    """The parts of an answer; the place is free when they end, or when the server closes them."""

    def __init__(self, parts: Iterator[bytes], slot: _Slot) -> None:
        self._parts = parts
        self._slot = slot

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._parts
        finally:
            self.close()

    def close(self) -> None:
        self._slot.release()

    __del__ = close  # of an answer that another middleware has replaced


def _taken(free: BoundedSemaphore) -> _Slot | None:
    return _Slot(free) if free.acquire(blocking=False) else None


def _busy(request: HttpRequest) -> HttpResponseBase:
    answer = refusal(request, 429, DETAIL)
    answer["Retry-After"] = str(RETRY_S)
    return answer
