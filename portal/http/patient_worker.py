"""The worker of the web server: no thread waits for the other side of a connection.

gunicorn's gthread gives a connection to a thread before its request has arrived, and the thread
stays until the client has taken the answer: as many idle or slow clients as there are threads stop
the server, health checks included. Here, the loop that polls all connections receives the head of a
request and a small body, sends what a client has not taken yet, and waits for clients that close
late. Threads only compute. What is left to them, large bodies and streamed files, is counted by
`portal.http.long_requests`.
"""

import errno
import re
import selectors
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from gunicorn.workers.gthread import TConn, ThreadWorker

from portal.http.slow_socket import PatientSocket
from portal.http.unavailable import limit_lock_waits

SMALL_BODY = (
    65_536  # bytes that are received before a thread begins; as in `long_requests`
)
LONGEST_HEAD = 65_536  # bytes
REQUEST_S = (
    20  # from the first byte of a request to the last one of its head and small body
)
SEND_S = 30  # without a byte that the client takes
CLOSE_S = 2  # until the client closes as well
MOST_DISCARDED = 8 << 20  # bytes that a client still sends after its answer
MOST_KEPT = (
    64 << 20
)  # bytes of answers that clients have not taken; then the oldest one ends
_BLOCK = 65_536
_END = b"\r\n\r\n"
_LENGTH = re.compile(
    rb"\r\ncontent-length:[ \t]*([0-9]{1,15})[ \t]*\r\n", re.IGNORECASE
)
_WAITS = re.compile(rb"\r\nexpect:", re.IGNORECASE)
_PROBE = re.compile(rb"(GET|HEAD) /healthz[ ?]")
_TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"Connection: close\r\nContent-Length: 0\r\n\r\n"
)


class PatientConnection(TConn):  # type: ignore[misc]  # gunicorn has no types
    """A connection, and what was received of its next request."""

    sock: PatientSocket

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.received = bytearray()
        self.has_begun = False  # blank lines before a request count as well
        self.discarded = 0
        self.data_ready = True  # a thread gets it with data

    @property
    def is_complete(self) -> bool:
        """True if a thread can read the request without waiting for a slow client."""
        while self.received.startswith(b"\r\n"):  # allowed before a request
            del self.received[:2]
        end = self.received.find(_END)
        if end < 0:
            return False
        head = bytes(self.received[: end + 2])
        length = _LENGTH.search(head)
        if length is None or _WAITS.search(head):
            return True
        body = min(int(length[1]), SMALL_BODY)
        return len(self.received) >= end + len(_END) + body


class PatientWorker(ThreadWorker):  # type: ignore[misc]  # as above
    """gthread, with all waiting in the loop."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.waiting: dict[PatientConnection, None] = {}  # in the order of waiting

    def init_process(self) -> None:
        """In the process of its own."""
        self.probes = ThreadPoolExecutor(1)  # `/healthz` needs no thread of the pages
        limit_lock_waits()
        super().init_process()

    # in the loop -----------------------------------------------------------------

    def accept(self, listener: Any) -> None:
        """A new connection; the oldest one that sends nothing makes room."""
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE) and self.waiting:
                self._drop(next(iter(self.waiting)))
            return
        self.nr_conns += 1
        sock = PatientSocket(fileno=client.detach())
        conn = PatientConnection(self.cfg, sock, address, listener.getsockname())
        self._guarded(
            conn,
            lambda conn: self._wait(
                conn, selectors.EVENT_READ, self._receive, REQUEST_S
            ),
        )
        if self.nr_conns >= self.worker_connections and self.waiting:
            self._drop(next(iter(self.waiting)))

    def murder_pending(self) -> None:
        """End what has waited for too long; gunicorn's loop calls it each second."""
        now = time.monotonic()
        for conn in list(self.waiting):
            if not (self.alive or conn.received or conn.sock.tail):
                # its next request may be on its way, but no successor starts before this ends
                conn.timeout = min(conn.timeout, now + CLOSE_S)
            if conn.timeout <= now:
                self._drop(conn)

    def finish_request(self, conn: PatientConnection, future: Future[Any]) -> None:
        """A thread has ended its work on a request."""
        self._guarded(conn, lambda conn: self._answered(conn, future))

    def _answered(self, conn: PatientConnection, future: Future[Any]) -> None:
        failed = future.cancelled() or future.exception() is not None
        keeps = not failed and future.result() is True
        if conn.sock.fileno() < 0:
            self.nr_conns -= 1
        elif conn.sock.tail:
            self._wait(
                conn,
                selectors.EVENT_WRITE,
                lambda conn: self._send(conn, keeps=keeps),
                SEND_S,
            )
            self._keep_little()
        else:
            self._after(conn, keeps=keeps)

    def _wait(
        self,
        conn: PatientConnection,
        event: int,
        step: Callable[[PatientConnection], None],
        seconds: float,
    ) -> None:
        conn.sock.settimeout(0)
        conn.timeout = time.monotonic() + seconds

        def ready(_sock: object) -> None:
            if conn in self.waiting:  # another event of this round may have ended it
                self._guarded(conn, step)

        self.poller.register(conn.sock, event, ready)
        self.waiting[conn] = None

    def _guarded(
        self, conn: PatientConnection, step: Callable[[PatientConnection], None]
    ) -> None:
        """What goes wrong with one connection ends that one, and not the loop of all others."""
        try:
            step(conn)
        except Exception as error:
            if not isinstance(error, OSError):  # of the other side, such as a reset
                self.log.exception("A connection has ended with an error.")
            self._drop(conn)

    def _resume(self, conn: PatientConnection) -> None:
        del self.waiting[conn]
        self.poller.unregister(conn.sock)

    def _drop(self, conn: PatientConnection) -> None:
        if conn in self.waiting:
            self._resume(conn)
        self.nr_conns -= 1
        conn.close()

    def _receive(self, conn: PatientConnection) -> None:
        data = _received(conn.sock)
        if data is None:
            return
        if not data:
            self._drop(conn)
            return
        if not conn.has_begun:
            conn.has_begun = True
            conn.timeout = time.monotonic() + REQUEST_S
        conn.received += data
        self._dispatch(conn)

    def _dispatch(self, conn: PatientConnection) -> None:
        """To a thread, if the request is complete."""
        if conn.is_complete:
            self._resume(conn)
            self.enqueue_req(conn)
        elif len(conn.received) > LONGEST_HEAD and _END not in conn.received:
            self._resume(conn)
            conn.sock.sendall(_TOO_LONG)  # a client that takes nothing may miss it
            self._close(conn)

    def enqueue_req(self, conn: PatientConnection) -> None:
        """To a thread; health checks have one of their own."""
        pool = self.probes if _PROBE.match(conn.received) else self.tpool
        future = pool.submit(self.handle, conn)
        future.add_done_callback(
            lambda done: self.method_queue.defer(self.finish_request, conn, done)
        )

    def _send(self, conn: PatientConnection, *, keeps: bool) -> None:
        before = len(conn.sock.tail)
        conn.sock.send_tail()
        if len(conn.sock.tail) < before:
            conn.timeout = time.monotonic() + SEND_S
        if not conn.sock.tail:
            self._resume(conn)
            self._after(conn, keeps=keeps)

    def _after(self, conn: PatientConnection, *, keeps: bool) -> None:
        """The answer is sent: wait for the next request, or close."""
        if not keeps:
            self._close(conn)
            return
        conn.received += conn.parser.unreader.take_buffered()
        conn.has_begun = bool(conn.received)
        seconds = REQUEST_S if conn.has_begun else self.cfg.keepalive
        self._wait(conn, selectors.EVENT_READ, self._receive, seconds)
        if conn.received:
            self._dispatch(conn)

    def _close(self, conn: PatientConnection) -> None:
        """Say that no more follows, and wait for the other side: RFC 9112, 9.6."""
        conn.sock.shutdown(socket.SHUT_WR)
        self._wait(conn, selectors.EVENT_READ, self._discard, CLOSE_S)

    def _discard(self, conn: PatientConnection) -> None:
        data = _received(conn.sock)
        if data is None:
            return
        conn.discarded += len(data)
        if not data or conn.discarded > MOST_DISCARDED:
            self._drop(conn)

    def _keep_little(self) -> None:
        """Answers that nobody takes do not fill the memory."""
        slow = [conn for conn in self.waiting if conn.sock.tail]
        kept = sum(len(conn.sock.tail) for conn in slow)
        for conn in slow[:-1]:
            if kept <= MOST_KEPT:
                break
            kept -= len(conn.sock.tail)
            self._drop(conn)

    # in a thread -----------------------------------------------------------------

    def handle(self, conn: PatientConnection) -> bool:
        """Compute the answer of a request."""
        conn.init()
        conn.sock.begin()
        conn.parser.unreader.unread(bytes(conn.received))
        conn.received.clear()
        return bool(super().handle(conn))

    def _keepalive_after(  # gunicorn's
        self,
        conn: PatientConnection,
        keepalive: bool,  # noqa: FBT001  # gunicorn's signature
    ) -> bool:
        """A body that nobody has read is not waited for: the connection ends."""
        if not keepalive:
            return False
        conn.sock.settimeout(0)
        try:
            return bool(conn.parser.finish_body(max_bytes=SMALL_BODY))
        except BlockingIOError:
            return False


def _received(sock: PatientSocket) -> bytes | None:
    """What has arrived; nothing at the end of a connection; None if it was a false alarm."""
    try:
        return sock.recv(_BLOCK)
    except (BlockingIOError, InterruptedError):
        return None
    except OSError:
        return b""
