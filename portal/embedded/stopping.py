"""Ctrl-C, SIGTERM and a closed terminal as one exception, raised where it does no harm."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(Exception):
    """A request to end: Ctrl-C, SIGTERM, or a closed terminal."""


def is_stop(error: BaseException | None) -> bool:
    """Whether it is `Stopped`, or was raised while that ended something.

    A transaction whose statement was interrupted cannot be rolled back: the connection is still
    busy, and the error that says so takes the place of `Stopped`.
    """
    while error is not None and not isinstance(error, Stopped):
        error = error.__context__
    return error is not None


@dataclass(slots=True)
class _Request:
    """What has come.

    Attributes:
        name: of the signal; "" for none.
        postponed: how many `postponed` blocks are running.
    """

    name: str = ""
    postponed: int = 0

    def check(self) -> None:
        """Raise it, unless it has to wait."""
        if self.name and not self.postponed:
            raise Stopped(self.name)


_request = _Request()


@contextmanager
def stopping_signals() -> Iterator[None]:
    """Turn Ctrl-C, SIGTERM and a closed terminal into `Stopped`, once.

    A second Ctrl-C during the stop is ignored: an incomplete stop would leave processes.
    """

    def stop(number: int, _frame: FrameType | None) -> None:
        for each in NUMBERS:
            signal.signal(each, signal.SIG_IGN)
        _request.name = signal.Signals(number).name
        _request.check()

    before = {number: signal.signal(number, stop) for number in NUMBERS}
    try:
        yield
    finally:
        _request.name = ""
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def postponed() -> Iterator[None]:
    """Raise `Stopped` after this block, also where Python has swallowed it before.

    Python raises between any two instructions. Inside `Popen` that loses a process, or leaves its
    lock held, and `wait` then never returns; inside a destructor the exception is only printed.

    Raises:
        Stopped: at the end, if a signal has come.
    """
    _request.postponed += 1
    try:
        yield
    finally:
        _request.postponed -= 1
    _request.check()
