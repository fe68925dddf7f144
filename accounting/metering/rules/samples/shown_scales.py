"""What a scraper ever showed under a name of whole percentages (rules.md N8).

A window in which every value is exactly 0 or 1 does not say whether 1 is 1% or 100%; what the same
scraper showed at other times does. Kept with the scraper, so it is a union of samples, in whichever
order and parts they are read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accounting.core.interval import Interval
from accounting.metering.rules.samples.scraper_series import MAX_UTILIZATION
from accounting.metering.rules.samples.series import (
    ScraperIdentity,
    Series,
    Times,
    Values,
)

WRONG_SAMPLES = 3  # N8: this many of different GPUs or times show another scale
ONE_PERCENT = 0.01
_TINY = 1e-8  # of a ratio: a percentage that differs by less is whole

Sample = tuple[int, str]  # its time in milliseconds, and its GPU


class ShownScale(NamedTuple):
    """What one scraper ever showed under one name.

    Attributes:
        fractions: its first samples between 0 and 1, ascending; at most `WRONG_SAMPLES`.
        is_above: it showed values above 1 that count as data.
        is_averaged: some of these had decimal places.
        has_ones: it showed values of exactly 1.
    """

    fractions: tuple[Sample, ...] = ()
    is_above: bool = False
    is_averaged: bool = False
    has_ones: bool = False

    @property
    def is_ratio(self) -> bool:
        """True if all that it showed is ratios, for certain."""
        return len(self.fractions) >= WRONG_SAMPLES and not self.is_above

    @property
    def is_percent(self) -> bool:
        """True if all that it showed is percentages, for certain."""
        return self.is_averaged or (self.is_above and not self.fractions)

    @property
    def kind(self) -> tuple[int, bool, bool]:
        """What of it decides how a window is read."""
        return len(self.fractions), self.is_above, self.is_averaged

    @property
    def is_open(self) -> bool:
        """True if some of its values can be read in more than one way; 0 is 0 on every scale."""
        return self.has_ones or bool(self.fractions)

    def joined(self, every: Sequence[Series], period: Interval) -> "ShownScale":
        """This, and what samples of a period show.

        Args:
            every: series, at least one, of the scraper and name, as ratios.
            period: half-open; other samples are not looked at.
        """
        parts: list[tuple[str, Times, Values]] = []
        for series in map(once, every):
            low, high = np.searchsorted(
                series.times_ms, [period.start_ms, period.end_ms]
            )
            uuid = "" if series.gpu is None else series.gpu.uuid
            parts.append((uuid, series.times_ms[low:high], series.values[low:high]))
        values = np.concatenate([values for _, _, values in parts])
        fractions = set(self.fractions)
        if are_fractions(values).any():
            for uuid, times, own in parts:
                found = np.unique(times[are_fractions(own)])[:WRONG_SAMPLES]
                fractions.update((at, uuid) for at in found.tolist())
        return ShownScale(
            tuple(sorted(fractions)[:WRONG_SAMPLES]),
            self.is_above or bool(are_above(values).any()),
            self.is_averaged or bool(are_averages(values).any()),
            self.has_ones or bool((values == ONE_PERCENT).any()),
        )


NOTHING = ShownScale()
ONLY_ONES = ShownScale(has_ones=True)  # beside 0
ShownScales = Mapping[tuple[ScraperIdentity, str], ShownScale]  # by scraper and name


def together(every: Iterable[ShownScale]) -> ShownScale:
    """What the scrapers of a cluster showed under a name, for those that showed only 0 and 1.

    A scraper of averages writes percentages: its fractions are none here.
    """
    fractions: set[Sample] = set()
    is_above = False
    for one in every:
        is_above |= one.is_above
        if not one.is_averaged:
            fractions.update(one.fractions)
    return ShownScale(tuple(sorted(fractions)[:WRONG_SAMPLES]), is_above)


def once(series: Series) -> Series:
    """A series without the samples that another one at the same time replaces (N2)."""
    times, values = series.times_ms, series.values
    if (times[1:] > times[:-1]).all():
        return series
    is_data = (values >= 0) & (values <= MAX_UTILIZATION)
    order = np.lexsort((np.where(is_data, values, np.inf), times))
    keep = order[np.diff(times[order], prepend=-1) > 0]
    return replace(series, times_ms=times[keep], values=values[keep])


def are_fractions(values: Values) -> NDArray[np.bool_]:
    """Between 0 and 1 as the exporter wrote them."""
    found: NDArray[np.bool_] = (values > 0) & (values < ONE_PERCENT)
    return found


def are_above(values: Values) -> NDArray[np.bool_]:
    """Above 1 as the exporter wrote them, and no more than counts as data."""
    found: NDArray[np.bool_] = (values > ONE_PERCENT) & (values <= MAX_UTILIZATION)
    return found


def are_averages(values: Values) -> NDArray[np.bool_]:
    """Above 1 as the exporter wrote them, with decimal places."""
    found = are_above(values)
    above = values[found]
    found[found] = np.abs(above - np.rint(above * 100) / 100) > _TINY
    return found
