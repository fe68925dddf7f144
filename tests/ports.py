"""Ports of this machine that nobody uses."""

import socket
from contextlib import ExitStack, suppress


def free_port(in_a_row: int = 1) -> int:
    """The first of so many neighbouring ports that are free at this moment."""
    while True:
        with ExitStack() as held, suppress(OSError, OverflowError):
            first = held.enter_context(socket.socket())
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            for number in range(port + 1, port + in_a_row):
                held.enter_context(socket.socket()).bind(("127.0.0.1", number))
            return port
