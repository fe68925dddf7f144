"""Which ports the demo takes: what was asked for, what it had, else the next free ones.

Not here: that its servers listen there (tests/e2e/test_demo.py).
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from portal.demo.bootstrap import ports
from portal.demo.bootstrap.ports import Ports, claim
from portal.embedded.errors import ServicesError
from tests.ports import free_port

ROW = 8  # neighbouring ports that a test has for itself


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Gives the ports back."""
    with ExitStack() as found:
        yield found


@pytest.fixture
def first(monkeypatch: pytest.MonkeyPatch) -> int:
    """The first port that the demo tries, with free ones behind it."""
    found = free_port(ROW)
    monkeypatch.setattr(ports, "FIRST", found)
    return found


def busy(port: int, stack: ExitStack) -> None:
    """Another program listens there."""
    other = stack.enter_context(socket.socket())
    other.bind(("0.0.0.0", port))  # noqa: S104  # a container engine does
    other.listen()


def claimed(
    stack: ExitStack,
    port: int | None = None,
    cluster_port: int | None = None,
    last: int | None = None,
) -> tuple[Ports, list[str]]:
    """What the demo takes, and what it says."""
    said: list[str] = []
    found = claim(
        port, cluster_port, last_cluster_port=last, say=said.append, stack=stack
    )
    return found, said


def test_usual_ports_are_taken_without_a_word(first: int, stack: ExitStack) -> None:
    found, said = claimed(stack)
    assert (found.web_port, found.cluster, said) == (first, first + 1, [])


def test_next_free_port_is_taken_and_said(first: int, stack: ExitStack) -> None:
    busy(first, stack)
    found, said = claimed(stack)
    assert (found.web_port, found.cluster) == (first + 1, first + 2)
    assert said == [f"Port {first} is in use: the pages are on port {first + 1}"]


def test_cluster_needs_two_ports_in_a_row(first: int, stack: ExitStack) -> None:
    busy(first + 2, stack)
    found, _ = claimed(stack)
    assert (found.web_port, found.cluster) == (first, first + 3)


def test_cluster_stays_where_it_was(first: int, stack: ExitStack) -> None:
    busy(first, stack)
    found, _ = claimed(stack, last=first + 1)
    assert (found.web_port, found.cluster) == (first + 3, first + 1)


def test_cluster_moves_when_its_port_is_taken(first: int, stack: ExitStack) -> None:
    busy(first + 5, stack)  # the port of its API
    found, _ = claimed(stack, last=first + 4)
    assert (found.web_port, found.cluster) == (first, first + 1)


def test_port_that_was_asked_for_is_used_or_refused(
    first: int, stack: ExitStack
) -> None:
    found, said = claimed(stack, first + 2, first + 5)
    assert (found.web_port, found.cluster, said) == (first + 2, first + 5, [])
    for port, cluster_port, option in (
        (first + 2, None, "--port"),
        (first, first + 5, "--cluster-port"),
        (first, first + 4, "--cluster-port .its API takes the next one."),
    ):
        words = rf"Address already in use\): name another one with {option}, or"
        with ExitStack() as attempt, pytest.raises(ServicesError, match=words):
            claimed(attempt, port, cluster_port)


@pytest.mark.parametrize("port", [-1, 65536])
def test_what_is_not_a_port_is_refused(port: int, stack: ExitStack) -> None:
    with pytest.raises(ServicesError, match=f"port {port} cannot be used"):
        claimed(stack, port)


def test_ports_are_kept_until_their_servers_have_them(
    first: int, stack: ExitStack
) -> None:
    mine, _ = claimed(stack)
    other, _ = claimed(stack)  # a second demo that starts at the same time
    assert {other.web_port, other.cluster, other.cluster + 1}.isdisjoint(
        {mine.web_port, mine.cluster, mine.cluster + 1}
    )
    mine.release_cluster()
    with socket.socket() as server:
        server.bind(("127.0.0.1", mine.cluster))


def test_nothing_free_is_said(
    first: int, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "LOOKED_AT", 1)
    busy(first, stack)
    with pytest.raises(ServicesError, match=f"no port from {first} to {first} is free"):
        claimed(stack)
