"""Finds the ports of the demo, and reserves them until their servers listen.

The pages use one port; the simulated cluster uses two adjacent ports, for its exporters and
for its Kubernetes API. A port that a person names is used or rejected; without a name the
next free one is used.
"""

import errno
import os
import socket
from collections.abc import Callable, Container, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field

from portal.demo.bootstrap.server import HOST
from portal.embedded.errors import ServicesError

FIRST = 8000
LOOKED_AT = 1000  # number of ports to try
BACKLOG = 2048  # connections that wait to be accepted; gunicorn's default


@dataclass(slots=True)
class Ports:
    """The ports of one demo.

    Attributes:
        web: of the pages; the socket is passed to the web server, so that no other process can
            use the port in between.
        cluster: of the exporters; the Kubernetes API is on the next port.
    """

    web: socket.socket
    cluster: int
    _kept: list[socket.socket] = field(default_factory=list)

    @property
    def web_port(self) -> int:
        """The port of the pages."""
        return int(self.web.getsockname()[1])

    def release_cluster(self) -> None:
        """Release the ports for the simulated cluster, which opens them itself."""
        for kept in self._kept:
            kept.close()
        self._kept.clear()


def claim(
    port: int | None,
    cluster_port: int | None,
    *,
    last_cluster_port: int | None,
    say: Callable[[str], None],
    stack: ExitStack,
) -> Ports:
    """Reserve free ports; they are released when the stack ends.

    Args:
        port: of the pages, as requested; None: any, preferably 8000.
        cluster_port: the same, for the simulated cluster.
        last_cluster_port: at the last start. It is used again if possible: an exporter on another
            port is another exporter for the ledger.
        say: prints a message if the port is not the default.

    Raises:
        ServicesError: a requested port cannot be used, or none is free.
    """
    usual = cluster_port or last_cluster_port
    pair = set() if usual is None else {usual, usual + 1}
    web = stack.enter_context(_web(port, pair, say))
    chosen = int(web.getsockname()[1])
    if cluster_port is not None:
        option = "--cluster-port"
        kept = [stack.enter_context(_named(cluster_port, option))]
        option = f"{option} (its API takes the next one)"
        kept.append(stack.enter_context(_named(cluster_port + 1, option)))
    else:
        kept = _first_pair([*([usual] if usual else []), *range(chosen + 1, 65535)])
    ports = Ports(web, int(kept[0].getsockname()[1]), kept)
    stack.callback(ports.release_cluster)
    return ports


def _web(
    port: int | None, not_these: Container[int], say: Callable[[str], None]
) -> socket.socket:
    if port is not None:
        return _named(port, "--port")
    for number in range(FIRST, FIRST + LOOKED_AT):
        if number not in not_these and (free := _listening(number)):
            if number != FIRST:
                say(f"Port {FIRST} is in use: the pages are on port {number}")
            return free
    raise ServicesError(
        f"no port from {FIRST} to {FIRST + LOOKED_AT - 1} is free: name one with --port"
    )


def _first_pair(numbers: Iterable[int]) -> list[socket.socket]:
    for number in numbers:
        first = _listening(number)
        second = _listening(number + 1) if first else None
        if first and second:
            return [first, second]
        if first:
            first.close()
    raise ServicesError("no two ports in a row are free: name them with --cluster-port")


def _named(port: int, option: str) -> socket.socket:
    """The port that a person requested.

    Raises:
        ServicesError: it cannot be used; another one is not chosen.
    """
    try:
        return _listen(port)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or "it is not a port"
        raise ServicesError(
            f"port {port} cannot be used ({reason}): name another one with {option}, or"
            " leave the option out, and the next free one is used"
        ) from None


def _listening(port: int) -> socket.socket | None:
    """A socket on a port; None if it is in use or not permitted."""
    try:
        return _listen(port)
    except OSError as error:
        if error.errno in {errno.EADDRINUSE, errno.EACCES}:
            return None
        raise ServicesError(
            f"{HOST} cannot be used: {os.strerror(error.errno or 0)}"
        ) from None


def _listen(port: int) -> socket.socket:
    found = socket.socket()
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen(BACKLOG)
    except BaseException:
        found.close()
        raise
    return found
