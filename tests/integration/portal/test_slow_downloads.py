"""A download through the application server of containers: slow clients, and clients that leave.

Aspects: a client slower than the server's timeout gets its whole file, and clients that leave free
threads and transactions. Not here: memory (`accounting/exports/test_clients.py`).
"""

import http.client
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from accounting.exports.csv_rows import csv_parts, snapshot
from accounting.exports.request import ExportRequest, prepare
from accounting.exports.tables import What
from accounting.models import Person
from portal.embedded import roles
from portal.embedded.supervisor import Supervisor
from tests.integration.accounting.exports.bookings import book, random_lines
from tests.integration.faults.support import environment
from tests.ports import free_port
from tests.processes import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]
LINES = 24_000  # 12 MB of FOCUS rows: more than sockets hold
TIMEOUT_S = 2
SLOW_S = 4 * TIMEOUT_S
RELEASED_S = 10.0
PATH = "/months/2026-10/files/focus"


@dataclass
class Web:
    """Where the server listens, and who asks."""

    port: int
    cookie: str

    def begin(self) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """The head of an answer; little of its body is received ahead."""
        asked = http.client.HTTPConnection("127.0.0.1", self.port)
        asked.sock = socket.socket()
        asked.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        asked.sock.connect(("127.0.0.1", self.port))
        asked.request("GET", PATH, headers={"Cookie": self.cookie})
        answer = asked.getresponse()
        assert answer.status == 200
        return asked, answer


@pytest.fixture
def web(
    transactional_db: None,
    redis_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Web]:
    """One process of the server, and a month whose file does not fit into sockets."""
    del transactional_db
    book(random_lines(31, LINES))
    user = get_user_model().objects.create_user("fin")
    Person.objects.create(user=user, role="finance")
    monkeypatch.setenv("WEB_PROCESSES", "1")
    # The tests' secret, so that the server knows the session.
    seen = environment(redis_url) | {"SECRET_KEY": settings.SECRET_KEY}
    client = Client()
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    port = free_port()
    supervisor = Supervisor(seen, tmp_path, lambda _text: None)
    supervisor.start("web", roles.web(f"127.0.0.1:{port}", timeout_s=TIMEOUT_S))
    try:
        wait_until(lambda: _listens(port))
        yield Web(port, f"{name}={client.cookies[name].value}")
    finally:
        supervisor.stop()


def _listens(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


def _downloads() -> int:
    """Transactions of others that are open."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()
                 AND backend_type = 'client backend' AND xact_start IS NOT NULL"""
        )
        return int(cursor.fetchone()[0])


def test_a_client_slower_than_the_timeout_gets_its_whole_file(web: Web) -> None:
    with snapshot():
        export = prepare(ExportRequest(What.FOCUS, "2026-10"))
        wanted = b"".join(csv_parts(export))
    asked, answer = web.begin()
    with closing(asked):
        found = bytearray()
        until = time.monotonic() + SLOW_S
        while time.monotonic() < until:
            found += answer.read(10_000)
            time.sleep(0.25)
        assert _downloads() == 1, "the rest is not read yet"
        found += answer.read()
    assert bytes(found) == wanted
    wait_until(lambda: _downloads() == 0, RELEASED_S)


def test_clients_that_leave_free_threads_and_transactions(web: Web) -> None:
    with ExitStack() as held:
        for _ in range(roles.WEB_THREADS):
            held.enter_context(closing(web.begin()[0]))
        assert _downloads() == roles.WEB_THREADS
    wait_until(lambda: _downloads() == 0, RELEASED_S)
    asked, answer = web.begin()
    with closing(asked):
        assert answer.read(12) == b"BilledCost,E"
