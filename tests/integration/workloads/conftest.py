"""One run of two pods, written as facts and rolled up by the product."""

from collections.abc import Iterator
from datetime import datetime

import pytest

from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Gpu, GpuPresence, Node
from accounting.metering.models.pod import Pod, PodHold, Workload
from tests.database_copies import connected_to
from tests.integration.conftest import WriteOnce
from tests.integration.prices.books import TEN, WINDOW, WINDOW_MS, Books

SET_UP = """
billing: {currency: EUR, timezone: Asia/Kolkata}
teams: [{slug: vision, name: Vision}, {slug: speech, name: Speech}]
bindings: [{namespace: vision, team: vision}, {namespace: speech, team: speech}]
prices: [{model: NVIDIA-L40S, rate_per_gpu_hour: "2.5"}]
"""
HOUR_WINDOWS = 12
STARTED, LAST_BUSY, ENDED = 4, 120, 240  # windows since TEN


def _hold(pod: Pod, node: str, start: int, end: int) -> None:
    at = to_ms(TEN)
    PodHold.objects.create(
        pod=pod,
        node=Node.objects.get(name=node),
        resource="nvidia.com/gpu",
        units=1,
        created_ms=at + start * WINDOW_MS - 90_000,
        bound_ms=at + start * WINDOW_MS,
        ended_ms=at + end * WINDOW_MS,
        ended_by="Succeeded",
    )


def write(books: Books) -> None:
    """`train-7f3`: two GPUs for 20 hours, 20 minutes of start-up, idle for the last ten hours.

    A CronJob of the same name, and another Job on the same GPU, are beside it.
    """
    books.configure(SET_UP)
    pods = {name: books.pod(name) for name in ("train-0", "train-1", "cron", "other")}
    space = pods["train-0"].namespace
    for kind, name, members in (
        ("Job", "train-7f3", ("train-0", "train-1")),
        ("CronJob", "train-7f3", ("cron",)),
        ("Job", "other", ("other",)),
    ):
        workload = Workload.objects.create(
            cluster=space.cluster, namespace=space, kind=kind, name=name
        )
        Pod.objects.filter(name__in=members).update(workload=workload)
    with books.together():
        for n, pod in enumerate(("train-0", "train-1"), 1):
            gpu = books.gpu(f"GPU-{n}")
            node = Node.objects.get(name=f"node-of-GPU-{n}")
            GpuPresence.objects.create(gpu=gpu, node=node, start_ms=to_ms(TEN))
            _write_run(books, gpu, pods[pod], n)
            _hold(pods[pod], node.name, 0, ENDED)
            later = [TEN + (ENDED + i) * WINDOW for i in range(HOUR_WINDOWS)]
            books.write_all(gpu, later, pods["other"], busy=WINDOW_MS)
        gpu = books.gpu("GPU-3")
        GpuPresence.objects.create(
            gpu=gpu, node=Node.objects.get(name="node-of-GPU-3"), start_ms=to_ms(TEN)
        )
        books.write_all(gpu, [TEN + i * WINDOW for i in range(6)], pods["cron"], busy=7)
        _hold(pods["cron"], "node-of-GPU-3", 0, 6)
        _hold(pods["other"], "node-of-GPU-1", ENDED, ENDED + HOUR_WINDOWS)
    books.settle()


def _write_run(books: Books, gpu: Gpu, pod: Pod, n: int) -> None:
    def windows(first: int, last: int) -> list[datetime]:
        return [TEN + i * WINDOW for i in range(first, last)]

    write = books.write_all
    write(gpu, windows(0, STARTED), pod, idle=WINDOW_MS)
    write(gpu, windows(STARTED, 60), pod, busy=200_000 + n, idle=100_000 - n)
    write(gpu, windows(60, 72), pod, unknown=WINDOW_MS)
    write(gpu, windows(72, LAST_BUSY), pod, busy=299_999, unknown=1)
    write(gpu, windows(LAST_BUSY, ENDED), pod, idle=WINDOW_MS - n, busy=n)


@pytest.fixture(scope="module")
def run_database(
    write_once: WriteOnce, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """The run in a database of its own."""
    books = Books(tmp_path_factory.mktemp("run"))
    return write_once("run", lambda: write(books))


@pytest.fixture
def in_run(run_database: str) -> Iterator[None]:
    """Before the transaction of the test begins."""
    with connected_to(run_database):
        yield


@pytest.fixture
def run(in_run: None, db: None) -> None:
    """The run, for one test."""
    del in_run, db
