"""A socket whose client takes nothing: what is sent is kept.

Not here: the server that uses it (`tests/integration/portal/test_connections.py`).
"""

import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from threading import Thread

import pytest

from portal.http.slow_socket import PatientSocket

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
ENDS_S = 1.0


@pytest.fixture
def pair() -> Iterator[tuple[PatientSocket, socket.socket]]:
    """A server's socket, with no room for a byte more, and its client's."""
    ours, theirs = socket.socketpair()
    with closing(PatientSocket(ours.detach())) as server, closing(theirs) as client:
        server.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                socket.socket.send(server, b"x" * 4096)
        server.setblocking(True)  # as gunicorn does before a thread reads a request
        yield server, client


@pytest.mark.parametrize("way", ["send", "sendall"])
def test_nothing_waits_for_a_client_that_takes_nothing(
    pair: tuple[PatientSocket, socket.socket], way: str
) -> None:
    """`send` is how gunicorn says `100 Continue`."""
    server, client = pair
    sender = Thread(target=getattr(server, way), args=(CONTINUE,), daemon=True)
    sender.start()
    sender.join(ENDS_S)
    has_ended = not sender.is_alive()
    client.shutdown(socket.SHUT_RDWR)  # a thread that waits ends as well
    sender.join()
    assert has_ended
    assert server.tail == CONTINUE
