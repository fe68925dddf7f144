"""Ports of this machine that nobody uses."""

import socket
from contextlib import ExitStack, suppress

from tests.processes import wait_until

LONGEST_S = 60.0  # that a demo of another test uses a port


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


def take(port: int, stack: ExitStack) -> None:
    """Listen on a port until the stack ends, once a demo of another test has left it.

    A port that stays in use for a minute belongs to a program outside of the tests, and stays
    in use.
    """

    def is_ours() -> bool:
        with ExitStack() as tried:
            ours = tried.enter_context(socket.socket())
            # Connections that were closed a moment ago are no listener; without this they
            # count as one.
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                ours.bind(("127.0.0.1", port))
                ours.listen()
            except OSError:
                return False
            stack.push(tried.pop_all())
        return True

    with suppress(AssertionError):
        wait_until(is_ours, LONGEST_S)
