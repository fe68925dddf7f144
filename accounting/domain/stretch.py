"""Windows of one GPU as stretches: who had it from when to when, and how busy it was."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from accounting.domain.period import WINDOW_MS

WINDOW = timedelta(milliseconds=WINDOW_MS)


class OnePart(Protocol):
    """One line of one window of a GPU."""

    @property
    def at(self) -> datetime:
        """Start of the window."""

    @property
    def pod(self) -> str:
        """Who held it; "" when nobody did."""

    @property
    def milliseconds(self) -> dict[str, int]:
        """By state."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive windows in which one pod (or nobody) had a GPU.

    Attributes:
        pod: "" when nobody held it.
        start, end: half-open, on the window grid.
        busy_ms, idle_ms, unknown_ms: share-weighted.
    """

    pod: str
    start: datetime
    end: datetime
    busy_ms: int
    idle_ms: int
    unknown_ms: int

    @property
    def efficiency(self) -> float | None:
        """Busy / (busy + idle); None when nothing was observed."""
        observed = self.busy_ms + self.idle_ms
        return self.busy_ms / observed if observed else None


def stretches(parts: Sequence[OnePart]) -> list[Stretch]:
    """Fold windows into stretches, by pod and then by time.

    Args:
        parts: lines in order of time; a shared GPU has several in one window.

    Returns:
        Stretches in order of their start; a missing window ends one.
    """
    open_: dict[str, Stretch] = {}
    done: list[Stretch] = []
    for part in parts:
        known = open_.get(part.pod)
        if known is not None and known.end < part.at:
            done.append(known)
            known = None
        open_[part.pod] = _extended(known, part)
    done.extend(open_.values())
    return sorted(done, key=lambda stretch: (stretch.start, stretch.pod))


def _extended(known: Stretch | None, part: OnePart) -> Stretch:
    found = part.milliseconds
    return Stretch(
        part.pod,
        part.at if known is None else known.start,
        part.at + WINDOW,
        found["busy"] + (known.busy_ms if known else 0),
        found["idle"] + (known.idle_ms if known else 0),
        found["unknown"] + (known.unknown_ms if known else 0),
    )
