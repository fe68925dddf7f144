"""A download through the application server of containers: slow clients, and clients that leave.

Aspects: a client slower than the server's timeout gets its whole file, clients that leave free
threads and transactions, slow readers leave threads to others, and slow senders leave files to
readers. Not here: memory
(`exports/test_clients.py`), slow senders (`test_connections.py`).
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from pytest_django import DjangoDbBlocker

from accounting.access.models.people import Person
from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.csv_rows import csv_parts, snapshot
from accounting.exports.tasks.request import ExportRequest, prepare
from portal.settings import LONG_STREAMS
from tests.database_copies import connected_to
from tests.integration.conftest import WriteOnce
from tests.integration.exports.bookings import book, random_lines
from tests.integration.portal.web_server import Web, web_server
from tests.processes import wait_until

pytestmark = pytest.mark.timeout(180)
LINES = 24_000  # 12 MB of FOCUS rows: more than sockets hold
TIMEOUT_S = 2
SLOW_S = 4 * TIMEOUT_S
RELEASED_S = 10.0
READERS = 20
SOON_S = 10.0  # of an answer, on a slow machine; a blocked server takes minutes
PATH = "/months/2026-10/files/focus"


@pytest.fixture(scope="module")
def server(
    write_once: WriteOnce,
    redis_url: str,
    tmp_path_factory: pytest.TempPathFactory,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[Web]:
    """One process of the server, and a month whose file does not fit into sockets."""

    def write() -> None:
        book(random_lines(31, LINES))
        user = get_user_model().objects.create_user("fin")
        Person.objects.create(user=user, role="finance")

    name, folder = write_once("slow", write), tmp_path_factory.mktemp("slow")
    with (
        pytest.MonkeyPatch.context() as patch,
        django_db_blocker.unblock(),
        connected_to(name),
    ):
        patch.setenv("WEB_PROCESSES", "1")
        user = get_user_model().objects.get(username="fin")
        with web_server(redis_url, folder, user, timeout_s=TIMEOUT_S) as found:
            yield found


@pytest.fixture
def web(server: Web) -> Iterator[Web]:
    """The server of all tests here, which nobody uses any more when a test has ended."""
    yield server
    wait_until(lambda: _downloads() == 0, RELEASED_S)
    wait_until(lambda: server.get(PATH).status == 200, RELEASED_S)
    wait_until(lambda: _upload(server) != 429, RELEASED_S)


def _upload(web: Web) -> int:
    """The answer to an upload of a member."""
    headers = {"Cookie": web.cookie, "Content-Type": "text/csv"}
    return web.ask("POST", "/sign-in", "a=b", headers).status


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
    asked, answer = web.begin(PATH)
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
        for _ in range(LONG_STREAMS):
            asked, answer = web.begin(PATH)
            held.enter_context(closing(asked))
            assert answer.status == 200
        assert _downloads() == LONG_STREAMS
    wait_until(lambda: _downloads() == 0, RELEASED_S)
    asked, answer = web.begin(PATH)
    with closing(asked):
        assert answer.read(12) == b"BilledCost,E"


def test_slow_readers_leave_threads_to_pages_and_health(web: Web) -> None:
    with ExitStack() as held:
        found = []
        for _ in range(READERS):
            asked, answer = web.begin(PATH)
            held.enter_context(closing(asked))
            found.append(answer)
        taken = [answer for answer in found if answer.status == 200]
        assert len(taken) == LONG_STREAMS
        for answer in found[len(taken) :]:
            assert answer.status == 429
            assert answer.headers["Retry-After"] == "10"
            assert "on the page Exports" in answer.read().decode()
        for path in ("/healthz", "/months"):
            began = time.monotonic()
            assert web.get(path).status == 200
            assert time.monotonic() - began < SOON_S
    wait_until(lambda: web.get(PATH).status == 200, RELEASED_S)


@pytest.mark.parametrize("kind", ["strangers", "strangers that wait", "members"])
def test_slow_senders_leave_files_to_readers(web: Web, kind: str) -> None:
    """Bodies of strangers need no thread; those of members have a count of their own."""
    head = f"Cookie: {web.cookie}\r\n" if kind == "members" else ""
    if kind == "strangers that wait":
        head += "Expect: 100-continue\r\n"
    sent = (
        "POST /sign-in HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n"
        f"Content-Length: 100000\r\n{head}\r\n"
    )
    with ExitStack() as held:
        for _ in range(READERS):
            sender = held.enter_context(web.connect())
            sender.sendall(sent.encode() + b"x" * 66_000)
        time.sleep(1)  # threads take them, if threads do
        assert web.get(PATH).status == 200
        assert (_upload(web) == 429) is (kind == "members")


def test_readers_of_pages_and_static_files_hold_no_thread(web: Web) -> None:
    """More of them than threads, of answers that sockets do not hold."""
    path = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"
    wanted = web.get(path).text  # type: ignore[attr-defined]
    assert len(wanted) > 1_000_000
    with ExitStack() as held:
        found = []
        for _ in range(READERS):
            asked, answer = web.begin(path)
            held.enter_context(closing(asked))
            found.append(answer)
        began = time.monotonic()
        assert web.get("/healthz").status == 200
        assert web.get("/months").status == 200
        assert time.monotonic() - began < SOON_S
        assert found[-1].read().decode() == wanted  # it was kept
