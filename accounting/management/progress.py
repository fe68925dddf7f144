"""How far a long command is: a bar on a terminal, a line now and then elsewhere."""

import time
from types import TracebackType

from django.core.management.base import OutputWrapper
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

EVERY_S = 5.0


class Progress:
    """Tells what is being done; use as a context."""

    def __init__(self, out: OutputWrapper) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(file=out),  # type: ignore[arg-type]  # it writes text
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}
        self._last = time.monotonic()

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
        """Say how far one step is."""
        if self._is_terminal:
            if what not in self._tasks:
                self._tasks[what] = self._bar.add_task(what, total=total)
            self._bar.update(self._tasks[what], completed=done, total=total)
        elif time.monotonic() - self._last > EVERY_S:
            self._last = time.monotonic()
            self._out.write(f"{what}: {done} of {total}\n")
