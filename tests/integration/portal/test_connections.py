"""Connections to the application server of containers: idle ones, slow ones, odd ones.

Aspects: idle connections, slow heads, slow bodies, clients that do not close, requests behind each
other on one connection, heads that are too long, and resets. Not here: slow readers
(`test_slow_downloads.py`).
"""

import gzip
import resource
import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model

from accounting.access.models.people import Person
from accounting.organization.actions.tokens import create_token
from portal.http.patient_worker import REQUEST_S
from tests.integration.bills.billed import charge, focus
from tests.integration.portal.web_server import Web, web_server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]
MANY = 40
SOON_S = 5.0  # on a slow machine; threads that wait for clients hold an answer for 20 s or more
PAGE = "/account"


@pytest.fixture
def web(
    transactional_db: None,
    redis_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Web]:
    """One process of the server."""
    del transactional_db
    user = get_user_model().objects.create_user("fin")
    Person.objects.create(user=user, role="finance")
    monkeypatch.setenv("WEB_PROCESSES", "1")
    with web_server(redis_url, tmp_path, user) as found:
        assert found.get(PAGE).status == 200  # warm
        yield found


@contextmanager
def opened(web: Web, sent: bytes) -> Iterator[list[socket.socket]]:
    """Many connections that send something and then nothing."""
    with ExitStack() as held:
        made = [held.enter_context(web.connect()) for _ in range(MANY)]
        for one in made:
            one.sendall(sent)
        time.sleep(0.5)  # threads take them, if threads do
        yield made


POST = b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\n"
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
SLOW = {
    "idle": b"",
    "blank": b"\r\n",
    "head": b"GET / HTTP/1.1\r\nHost: localhost\r\n",
    "small body": POST + FORM + b"Content-Length: 99\r\n\r\nusername=",
    "large body": POST + FORM + b"Content-Length: 2000000\r\n\r\n" + b"x" * 70_000,
    "expects": POST + FORM + b"Content-Length: 9\r\nExpect: 100-continue\r\n\r\n",
    "chunked": POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
}


def assert_answers(web: Web, what: str) -> None:
    """Health and a page, soon."""
    for path in ("/healthz", PAGE):
        began = time.monotonic()
        assert web.get(path).status == 200
        assert time.monotonic() - began < SOON_S, (what, path)


def test_slow_and_odd_connections_hold_no_thread_of_others(web: Web) -> None:
    """One server for all: each start takes seconds."""
    slow_senders(web)
    clients_that_do_not_close(web)
    requests_behind_each_other(web)
    a_head_that_is_too_long(web)
    probes_with_a_body(web)
    clients_that_reset_while_they_are_refused(web)
    blank_lines_without_end(web)
    a_large_body(web)
    the_path_comes_from_no_header(web)


def slow_senders(web: Web) -> None:
    """40 of each kind."""
    for what, sent in SLOW.items():
        with opened(web, sent):
            assert_answers(web, what)


def clients_that_do_not_close(web: Web) -> None:
    """They have their answer."""
    asked = b"GET /healthz HTTP/1.0\r\n\r\n"
    with opened(web, asked) as made:
        assert all(b"200 OK" in one.recv(4096) for one in made)
        assert_answers(web, "open after the answer")


def requests_behind_each_other(web: Web) -> None:
    """They are answered in their order, wherever the pieces begin."""
    with web.connect() as one:
        first = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        last = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        for piece in (first + first[:9], first[9:] + last[:30], last[30:]):
            one.sendall(piece)
            time.sleep(0.1)
        found = b"".join(iter(lambda: one.recv(4096), b""))
    assert found.count(b"200 OK") == 3
    assert found.index(b"ok") < found.index(b'"redis": true}')


def the_path_comes_from_no_header(web: Web) -> None:
    """Headers that gunicorn takes from a proxy on the same machine."""
    for name, value in (("SCRIPT_NAME", "/x"), ("PATH_INFO", "/healthz")):
        assert web.get("/healthz", **{name: "/x"}).status == 200
        page = web.get(PAGE, **{name: value})
        assert page.status == 200
        assert 'href="/account"' in page.text  # type: ignore[attr-defined]


def test_the_scheme_comes_from_the_settings(
    transactional_db: None, redis_url: str, tmp_path: Path
) -> None:
    """Of a peer on the same machine, which gunicorn would believe."""
    del transactional_db
    address = "https://gpu.example.org"
    user = get_user_model().objects.create_user("fin")
    with web_server(redis_url, tmp_path, user, seen={"PUBLIC_URL": address}) as web:
        for name, value in (
            ("X-Forwarded-Proto", "https"),
            ("X-Forwarded-Ssl", "on"),
            ("X-Forwarded-Protocol", "ssl"),
        ):
            answer = web.get("/sign-in", Host="gpu.example.org", **{name: value})
            assert answer.status == 301, name
            assert answer.headers["Location"] == f"{address}/sign-in"


def test_more_connections_than_open_files(
    transactional_db: None, redis_url: str, tmp_path: Path
) -> None:
    """The oldest one that sends nothing makes room, as at the limit of connections."""
    del transactional_db
    user = get_user_model().objects.create_user("fin")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as held:
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
        try:
            web = held.enter_context(web_server(redis_url, tmp_path, user))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(500):
            held.enter_context(web.connect())
        assert web.get("/healthz").status == 200
        assert "Exception in worker process" not in web.log.read_text()


def a_large_body(web: Web) -> None:
    """It is read by a thread, also where the client waits for leave to send it."""
    _, token = create_token(owner=web.person, name="large", scopes=["write:bills"])
    body = b"a" * 4_000_000
    for more in ({}, {"Expect": "100-continue"}):
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "text/csv",
        } | more
        answer = web.ask("POST", "/api/v1/bills", body, headers)
        assert answer.status == 400
        assert "longer than" in answer.text  # type: ignore[attr-defined]


def a_head_that_is_too_long(web: Web) -> None:
    """Refused without a thread."""
    with web.connect() as one:
        one.sendall(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * 70_000)
        assert one.recv(4096).startswith(b"HTTP/1.1 431 ")


def probes_with_a_body(web: Web) -> None:
    """Nobody reads it, so nobody waits for it; 0.1 s each would be 20 s for the next one."""
    sent = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with ExitStack() as held:
        made = [held.enter_context(web.connect()) for _ in range(200)]
        for one in made:
            one.sendall(sent)
        assert_answers(web, "probes with a body")
        assert all(b"200 OK" in one.recv(4096) for one in made)


def clients_that_reset_while_they_are_refused(web: Web) -> None:
    """The process goes on: what happens to one connection is not the end of all."""
    at_once = struct.pack("ii", 1, 0)
    for _ in range(300):
        with web.connect() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            one.sendall(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * 131_072)
    assert_answers(web, "reset")
    assert "Exception in worker process" not in web.log.read_text()


def blank_lines_without_end(web: Web) -> None:
    """They are allowed before a request, and its time counts from the first of them."""
    began = time.monotonic()
    with web.connect() as one:
        one.settimeout(1)
        while time.monotonic() < began + 2 * REQUEST_S:
            try:
                one.sendall(b"\r\n")
                if not one.recv(1):
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
    assert REQUEST_S - 1 < time.monotonic() - began < REQUEST_S + 10


def test_small_files_that_unpack_to_gigabytes_do_not_stop_the_server(web: Web) -> None:
    _, token = create_token(owner=web.person, name="bills", scopes=["write:bills"])
    header = focus(charge("1.25", "one")).splitlines(keepends=True)[0]
    packed = gzip.compress(header) + gzip.compress(b"\n" * 100_000_000) * 10
    assert len(packed) < 1_000_000

    def send(_number: int) -> tuple[int, str]:
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/gzip",
        }
        answer = web.ask("POST", "/api/v1/bills?dry_run=true", packed, headers)
        return answer.status, answer.text  # type: ignore[attr-defined]

    with ThreadPoolExecutor(20) as senders:
        sent = [senders.submit(send, number) for number in range(20)]
        assert_answers(web, "20 imports")
        found = [one.result() for one in sent]
    assert {status for status, _ in found} <= {400, 409, 429}
    refused = [text for status, text in found if status == 400]
    assert refused
    assert all("more than 2,000,000 lines" in text for text in refused)
