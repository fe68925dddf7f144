"""Steps and the time for which a sample is valid (rules.md N4, N5)."""

from collections.abc import Iterable, Sequence

from tests.oracle.samples import WINDOW, span_of_step


def median_gap(times: Sequence[int], at: int) -> int | None:
    """The lower median gap around a sample's window; None with fewer than three."""
    low, high = span_of_step(at)
    inside = [t for t in times if low <= t < high]
    if len(inside) < 3:
        return None
    gaps = [later - t for t, later in zip(inside, inside[1:], strict=False)]
    return min(lower_median(sorted(gaps)), WINDOW)


def lower_median(values: Sequence[int]) -> int:
    """The lower of the two middle values of a sorted list."""
    return values[(len(values) - 1) // 2]


def is_near(gap: int, step: int) -> bool:
    """At most 1.5 steps."""
    return 2 * gap <= 3 * step


def validity(at: int, following: int | None, step: int) -> int:
    """How long a sample counts (N5): to the next one when near, else one step."""
    if following is not None and is_near(following - at, step):
        return following - at
    return step


def union(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Overlapping and touching spans as one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
