"""Half-open periods of time, in integer milliseconds since 1970 (UTC).

Every period here is [start, end): it includes the start and excludes the end. Windows are
five minutes on the UTC grid (rules.md N1).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

WINDOW_MS = 300_000  # rules.md N1
HOUR_MS = 3_600_000
DAY_MS = 86_400_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FAR_MS = (
    253_402_300_799_000  # the last second of 9999: "for ever" in terms of `datetime`
)


def to_ms(instant: datetime) -> int:
    """Milliseconds since 1970 of an aware instant.

    Raises:
        ValueError: `instant` has no time zone.
    """
    if instant.tzinfo is None:
        raise ValueError(f"{instant!r} has no time zone")
    return (instant - EPOCH) // timedelta(milliseconds=1)


def to_instant(ms: int) -> datetime:
    """The UTC instant of `ms` milliseconds since 1970."""
    return EPOCH + timedelta(milliseconds=ms)


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """[start_ms, end_ms), both in milliseconds since 1970; empty when they are equal.

    Raises:
        ValueError: the end is before the start.
    """

    start_ms: int
    end_ms: int

    def __post_init__(self) -> None:
        if self.end_ms < self.start_ms:
            raise ValueError(f"period ends before it starts: {self}")

    @classmethod
    def of(cls, start: datetime, end: datetime) -> "Interval":
        """The period between two aware instants."""
        return cls(to_ms(start), to_ms(end))

    @property
    def start(self) -> datetime:
        """First instant, UTC."""
        return to_instant(self.start_ms)

    @property
    def end(self) -> datetime:
        """The first instant after it, UTC."""
        return to_instant(self.end_ms)

    @property
    def length_ms(self) -> int:
        """Milliseconds from start to end; 0 when empty."""
        return self.end_ms - self.start_ms

    def contains(self, instant_ms: int) -> bool:
        """True if the instant is in it; the end is not."""
        return self.start_ms <= instant_ms < self.end_ms

    def intersection(self, other: "Interval") -> "Interval | None":
        """The common part, or None if they share no millisecond."""
        start, end = (
            max(self.start_ms, other.start_ms),
            min(self.end_ms, other.end_ms),
        )
        return Interval(start, end) if start < end else None

    def windows(self) -> Iterator["Interval"]:
        """Every window of the UTC grid that it overlaps, in full, in order."""
        return self._grid(WINDOW_MS)

    def hours(self) -> Iterator["Interval"]:
        """Every UTC hour that it overlaps, in full, in order."""
        return self._grid(HOUR_MS)

    def _grid(self, size_ms: int) -> Iterator["Interval"]:
        start = self.start_ms - self.start_ms % size_ms
        while start < self.end_ms:
            yield Interval(start, start + size_ms)
            start += size_ms


def union(periods: Iterable[Interval]) -> list[Interval]:
    """The same time, ascending and disjoint; adjoining periods are joined."""
    merged: list[Interval] = []
    for period in sorted(periods):
        if not period.length_ms:
            continue
        if merged and period.start_ms <= merged[-1].end_ms:
            end_ms = max(period.end_ms, merged[-1].end_ms)
            merged[-1] = Interval(merged[-1].start_ms, end_ms)
        else:
            merged.append(period)
    return merged


def without(periods: Iterable[Interval], taken: Iterable[Interval]) -> list[Interval]:
    """The time of `periods` that is not in `taken`, ascending and disjoint."""
    found: list[Interval] = []
    others = union(taken)
    for period in union(periods):
        start_ms = period.start_ms
        for other in others:
            if other.end_ms <= start_ms or other.start_ms >= period.end_ms:
                continue
            if start_ms < other.start_ms:
                found.append(Interval(start_ms, other.start_ms))
            start_ms = max(start_ms, other.end_ms)
        if start_ms < period.end_ms:
            found.append(Interval(start_ms, period.end_ms))
    return found


def hour_periods(hours: Iterable[datetime], at_most: int) -> Iterator[Interval]:
    """Hours as periods of up to `at_most` adjoining hours, ascending.

    Args:
        hours: starts of whole hours, in any order.
        at_most: the number of hours of a period.
    """
    starts = sorted({to_ms(hour) for hour in hours})
    for period in union(Interval(start, start + HOUR_MS) for start in starts):
        for start in range(period.start_ms, period.end_ms, at_most * HOUR_MS):
            yield Interval(start, min(start + at_most * HOUR_MS, period.end_ms))


def window_of(instant_ms: int) -> Interval:
    """The window that contains an instant."""
    start = instant_ms - instant_ms % WINDOW_MS
    return Interval(start, start + WINDOW_MS)
