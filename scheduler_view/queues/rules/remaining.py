"""How long a hold will last, by how long holds like it lasted (scheduling.md S19)."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

MEDIAN, LOW, HIGH = Fraction(1, 2), Fraction(1, 10), Fraction(9, 10)
ENOUGH = 10  # longer holds of a group, for it to be used

Group = tuple[str, ...]  # such as ("workload", team, name)


class HoldDurations:
    """Durations of ended holds in milliseconds, by group."""

    def __init__(self, by_group: Mapping[Group, Iterable[int]]) -> None:
        self._sorted = {group: sorted(found) for group, found in by_group.items()}

    def remaining(
        self, groups: Sequence[Group], age_ms: int, quantile: Fraction
    ) -> int | None:
        """The quantile of what longer holds had left at this age.

        Args:
            groups: the first one with enough longer holds counts.
            age_ms: of the hold.
            quantile: the index is ceil(quantile n) - 1 of the sorted list.

        Returns:
            Milliseconds; None if no group has enough: then its end is not known.
        """
        for group in groups:
            lasted = self._sorted.get(group, [])
            first = bisect_right(lasted, age_ms)
            count = len(lasted) - first
            if count >= ENOUGH:
                index = -(-quantile.numerator * count // quantile.denominator) - 1
                return lasted[first + index] - age_ms
        return None
