"""Blocks of rows read on two connections at a time, and passed on in their order.

The database needs a processor for each connection: it sorts and writes the next block while this
one is read. All connections see the same moment.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, Full, Queue

from django.db import connection, transaction

CONNECTIONS = 2
HELD_PARTS = 32  # of each connection, of a quarter of a megabyte
PATIENCE_S = 0.2  # until a waiting thread looks whether it is to stop
Reader = Callable[[], Iterator[bytes]]


def exported_snapshot() -> str:
    """The name of this transaction's moment, for others to read; this one may then wait."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        cursor.execute("SELECT pg_export_snapshot()")
        (name,) = cursor.fetchone()
    return str(name)


def in_order(blocks: Sequence[Reader], snapshot: str) -> Iterator[bytes]:
    """The parts of all blocks, in their order.

    Args:
        blocks: each reads its rows on the connection of the thread that calls it.
        snapshot: from `exported_snapshot`, in a transaction that is still open.

    Raises:
        Exception: what a reader raised.
    """
    threads = [
        _BlockThread(blocks[n::CONNECTIONS], snapshot) for n in range(CONNECTIONS)
    ]
    for thread in threads:
        thread.start()
    try:
        for number in range(len(blocks)):
            yield from threads[number % CONNECTIONS].block()
    finally:
        for thread in threads:
            thread.stop()
        for thread in threads:
            thread.join()


class _StoppedError(Exception):
    """The file is not wanted any more."""


class _BlockThread(threading.Thread):
    """Reads its blocks one after the other; waits where the reader of the file is slow."""

    def __init__(self, blocks: Sequence[Reader], snapshot: str) -> None:
        super().__init__(daemon=True)
        self._blocks = blocks
        self._snapshot = snapshot
        self._parts: Queue[bytes | Exception | None] = Queue(HELD_PARTS)
        self._stopped = threading.Event()

    def block(self) -> Iterator[bytes]:
        """The parts of the next block."""
        while (part := self._parts.get()) is not None:
            if isinstance(part, Exception):
                raise part
            yield part

    def stop(self) -> None:
        """Stop reading: what is held is dropped."""
        self._stopped.set()
        while True:
            try:
                self._parts.get_nowait()
            except Empty:
                return

    def run(self) -> None:
        try:
            self._read()
        except _StoppedError:
            pass
        except Exception as error:  # raised again where the parts are read
            self._put_last(error)
        finally:
            connection.close()

    def _read(self) -> None:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(
                    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
                )
                cursor.execute("SET TRANSACTION SNAPSHOT %s", [self._snapshot])
            for read in self._blocks:
                for part in read():
                    self._put(part)
                self._put(None)

    def _put(self, part: bytes | Exception | None) -> None:
        while not self._stopped.is_set():
            try:
                self._parts.put(part, timeout=PATIENCE_S)
            except Full:
                continue
            return
        raise _StoppedError

    def _put_last(self, error: Exception) -> None:
        try:
            self._put(error)
        except _StoppedError:
            return
