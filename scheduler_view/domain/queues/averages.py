"""Time-weighted averages of samples that hold until the next one (scheduling.md S16)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ObservedLevel:
    """A value that was observed to last from `start_ms` to `end_ms`."""

    start_ms: int
    end_ms: int
    value: float


def averages(
    levels: Iterable[ObservedLevel], steps: Sequence[tuple[int, int]]
) -> list[float | None]:
    """The average of each step, weighted by time; None where nothing was observed.

    Args:
        levels: that do not overlap, in the order of time.
        steps: start and end of each, in the order of time, without overlap.
    """
    sums, times = [0.0] * len(steps), [0] * len(steps)
    first = 0
    for one in levels:
        while first < len(steps) and steps[first][1] <= one.start_ms:
            first += 1
        for i in range(first, len(steps)):
            start, end = steps[i]
            if start >= one.end_ms:
                break
            common = min(end, one.end_ms) - max(start, one.start_ms)
            sums[i] += one.value * common
            times[i] += common
    return [
        total / time if time else None for total, time in zip(sums, times, strict=True)
    ]
