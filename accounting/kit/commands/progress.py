"""The progress of a long command: a bar on a terminal, a line every five seconds elsewhere."""

import time
from collections import deque
from collections.abc import Callable
from types import TracebackType

from django.core.management.base import OutputWrapper
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

EVERY_S = 5.0
RATE_OVER_S = 60.0  # the rate is that of the last minute, because hours differ in size


class Progress:
    """Shows progress; use as a context manager.

    Steps follow each other. A step whose name is repeated starts again.
    """

    def __init__(
        self, out: OutputWrapper, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._out = out
        self._clock = clock
        self._is_terminal = out.isatty()
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=Console(file=out),  # type: ignore[arg-type]  # it writes text
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}
        self._step = ""
        self._seen: deque[tuple[float, int]] = deque()
        self._last = clock()

    def __enter__(self) -> "Progress":
        """Start drawing."""
        if self._is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop drawing."""
        if self._is_terminal:
            self._bar.stop()

    def tell(self, what: str, done: int, total: int) -> None:
        """Show the progress of one step; the total may grow."""
        if self._is_terminal:
            if what not in self._tasks:
                self._tasks[what] = self._bar.add_task(what, total=total)
            self._bar.update(self._tasks[what], completed=done, total=total)
            return
        now = self._clock()
        if what != self._step or (self._seen and done < self._seen[-1][1]):
            self._step = what
            self._seen.clear()
        self._seen.append((now, done))
        while now - self._seen[0][0] > RATE_OVER_S:
            self._seen.popleft()
        if now - self._last > EVERY_S:
            self._last = now
            self._out.write(f"{what}: {self._line(done, total)}\n")

    def _line(self, done: int, total: int) -> str:
        share = 100 * done // total if total else 100
        parts = [f"{done} of {total} ({share}%)"]
        (first_s, first), (last_s, last) = self._seen[0], self._seen[-1]
        if last > first and last_s > first_s:
            rate = (last - first) / (last_s - first_s)
            parts.append(f"{rate:.{0 if rate >= 10 else 1}f} per second")
            parts.append(f"{duration((total - done) / rate)} left")
        return ", ".join(parts)


def duration(seconds: float) -> str:
    """Seconds as text: `0:05`, `12:30`, `3:05:00`."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02d}:{rest:02d}"
    return f"{minutes}:{rest:02d}"
