"""A download whose client is slow or gone: memory, and the session of the database (money.md M47).

The server is Django's, with a thread for each request. Not here: the application server of
containers, and its timeouts.
"""

import socket
import time
import tracemalloc
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from accounting.access.models.people import Person
from tests.integration.exports.bookings import book, random_lines
from tests.integration.exports.test_parallel import sessions

pytestmark = pytest.mark.django_db(transaction=True)
LINES = 24_000  # 12 MB of FOCUS rows: more than sockets hold
MIB = 1 << 20
RELEASED_S = 10


@pytest.fixture
def download(
    live_server: LiveServer, transactional_db: None
) -> Iterator[Callable[[], socket.socket]]:
    """Requests a large file, and reads the first bytes of the answer."""
    del transactional_db
    book(random_lines(31, LINES))
    user = get_user_model().objects.create_user("fin")
    Person.objects.create(user=user, role="finance")
    client = Client()
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    cookie = f"{name}={client.cookies[name].value}"
    host = urlsplit(live_server.url)

    def begin() -> socket.socket:
        found.connect((host.hostname, host.port))
        found.sendall(
            f"GET /months/2026-10/files/focus HTTP/1.1\r\nHost: {host.netloc}\r\n"
            f"Cookie: {cookie}\r\nConnection: close\r\n\r\n".encode()
        )
        assert found.recv(12) == b"HTTP/1.1 200"
        return found

    with socket.socket() as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        yield begin


def comes_to(count: int) -> bool:
    """Whether so many sessions are open, at most `RELEASED_S` later."""
    until = time.monotonic() + RELEASED_S
    while time.monotonic() < until:
        if sessions() <= count:
            return True
        time.sleep(0.05)
    return False


def everything_of(connection: socket.socket) -> int:
    size = 0
    while part := connection.recv(1 << 16):
        size += len(part)
    return size


def test_a_client_that_leaves_frees_its_session(
    download: Callable[[], socket.socket],
) -> None:
    connection = download()
    before = sessions()
    assert before >= 2  # that of the test, and that of the download
    connection.close()
    assert comes_to(before - 1)


def test_a_slow_client_does_not_fill_the_memory(
    download: Callable[[], socket.socket],
) -> None:
    tracemalloc.start()
    try:
        connection = download()
        before = sessions()
        time.sleep(2)  # the server could read the rest of the file
        assert sessions() == before
        size = everything_of(connection)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size > 10 * MIB
    assert peak < 8 * MIB
    assert comes_to(before - 1)
