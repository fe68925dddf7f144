"""The interval of samples, derived from the samples (rules.md N4)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accounting.metering.sources.samples import SampleBatch, in_order, meaning_of


class Sampler(NamedTuple):
    """The origin of samples: a scraper, with its kube-state objects separate from its GPUs."""

    job: str
    is_kube: bool
    instance: str
    replica: str


FEWEST_GAPS = 2  # of one series: with fewer than three samples nothing is derived
_SHIFT = 1 << 40  # larger than any gap in milliseconds


@dataclass(slots=True)
class Intervals:
    """The gaps between the samples of each sampler, over all batches of a source.

    Shown to people only: each window derives its own step, from its own samples. The two differ
    only if an interval changed in the meantime.
    """

    _samplers: list[Sampler] = field(default_factory=list)
    _gaps: dict[int, Counter[int]] = field(default_factory=dict)
    _whose: list[int] = field(default_factory=list)  # by series; -1: not counted

    def add(self, batch: SampleBatch) -> None:
        """Add a batch; batches of one source share their list of series."""
        self._learn(batch)
        order = in_order(batch)
        ids, times = batch.ids[order], batch.times[order]
        gaps = np.diff(times)
        whose: NDArray[np.int64] = np.array(self._whose, np.int64)[ids[1:]]
        kept = (np.diff(ids) == 0) & (gaps > 0) & (gaps < _SHIFT) & (whose >= 0)
        counts = np.bincount(ids[1:][kept], minlength=len(self._whose))
        kept &= counts[ids[1:]] >= FEWEST_GAPS
        pairs, counts = np.unique(whose[kept] * _SHIFT + gaps[kept], return_counts=True)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            number, gap = divmod(pair, _SHIFT)
            self._gaps.setdefault(number, Counter())[gap] += count

    def concluded(self) -> Mapping[Sampler, int | None]:
        """The lower median gap of each sampler in milliseconds; None with too few samples."""
        return {
            sampler: _lower_median(self._gaps.get(number, Counter()))
            for number, sampler in enumerate(self._samplers)
        }

    def _learn(self, batch: SampleBatch) -> None:
        """Determine the samplers of the new series in a batch."""
        numbers = {sampler: n for n, sampler in enumerate(self._samplers)}
        for raw in batch.series[len(self._whose) :]:
            meaning = meaning_of(raw, ())
            if meaning is None or raw.name == "up":
                self._whose.append(-1)
                continue
            job, instance, replica = meaning.scraper
            is_kube = raw.name.startswith("kube_")
            sampler = Sampler(job, is_kube, instance, replica)
            number = numbers.setdefault(sampler, len(numbers))
            if number == len(self._samplers):
                self._samplers.append(sampler)
            self._whose.append(number)


def _lower_median(gaps: Counter[int]) -> int | None:
    left = (sum(gaps.values()) - 1) // 2
    for gap in sorted(gaps):
        left -= gaps[gap]
        if left < 0:
            return gap
    return None
