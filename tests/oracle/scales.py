"""On which scale the values of a name are, by what they show (rules.md N8).

One value of a GPU at a time counts, however many copies of it there are. Where a scraper's values
in a window are 0, 1 or between, what it ever showed under the name counts too.
"""

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

from tests.oracle.samples import AMD_ENGINE, BILLION, UTIL, Sample, Scales, window_of

MANY = 3  # values on another scale
WHOLE_PERCENT = frozenset({UTIL, AMD_ENGINE})  # their exporters write whole numbers
Which = tuple[str, int]  # name, window


class ScalesShown:
    """What is wrong with names, window by window, and what their samples count for."""

    def __init__(self, samples: Iterable[Sample], scales: Scales) -> None:
        """Look at every value whose scale nobody declares."""
        self.scales = scales
        self.are_ratios: set[tuple[Which, object]] = set()  # with a scraper
        self.no_data: set[tuple[Which, object]] = set()  # with a scraper, None: of all
        windows: dict[Which, list[Sample]] = defaultdict(list)
        ever: dict[tuple[str, object], list[Sample]] = defaultdict(list)
        for sample in samples:
            if sample.name not in scales and sample.ratio(scales) is not None:
                windows[sample.name, window_of(sample.at)].append(sample)
                ever[sample.name, sample.scraper].append(sample)
        self.ever = {key: Values(those) for key, those in ever.items()}
        self.together = {name: self._together(name, ever) for name, _ in ever}
        for which, those in windows.items():
            look = self._percent if which[0] in WHOLE_PERCENT else self._ratio
            look(which, those)

    def _together(
        self, name: str, ever: dict[tuple[str, object], list[Sample]]
    ) -> "Values":
        """What every scraper showed; fractions of one that averages are percentages."""
        found: list[Sample] = []
        for (other, who), those in ever.items():
            if other == name:
                averages = self.ever[name, who].are_averages
                found += [s for s in those if s.value > 1 or not averages]
        values = Values(found)
        values.are_averages = False  # a scraper's own word alone
        return values

    def _percent(self, which: Which, those: list[Sample]) -> None:
        every, whose = Values(those), defaultdict(list)
        for sample in those:
            whose[sample.scraper].append(sample)
        for scraper, mine in whose.items():
            own, ever = Values(mine), self.ever[which[0], scraper]
            if (
                not ever.odd and not ever.large
            ):  # only 0 and 1: as all scrapers together
                ever = self.together[which[0]]
            is_open = bool(own.odd) or (own.has_one and not own.large)
            if not is_open or ever.are_averages:
                continue  # percent
            certain = len(every.odd) >= MANY and (bool(own.odd) or not ever.large)
            if not every.large and (certain or ever.are_ratios):
                self.are_ratios.add((which, scraper))
            elif not own.odd and ever.large and not ever.odd:
                continue  # percent
            elif not (own.odd and every.are_averages):
                self.no_data.add((which, scraper))

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
        if (which, sample.scraper) in self.are_ratios and value is not None:
            return round(Fraction(sample.value) * BILLION)
        return value


class Values:
    """Values under a name of whole percentages, of one scraper or of all."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        """Sort them: 0, fractions, exactly 1, and what is above it and still data."""
        found = list(samples)
        self.odd = {(s.gpu, s.at) for s in found if 0 < s.value < 1}
        self.has_one = any(s.value == 1 for s in found)
        self.large = [s.value for s in found if 1 < s.value <= 110]
        self.are_averages = any(value != round(value) for value in self.large)
        self.are_ratios = len(self.odd) >= MANY and not self.large
