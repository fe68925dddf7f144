"""Names whose values are on another scale than the catalogue says (rules.md N8)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from accounting.domain.core.arrays import Integers
from accounting.domain.core.interval import WINDOW_MS, Interval
from accounting.domain.core.issue import Issue
from accounting.domain.samples.scraper_series import MAX_UTILIZATION
from accounting.domain.samples.series import ScraperIdentity, Series, Values

WRONG_SAMPLES = 3  # N8: this many of different GPUs or times show another scale
# Percent of exporters that write whole numbers, so that a fraction shows another scale.
WHOLE_PERCENT = frozenset(
    {"DCGM_FI_DEV_GPU_UTIL", "gpu_gfx_activity", "habanalabs_utilization"}
)
# Percent with decimal places: small values show nothing.
FINE_PERCENT = frozenset({"gpu_prof_sm_active", "gpu_prof_tensor_active_percent"})
ONE_PERCENT = 0.01
_TINY = 1e-8  # of a ratio: a percentage that differs by less is whole


@dataclass(slots=True)
class _Scale:
    """What is wrong with one name: windows by their start; a scraper of None is every one."""

    rejected: set[tuple[ScraperIdentity | None, int]] = field(default_factory=set)
    ratios: set[int] = field(default_factory=set)

    def of(self, series: Series) -> Values:
        """The values of a series on their scale; NaN where nobody knows it."""
        starts = series.times_ms - series.times_ms % WINDOW_MS
        mine = {at for who, at in self.rejected if who in {None, series.scraper}}
        values = np.where(
            _among(starts, self.ratios), series.values * 100, series.values
        )
        found: Values = np.where(_among(starts, mine), np.nan, values)
        return found


def _among(starts: Integers, windows: Iterable[int]) -> NDArray[np.bool_]:
    return np.isin(starts, np.array(sorted(windows), np.int64))


def on_their_scale(
    every: Sequence[Series],
    declared: frozenset[str],
    period: Interval,
    issues: list[Issue],
) -> list[Series]:
    """The same series with the values of undeclared names on the scale that they show (N8).

    A GPU that several pods share is reported once for each of them: its copies count once.

    Args:
        every: series of ratios of one source.
        declared: names whose scale the source declares.
        period: the windows whose issues are reported.
        issues: to which issues are appended.
    """
    by_name: dict[str, list[Series]] = defaultdict(list)
    for series in every:
        if series.gpu is not None and series.name not in declared:
            by_name[series.name].append(series)
    wrong: dict[str, _Scale] = {}
    for name, those in by_name.items():
        found = _scale_of(name, those)
        if found is not None:
            wrong[name] = found
            issues.extend(_issues(name, those, found, period))
    if not wrong:
        return list(every)
    return [
        replace(series, values=wrong[series.name].of(series))
        if series.name in wrong and series.name not in declared
        else series
        for series in every
    ]


def _scale_of(name: str, those: Sequence[Series]) -> _Scale | None:
    if name in FINE_PERCENT:
        return None
    values = np.concatenate([series.values for series in those])
    if name in WHOLE_PERCENT:
        is_odd = ((values > 0) & (values < ONE_PERCENT)).any()
        return _scale_of_percent(those) if is_odd else None
    is_odd = ((values > MAX_UTILIZATION) & (values <= 100)).any()
    return _scale_of_ratio(name, those) if is_odd else None


def _scale_of_percent(those: Sequence[Series]) -> _Scale | None:
    """Ratios under a name of whole percentages; in doubt, scrapers with fractions are rejected."""
    fractions: dict[int, set[tuple[str, int]]] = defaultdict(set)
    scrapers: dict[int, set[ScraperIdentity]] = defaultdict(set)
    large: set[int] = set()
    averaged: set[int] = set()
    for series in those:
        values = series.values
        for at, sample in _samples(series, (values > 0) & (values < ONE_PERCENT)):
            fractions[at].add(sample)
            scrapers[at].add(series.scraper)
        starts = series.times_ms - series.times_ms % WINDOW_MS
        is_large = values > ONE_PERCENT
        large.update(np.unique(starts[is_large]).tolist())
        is_fine = np.abs(values - np.rint(values * 100) / 100) > _TINY
        averaged.update(np.unique(starts[is_large & is_fine]).tolist())
    found = _Scale()
    for at, samples in fractions.items():
        if at not in large and len(samples) >= WRONG_SAMPLES:
            found.ratios.add(at)
        elif at not in averaged:
            found.rejected.update((scraper, at) for scraper in scrapers[at])
    return found if found.ratios or found.rejected else None


def _scale_of_ratio(name: str, those: Sequence[Series]) -> _Scale | None:
    """Percentages under a name of ratios: of the source for `_RATIO`, else of each scraper."""
    is_of_source = name.endswith("_RATIO")
    high: dict[tuple[ScraperIdentity | None, int], set[tuple[str, int]]]
    high = defaultdict(set)
    for series in those:
        values = series.values
        for at, sample in _samples(
            series, (values > MAX_UTILIZATION) & (values <= 100)
        ):
            high[None if is_of_source else series.scraper, at].add(sample)
    rejected = {key for key, found in high.items() if len(found) >= WRONG_SAMPLES}
    return _Scale(rejected) if rejected else None


def _samples(
    series: Series, chosen: NDArray[np.bool_]
) -> Iterator[tuple[int, tuple[str, int]]]:
    """The window of each chosen sample, and the sample: its GPU and time."""
    uuid = "" if series.gpu is None else series.gpu.uuid
    for at in series.times_ms[chosen].tolist():
        yield at - at % WINDOW_MS, (uuid, at)


def _issues(
    name: str, those: Sequence[Series], scale: _Scale, period: Interval
) -> Iterator[Issue]:
    """One issue of a name, with the time of the GPUs whose samples it is about."""
    about: Mapping[bool, Counter[int]] = {True: Counter(), False: Counter()}
    rejected = scale.rejected
    gpus = {
        (start, series.scraper, series.gpu.uuid)
        for series in those
        if series.gpu is not None
        for start in np.unique(series.times_ms // WINDOW_MS * WINDOW_MS).tolist()
        if period.contains(start)
    }
    seen: set[tuple[int, str]] = set()
    for start, scraper, uuid in sorted(gpus):
        is_lost = (None, start) in rejected or (scraper, start) in rejected
        if (is_lost or start in scale.ratios) and (start, uuid) not in seen:
            seen.add((start, uuid))
            about[is_lost][start] += 1
    starts = sorted({*about[True], *about[False]})
    if starts:
        is_lost = bool(about[True])
        yield Issue(
            code="utilization_scale",
            subject=name,
            message=_message(name, is_lost=is_lost),
            advice=_advice(name, is_lost=is_lost),
            first_ms=starts[0],
            last_ms=starts[-1] + WINDOW_MS,
            at_stake_ms=len(seen) * WINDOW_MS,
            severity="error" if is_lost else "warning",
        )


def _message(name: str, *, is_lost: bool) -> str:
    if name not in WHOLE_PERCENT:
        return f"{name} has values above 1: percent values in a ratio metric."
    if is_lost:
        return (
            f"{name} has values between 0 and 1, and its exporter writes whole percentages. Too "
            "few, or larger values beside them, so that the scale is not certain: they count as "
            "no data."
        )
    return (
        f"{name} has values between 0 and 1 and none above, and its exporter writes whole "
        "percentages. They are read as ratios."
    )


def _advice(name: str, *, is_lost: bool) -> str:
    if name not in WHOLE_PERCENT:
        return f"Declare `scales: {{{name}: percent}}` for this source."
    if is_lost:
        return f"Declare `scales: {{{name}: ratio}}` (or `percent`) for this source."
    return f"Declare `scales: {{{name}: ratio}}` for this source."
