"""Outgoing HTTP requests of sources: deadlines, no redirects, bounded responses."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import requests
import urllib3

from accounting.metering.sources.address import fault_of
from accounting.metering.sources.errors import (
    AccessRefused,
    InvalidSourceResponse,
    SourceError,
    TooMuch,
    Unavailable,
)

CONNECT_TIMEOUT_S = 5.0
CHUNK = 64 * 1024  # bytes read at most between two checks of the deadline
_QUERY_TIMEOUT = re.compile(rb'"errorType":\s*"timeout"')


@dataclass(frozen=True, slots=True)
class HttpAccess:
    """How a source is reached. Secrets are read from files, at every use.

    Attributes:
        headers: sent with every request, such as a tenant header.
        bearer_token_file, password_file: paths; never the secret itself.
        ca_file: a private certificate authority; "" for the system's.
        timeout_s: for one response, from the first byte sent to the last byte read; the default of
            all sources (`timeout_s` of the setup file).
        max_bytes: larger responses are rejected.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    bearer_token_file: str = ""
    username: str = ""
    password_file: str = ""
    ca_file: str = ""
    timeout_s: float = 30.0
    max_bytes: int = 512 * 1024 * 1024

    def session(self) -> requests.Session:
        """A session with these credentials that ignores proxies of the environment."""
        session = requests.Session()
        session.trust_env = False
        session.headers.update(self.headers)
        if self.bearer_token_file:
            token = _secret(self.bearer_token_file)
            session.headers["Authorization"] = f"Bearer {token}"
        if self.username:
            session.auth = (self.username, _secret(self.password_file))
        if self.ca_file:
            session.verify = self.ca_file
        return session


def _secret(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise AccessRefused(
            f"the secret file {path} cannot be read: {error.strerror}"
        ) from error


def fetch(
    session: requests.Session, url: str, access: HttpAccess, **options: object
) -> bytes:
    """The body of a successful response, read within the deadline.

    Raises:
        SourceError: one of its subclasses, depending on the error.
    """
    if fault := fault_of(url):  # for a source that was stored before this check existed
        raise InvalidSourceResponse(f"{fault}; run `manage.py configure` again")
    deadline = time.monotonic() + access.timeout_s
    timeout = (min(CONNECT_TIMEOUT_S, access.timeout_s), access.timeout_s)
    try:
        with session.request(
            str(options.pop("method", "GET")),
            url,
            timeout=timeout,
            stream=True,
            allow_redirects=False,
            **options,  # type: ignore[arg-type]  # passed on as requests takes them
        ) as answer:
            body = _read(answer, deadline, access.max_bytes, url)
    except (requests.ReadTimeout, urllib3.exceptions.ReadTimeoutError) as error:
        raise TooMuch(
            f"{url}: no response within {access.timeout_s:g} s; "
            "check its load, or increase timeout_s"
        ) from error
    except urllib3.exceptions.ProtocolError as error:
        raise Unavailable(
            f"{url}: the response was truncated ({_root(error)}); retrying"
        ) from error
    except requests.ConnectionError as error:
        raise Unavailable(
            f"{url}: cannot be reached ({_root(error)}); check that it runs at this address"
        ) from error
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise InvalidSourceResponse(
            f"{url}: {_root(error)}; check the settings"
        ) from error
    check_status(answer, body, url)
    return body


def _read(
    answer: requests.Response, deadline: float, max_bytes: int, url: str
) -> bytes:
    parts: list[bytes] = []
    size = 0
    # read1 returns the available bytes, so that slow single bytes cannot exceed the deadline
    while part := answer.raw.read1(CHUNK, decode_content=True):
        parts.append(part)
        size += len(part)
        if size > max_bytes:
            raise TooMuch(f"{url}: the response is larger than {max_bytes} bytes")
        if time.monotonic() > deadline:
            raise TooMuch(
                f"{url}: the response was too slow and was stopped; check its load, or increase "
                "timeout_s"
            )
    return b"".join(parts)


def check_status(answer: requests.Response, body: bytes, url: str) -> None:
    """Raise the typed error of an unsuccessful status."""
    status = answer.status_code
    if 200 <= status < 300:
        return
    text = body[:300].decode(errors="replace").strip()
    error: SourceError
    if status in (401, 403):
        error = AccessRefused(f"{url}: {status}, access denied; check the credentials")
    elif status == 422 or (status >= 500 and _QUERY_TIMEOUT.search(body)):
        error = TooMuch(f"{url}: {status} {text}; retrying with smaller requests")
    elif status == 429 or status >= 500:
        error = Unavailable(f"{url}: {status} {text}; retrying", _retry_after(answer))
    elif 300 <= status < 400:
        error = InvalidSourceResponse(
            f"{url}: redirects are not followed; use the final address"
        )
    else:
        error = InvalidSourceResponse(
            f"{url}: {status} {text}; check address and settings"
        )
    raise error


def _retry_after(answer: requests.Response) -> float | None:
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else None


def _root(error: BaseException) -> str:
    """The root cause of an error of these libraries, as a short text."""
    for _ in range(10):
        inner = (getattr(error, "reason", None), *error.args[:1], error.__cause__)
        deeper = next((e for e in inner if isinstance(e, BaseException)), None)
        if deeper is None:
            break
        error = deeper
    return str(getattr(error, "strerror", None) or error)[:200]
