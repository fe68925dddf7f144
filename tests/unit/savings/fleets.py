"""Small fleets in letters: one letter is one five-minute window of one GPU."""

from collections.abc import Mapping
from decimal import Decimal

from accounting.core.interval import WINDOW_MS
from scheduler_view.savings.rules.held_time import (
    HeldRun,
    HeldTime,
    HoldLimit,
    WindowTime,
    runs_by_pod,
)

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 20_000  # an ordinal
RATE = Decimal("2.50")
# busy, idle, unknown of a window of a whole GPU
LETTERS: Mapping[str, tuple[int, int, int]] = {
    "b": (300_000, 0, 0),
    "i": (0, 300_000, 0),
    "m": (21_000, 279_000, 0),  # 7 %: between the thresholds
    "u": (0, 0, 300_000),
    "h": (0, 180_000, 120_000),  # idle, 60 % observed
    "g": (12_000, 288_000, 0),  # 4 %: idle
}


def at(hour: int, minute: int = 0) -> int:
    """An instant of the day, in milliseconds."""
    return hour * HOUR + minute * MINUTE


def runs(
    *gpus: str, start_ms: int = 0, pod: int = 1, rate: Decimal | None = RATE
) -> tuple[HeldRun, ...]:
    """The runs of a hold; a text for each GPU, and a dot where it has no facts."""
    windows = [
        WindowTime(
            pod,
            start_ms + n * WINDOW_MS,
            f"gpu{number}",
            *LETTERS[text[n]],
            team=7,
            rate=rate,
            currency="USD" if rate is not None else "",
        )
        for n in range(max(map(len, gpus)))
        for number, text in enumerate(gpus)
        if n < len(text) and text[n] != "."
    ]
    return tuple(run for _, found in runs_by_pod(windows, DAY) for run in found)


def hold(
    *gpus: str,
    start_ms: int = 0,
    pod: int = 1,
    kind: str = "Job",
    is_open: bool = False,
    limit_ms: int | None = None,
    rate: Decimal | None = RATE,
) -> HeldTime:
    """A hold from `start_ms` to the end of its letters; open ones have no end."""
    end_ms = start_ms + max(map(len, gpus)) * WINDOW_MS
    return HeldTime(
        pod,
        start_ms,
        None if is_open else end_ms,
        kind,
        runs(*gpus, start_ms=start_ms, pod=pod, rate=rate),
        None if limit_ms is None else HoldLimit(limit_ms, "a test"),
    )
