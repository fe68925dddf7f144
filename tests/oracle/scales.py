"""On which scale the values of a name are, by what they show (rules.md N8).

One value of a GPU at a time counts, however many copies of it there are.
"""

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

from tests.oracle.samples import AMD_ENGINE, BILLION, UTIL, Sample, Scales, window_of

MANY = 3  # values on another scale, in one window
WHOLE_PERCENT = frozenset({UTIL, AMD_ENGINE})  # their exporters write whole numbers
Which = tuple[str, int]  # name, window


class ScalesShown:
    """What is wrong with names, window by window, and what their samples count for."""

    def __init__(self, samples: Iterable[Sample], scales: Scales) -> None:
        """Look at every value whose scale nobody declares."""
        self.scales = scales
        self.are_ratios: set[Which] = set()
        self.no_data: set[tuple[Which, object]] = set()  # with a scraper, None: of all
        windows: dict[Which, list[Sample]] = defaultdict(list)
        for sample in samples:
            if sample.name not in scales and sample.ratio(scales) is not None:
                windows[sample.name, window_of(sample.at)].append(sample)
        for which, those in windows.items():
            look = self._percent if which[0] in WHOLE_PERCENT else self._ratio
            look(which, those)

    def _percent(self, which: Which, those: list[Sample]) -> None:
        odd = [s for s in those if 0 < s.value < 1]
        large = [s for s in those if s.value > 1]
        if len({(s.gpu, s.at) for s in odd}) >= MANY and not large:
            self.are_ratios.add(which)
        elif all(s.value == round(s.value) for s in large):  # else they are averages
            self.no_data.update((which, s.scraper) for s in odd)

    def _ratio(self, which: Which, those: list[Sample]) -> None:
        found: dict[object, set[tuple[str, int]]] = defaultdict(set)
        for s in those:
            if Fraction(11, 10) < Fraction(s.value) <= 100:
                whose = None if s.name.endswith("_RATIO") else s.scraper
                found[whose].add((s.gpu, s.at))
        self.no_data.update(
            (which, who) for who, times in found.items() if len(times) >= MANY
        )

    def reading(self, sample: Sample) -> int | None:
        """What a sample counts for, None when it is no data; utilization in billionths."""
        which = sample.name, window_of(sample.at)
        if {(which, None), (which, sample.scraper)} & self.no_data:
            return None
        value = sample.reading(self.scales)
        if which in self.are_ratios and value is not None:
            return round(Fraction(sample.value) * BILLION)
        return value
