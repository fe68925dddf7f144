"""Bytes to and from an API server: deadlines for everything, failures as typed errors."""

import ssl
import time
from collections.abc import Iterator

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NameResolutionError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
    SSLError,
)

from scheduler_view.clusters.client.errors import (
    ClusterError,
    InvalidServerResponse,
    TlsFailure,
    Unreachable,
)

CONNECT_TIMEOUT_S = 5.0
CHUNK = 256 * 1024  # bytes read at most between two checks of the deadline
# A server that is stopped or restarted ends a handshake, too, whatever its certificate.
_CLOSED = (ssl.SSLEOFError, ssl.SSLZeroReturnError)
MOST_BYTES = 256 * 1024 * 1024  # of one response; a page of 500 objects has some MB


def read(answer: urllib3.HTTPResponse, deadline: float, timeout_s: float) -> bytes:
    """The body, read before a deadline of the monotonic clock.

    Raises:
        Unreachable: it was too slow.
        InvalidServerResponse: it is too large.
    """
    parts: list[bytes] = []
    size = 0
    # read1 returns the available bytes, so that slow single bytes cannot exceed the deadline
    while part := answer.read1(CHUNK, decode_content=True):
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise InvalidServerResponse(
                f"the response is larger than {MOST_BYTES} bytes"
            )
        if time.monotonic() > deadline:
            answer.close()
            raise late(timeout_s)
    return b"".join(parts)


def lines(answer: urllib3.HTTPResponse) -> Iterator[bytes]:
    """The lines of a response that stays open, as they arrive."""
    rest = b""
    while part := answer.read1(CHUNK, decode_content=True):
        *whole, rest = (rest + part).split(b"\n")
        yield from filter(None, whole)


def late(timeout_s: float) -> Unreachable:
    """The error of a response that was not complete within the time of one call."""
    return Unreachable(f"no response within {timeout_s:g} s", "timeout")


def failure(error: HTTPError | OSError, timeout_s: float) -> ClusterError:
    """The typed error of a connection that failed."""
    cause = _cause(error)
    root = str(cause) or type(cause).__name__
    match error:
        case SSLError() if not isinstance(cause, _CLOSED):
            return TlsFailure(f"the TLS connection failed: {root}")
        case NameResolutionError():
            found = Unreachable(f"unknown host: {root}", "name")
        case NewConnectionError():
            found = Unreachable(f"cannot be reached: {root}", "refused")
        case ConnectTimeoutError():  # nothing was sent
            seconds = min(timeout_s, CONNECT_TIMEOUT_S)
            found = Unreachable(f"no connection within {seconds:g} s", "refused")
        case ReadTimeoutError() | TimeoutError():
            found = late(timeout_s)
        case ProtocolError() | ConnectionError() | SSLError():
            found = Unreachable(f"the connection was closed: {root}", "reset")
        case OSError():
            return TlsFailure(f"a credentials file cannot be read: {error}")
        case _:
            return InvalidServerResponse(f"no usable response: {root}")
    return found


def _cause(error: BaseException) -> BaseException:
    """The root cause of an error of these libraries."""
    for _ in range(10):
        inner = (getattr(error, "reason", None), *error.args, error.__cause__)
        deeper = next((e for e in inner if isinstance(e, BaseException)), None)
        if deeper is None:
            break
        error = deeper
    return error
