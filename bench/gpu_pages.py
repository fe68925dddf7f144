"""G2: pages and reports of 8,192 GPUs, over HTTP.

Over the rollups that `bench.by_gpu` fills by SQL, and the facts of the newest hour.
"""

import gc
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import override_settings

from accounting.access.models.people import OrganizationRole, Person
from accounting.metering.models.ledger import IngestWindow, WindowState
from bench import by_gpu, cluster
from bench.measure import Figure
from portal.http.collector import tune_collector

ROUNDS = 5
PAGE = "/gpus"
LIST = "/api/v1/gpus"
REPORT = "/api/v1/usage?by=gpu&from=2026-09-03&to=2026-10-03&format=csv"

_PRESENT = """
    INSERT INTO accounting_gpupresence (gpu_id, node_id, start_ms)
    SELECT i, 1 + (i - 1) / 8, 1 FROM generate_series(1, %(gpus)s) i;
    ANALYZE
"""


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The figures of this module, if none is named or G2 is."""
    if wanted and "G2" not in wanted:
        return
    by_gpu.fill_month()
    cluster.load_windows(by_gpu.GPUS, by_gpu.FIRST_WINDOW + by_gpu.WINDOWS - 12, 12)
    with connection.cursor() as cursor:
        cursor.execute(_PRESENT, {"gpus": by_gpu.GPUS})
        cursor.execute("SELECT DISTINCT window_start FROM usage_window")
        windows = [at for (at,) in cursor.fetchall()]
    IngestWindow.objects.bulk_create(
        IngestWindow(
            cluster_id=1,
            window_start=at,
            state=WindowState.DONE,
            rows=by_gpu.GPUS,
            read_at=at,
        )
        for at in windows
    )
    client = finance("bench")
    with as_server(), override_settings(ALLOWED_HOSTS=["testserver"]):
        for what, path, limit in (
            ("the page of GPUs", PAGE, 300),
            ("the first page of the list of GPUs", LIST, 300),
        ):
            taken = [_whole(client, path) for _ in range(ROUNDS)]
            yield _figure(f"{what}, {by_gpu.GPUS} GPUs", taken, limit)
        files = [_streamed(client) for _ in range(ROUNDS)]
        what = f"CSV by GPU of {by_gpu.DAYS} days, {by_gpu.GPUS} GPUs"
        yield _figure(f"{what}, first byte", [first for first, _ in files], 300)
        yield _figure(f"{what}, all of it", [whole for _, whole in files], 2000)


@contextmanager
def as_server() -> Iterator[None]:
    """The garbage collector as in `portal.wsgi`; other benches keep Python's defaults."""
    before = gc.get_threshold()
    tune_collector()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _figure(what: str, seconds: list[float], limit_ms: float) -> Figure:
    taken = statistics.median(seconds) * 1000
    return Figure("G2", what, taken, limit_ms, "ms", at_most=True)


def finance(name: str) -> Client:
    """A new person who may read all, signed in."""
    user = User.objects.create_user(name, f"{name}@example.com")
    Person.objects.update_or_create(
        user=user, defaults={"role": OrganizationRole.FINANCE}
    )
    client = Client()
    client.force_login(user)
    return client


def _whole(client: Client, path: str) -> float:
    began = time.perf_counter()
    answer = client.get(path)
    assert answer.status_code == 200, answer.content[:500]
    assert b"GPU-1" in answer.content
    return time.perf_counter() - began


def _streamed(client: Client) -> tuple[float, float]:
    """Seconds to the first byte and to the last."""
    began = time.perf_counter()
    answer = client.get(REPORT)
    assert answer.status_code == 200, answer.getvalue()[:500]
    parts = iter(answer)
    lines = next(parts).count(b"\n")
    first = time.perf_counter() - began
    lines += sum(part.count(b"\n") for part in parts)
    assert lines == by_gpu.GPUS + 1, lines
    return first, time.perf_counter() - began
