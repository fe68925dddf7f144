"""P22, P23: the web server while slow readers and packed files occupy it, over real connections.

The server of containers with its two processes. A health check and a page are requested in turn,
first alone, then under that load; each answer is the same as before. The limits are those of a
person who waits for a page, and of a probe that restarts a server that does not answer.
"""

import gzip
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Lock

from bench.measure import Figure
from portal.settings import LONG_STREAMS
from tests.integration.portal.web_server import Web, web_server

CLIENTS = 20
PERIOD = "2025-03"
FILE = f"/months/{PERIOD}/files/focus"
LINES = 24_000  # 12 MB: more than sockets hold
PACKED = "/api/v1/bills?dry_run=true"
UNPACKED = 2_000_000_000  # bytes of each packed file
LIMITS_MS = {"/healthz": 100.0, "/months": 1000.0}
REQUESTS = 40  # of each kind, 0.1 s apart
_TOKEN = re.compile(r'csrfmiddlewaretoken" value="[^"]*"')


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The figures of this module, if none is named or one of them is."""
    if wanted and not wanted & {"P22", "P23"}:
        return
    with _served() as (web, token):
        before = {path: _ask(web, path) for path in LIMITS_MS}  # warm, and the answers
        alone = _measured(web, before)
        if not wanted or "P22" in wanted:
            what = f"{CLIENTS} slow readers of a file of 12 MB"
            with _clients(lambda ends: _read_slowly(web, ends)) as seen:
                yield from _figures("P22", what, alone, _measured(web, before))
            assert seen.get(200, 0) >= LONG_STREAMS, seen
        if not wanted or "P23" in wanted:
            what = f"{CLIENTS} gzip files that unpack to 2 GB"
            packed = _packed()
            with _clients(lambda ends: _send(web, token, packed, ends)) as seen:
                yield from _figures("P23", what, alone, _measured(web, before))
            assert seen.get(400), seen  # some were unpacked, as far as their limit


@contextmanager
def _served() -> Iterator[tuple[Web, str]]:
    """The server, a closed month with a large file, and a token that may send bills."""
    from django.conf import settings
    from django.contrib.auth.models import User

    from accounting.access.models.people import OrganizationRole, Person
    from accounting.organization.actions.tokens import create_token
    from tests.integration.exports.bookings import book, random_lines

    book(random_lines(31, LINES), period=PERIOD)
    user = User.objects.create_user("web", "web@example.com")
    Person.objects.update_or_create(
        user=user, defaults={"role": OrganizationRole.FINANCE}
    )
    _, token = create_token(owner=user, name="bills", scopes=["write:bills"])
    with (
        tempfile.TemporaryDirectory(prefix="gpu-ledger-bench-") as folder,
        web_server(settings.REDIS_URL, Path(folder), user) as web,
    ):
        yield web, token


def _packed() -> bytes:
    block = b"\n" * 100_000_000
    packed = gzip.compress(b"BilledCost\n") + gzip.compress(block) * (
        UNPACKED // len(block)
    )
    assert len(packed) < 2_000_000
    return packed


# --- clients -------------------------------------------------------------------------

Seen = dict[int, int]  # answers by status


@contextmanager
def _clients(one: Callable[[Event], int]) -> Iterator[Seen]:
    """Clients that go on, each with its next request after an answer."""
    ends, lock, seen = Event(), Lock(), Seen()

    def client() -> None:
        while not ends.is_set():
            status = one(ends)
            with lock:
                seen[status] = seen.get(status, 0) + 1

    with ThreadPoolExecutor(CLIENTS) as pool:
        running = [pool.submit(client) for _ in range(CLIENTS)]
        try:
            ends.wait(1.0)  # until all of them are there
            yield seen
        finally:
            ends.set()
    for each in running:
        each.result()


def _read_slowly(web: Web, ends: Event) -> int:
    """Read 40 kB a second, which takes minutes; one that is refused comes back soon."""
    asked, answer = web.begin(FILE)
    with closing(asked):
        if answer.status != 200:
            answer.read()
            ends.wait(0.5)
            return answer.status
        while not ends.wait(0.1) and answer.read(4_000):
            pass
        return answer.status


def _send(web: Web, token: str, packed: bytes, ends: Event) -> int:
    head = {"Authorization": f"Bearer {token}", "Content-Type": "application/gzip"}
    status = web.ask("POST", PACKED, packed, head).status
    ends.wait(0.0 if status == 400 else 0.5)
    return status


# --- what is measured ----------------------------------------------------------------


def _ask(web: Web, path: str) -> str:
    answer = web.get(path)
    assert answer.status == 200, (path, answer.status)
    text: str = answer.text  # type: ignore[attr-defined]
    _, _, main = text.partition("<main")  # not the time of day around it
    return _TOKEN.sub("", main.partition("</main>")[0] or text)


def _measured(web: Web, before: dict[str, str]) -> dict[str, list[float]]:
    """Milliseconds of the requests, one after the other; every answer is the one from before."""
    taken: dict[str, list[float]] = {path: [] for path in before}
    for _ in range(REQUESTS):
        for path, answer in before.items():
            began = time.perf_counter()
            assert _ask(web, path) == answer, f"{path} differs"
            taken[path].append(1000 * (time.perf_counter() - began))
        time.sleep(0.1)
    return taken


def _figures(
    goal: str, what: str, alone: dict[str, list[float]], taken: dict[str, list[float]]
) -> Iterator[Figure]:
    for path, found in taken.items():
        yield Figure(
            goal,
            f"{path}, 95th percentile, with {what}",
            statistics.quantiles(found, n=20)[-1],
            LIMITS_MS[path],
            unit="ms",
            at_most=True,
            detail={
                "median": statistics.median(found),
                "max": max(found),
                "alone": statistics.quantiles(alone[path], n=20)[-1],
            },
        )
