"""Five-minute windows of one cluster and range, each with its team and price."""

from collections.abc import Collection, Iterator
from contextlib import closing
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection, transaction

from accounting.core.interval import WINDOW_MS, to_ms
from accounting.prices.sql.charge_sql import parameters
from accounting.usage.sql import FREE_WINDOWS, FREE_WINDOWS_OF_NODES, HELD_WINDOWS

ROWS_AT_ONCE = 20_000


class HeldWindow(NamedTuple):
    """One window of one GPU or instance (-1: the whole GPU) of a pod, share-weighted.

    Attributes:
        team: its number; 0 without one.
        rate: per GPU-hour; None without a price.
    """

    pod: int
    start_ms: int
    gpu: int
    instance: int
    busy_ms: int
    idle_ms: int
    unknown_ms: int
    team: int
    rate: Decimal | None
    currency: str


class FreeNode(NamedTuple):
    """Windows of a node in which the same parts of its GPUs were free.

    Attributes:
        free_ms: of one window, by GPU, largest first.
        windows: how many.
        rate: of the whole GPU.
    """

    node: int
    model: str
    free_ms: tuple[int, ...]
    windows: int
    rate: Decimal | None
    currency: str


class FreeNodeWindow(NamedTuple):
    """One window of a node with free time.

    Attributes:
        free_ms: by GPU, largest first.
        rate, cost: of the whole GPU, per GPU-hour; None without a price.
    """

    node: int
    start_ms: int
    model: str
    free_ms: tuple[int, ...]
    rate: Decimal | None
    currency: str
    cost: Decimal | None
    cost_currency: str


def newest_end_ms(cluster_id: int) -> int | None:
    """The end of a cluster's newest window; None without any."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT window_start FROM usage_window
               WHERE cluster_id = %s ORDER BY window_start DESC LIMIT 1""",
            [cluster_id],
        )
        found = cursor.fetchone()
    return to_ms(found[0]) + WINDOW_MS if found else None


def held_windows(
    cluster_id: int, start: datetime, end: datetime
) -> Iterator[HeldWindow]:
    """Windows that pods held, by pod and time; read in parts, so a day fits in memory."""
    for row in _streamed(HELD_WINDOWS, parameters(cluster_id, start, end)):
        yield HeldWindow(*row)


def free_nodes(cluster_id: int, start: datetime, end: datetime) -> Iterator[FreeNode]:
    """Free time by node."""
    for row in _streamed(FREE_WINDOWS, parameters(cluster_id, start, end)):
        yield FreeNode(row[0], row[1], tuple(map(int, row[2])), *row[3:])


def free_windows(
    cluster_id: int, start: datetime, end: datetime, nodes: Collection[int]
) -> Iterator[FreeNodeWindow]:
    """Free time of some nodes, by node and window; none is read for no nodes."""
    if not nodes:
        return
    values = parameters(cluster_id, start, end) | {"nodes": list(nodes)}
    for row in _streamed(FREE_WINDOWS_OF_NODES, values):
        node, start_ms, model, free_ms, *prices = row
        yield FreeNodeWindow(node, start_ms, model, tuple(map(int, free_ms)), *prices)


def _streamed(query: str, values: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    with transaction.atomic():
        with connection.cursor() as settings:
            settings.execute("SET LOCAL jit = off; SET LOCAL work_mem = '128MB'")
        with closing(connection.chunked_cursor()) as cursor:
            cursor.execute(query, values)
            while rows := cursor.fetchmany(ROWS_AT_ONCE):
                yield from rows
