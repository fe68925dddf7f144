"""A socket that keeps what a slow client does not take, so that a thread need not wait."""

import select
import socket
import time
from typing import Any

MOST_AHEAD = 1 << 20  # bytes that are kept before a thread may add more
STALLED_S = 30  # without a byte
BODY_S = 300  # of a whole body


class PatientSocket(socket.socket):
    """Sends in the background of its thread, and receives with a deadline.

    Attributes:
        tail: what is not sent yet.
    """

    def __init__(self, fileno: int) -> None:
        super().__init__(fileno=fileno)
        self.tail = bytearray()
        self._until = 0.0

    def begin(self) -> None:
        """A thread begins to read a request."""
        self._until = time.monotonic() + BODY_S

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send what the client takes now, and keep the rest.

        Only a stream waits, at its next part: an answer in one piece is in memory anyway.

        Raises:
            ConnectionResetError: the client has taken nothing for too long.
        """
        while len(self.tail) > MOST_AHEAD:
            self._wait(select.POLLOUT, STALLED_S)
            self.send_tail()
        self.tail += data
        self.send_tail()

    def send(self, data: Any, flags: int = 0) -> int:
        """As `sendall`: gunicorn's `100 Continue` waits for no client that takes nothing."""
        self.sendall(data, flags)
        return len(data)

    def send_tail(self) -> None:
        """Send what the client takes now."""
        while self.tail:
            try:
                sent = super().send(self.tail, socket.MSG_DONTWAIT)
            except (BlockingIOError, InterruptedError):
                return
            del self.tail[:sent]

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Bytes of a request; a thread does not wait for them without an end.

        Raises:
            ConnectionResetError: no byte has come for too long, or the body takes too long.
        """
        if self.gettimeout() is None:
            left = self._until - time.monotonic()
            self._wait(select.POLLIN, min(STALLED_S, left))
        return super().recv(size, flags)

    def _wait(self, event: int, seconds: float) -> None:
        poll = select.poll()
        poll.register(self, event)
        if not poll.poll(max(0.0, seconds) * 1000):
            raise ConnectionResetError(104, "the other side is too slow")
