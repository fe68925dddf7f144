"""Names whose values are on another scale than the catalogue says (rules.md N8)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from accounting.core.arrays import Integers
from accounting.core.interval import WINDOW_MS, Interval
from accounting.core.issue import Issue
from accounting.metering.rules.samples.scraper_series import MAX_UTILIZATION
from accounting.metering.rules.samples.series import ScraperIdentity, Series, Values
from accounting.metering.rules.samples.shown_scales import (
    NOTHING,
    ONE_PERCENT,
    WRONG_SAMPLES,
    ShownScale,
    ShownScales,
    are_above,
    are_averages,
    are_fractions,
    once,
    together,
)

# Percent of exporters that write whole numbers, so that a fraction shows another scale.
WHOLE_PERCENT = frozenset(
    {"DCGM_FI_DEV_GPU_UTIL", "gpu_gfx_activity", "habanalabs_utilization"}
)
# Percent with decimal places: small values show nothing.
FINE_PERCENT = frozenset({"gpu_prof_sm_active", "gpu_prof_tensor_active_percent"})


@dataclass(slots=True)
class _Scale:
    """What is wrong with one name: windows by their start; a scraper of None is every one."""

    rejected: set[tuple[ScraperIdentity | None, int]] = field(default_factory=set)
    ratios: set[tuple[ScraperIdentity | None, int]] = field(default_factory=set)

    def of(self, series: Series) -> Values:
        """The values of a series on their scale; NaN where nobody knows it."""
        starts = series.times_ms - series.times_ms % WINDOW_MS
        rejected, ratios = (
            {at for who, at in windows if who in {None, series.scraper}}
            for windows in (self.rejected, self.ratios)
        )
        values = np.where(_among(starts, ratios), series.values * 100, series.values)
        found: Values = np.where(_among(starts, rejected), np.nan, values)
        return found


def _among(starts: Integers, windows: Iterable[int]) -> NDArray[np.bool_]:
    return np.isin(starts, np.array(sorted(windows), np.int64))


def on_their_scale(
    every: Sequence[Series],
    declared: frozenset[str],
    period: Interval,
    issues: list[Issue],
    shown: ShownScales = MappingProxyType({}),
) -> list[Series]:
    """The same series with the values of undeclared names on the scale that they show (N8).

    A GPU that several pods share is reported once for each of them: its copies count once.

    Args:
        every: series of ratios of one source.
        declared: names whose scale the source declares.
        period: the windows whose issues are reported.
        issues: to which issues are appended.
        shown: what scrapers ever showed under names of whole percentages.
    """
    by_name: dict[str, list[Series]] = defaultdict(list)
    for series in every:
        if series.gpu is not None and series.name not in declared:
            by_name[series.name].append(series)
    wrong: dict[str, _Scale] = {}
    for name, those in by_name.items():
        found = _scale_of(name, those, shown)
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


def _scale_of(name: str, those: Sequence[Series], shown: ShownScales) -> _Scale | None:
    if name in FINE_PERCENT:
        return None
    values = np.concatenate([series.values for series in those])
    if name in WHOLE_PERCENT:
        is_known = any(
            shown.get((series.scraper, name), NOTHING).fractions for series in those
        )
        others = together(one for (_, own), one in shown.items() if own == name)
        is_open = not others.is_percent and (values == ONE_PERCENT).any()
        is_odd = is_known or is_open or are_fractions(values).any()
        return _scale_of_percent(name, those, shown, others) if is_odd else None
    is_odd = ((values > MAX_UTILIZATION) & (values <= 100)).any()
    return _scale_of_ratio(name, those) if is_odd else None


@dataclass(slots=True)
class _ShownValues:
    """What one window shows of a name of whole percentages.

    Attributes:
        fractions: samples between 0 and 1.
        scrapers: who has values from 0 to 1 other than 0, and whether there are fractions.
        above: who has values above 1.
        is_averaged: some of those have decimal places.
    """

    fractions: set[tuple[str, int]] = field(default_factory=set)
    scrapers: dict[ScraperIdentity, bool] = field(default_factory=dict)
    above: set[ScraperIdentity] = field(default_factory=set)
    is_averaged: bool = False


def _shown_in_windows(those: Sequence[Series]) -> dict[int, _ShownValues]:
    """What each window shows, by its start."""
    found: dict[int, _ShownValues] = defaultdict(_ShownValues)
    for series in map(once, those):
        values, who = series.values, series.scraper
        starts = series.times_ms - series.times_ms % WINDOW_MS
        for at in np.unique(starts[values == ONE_PERCENT]).tolist():
            found[at].scrapers.setdefault(who, False)
        for at, sample in _samples(series, are_fractions(values)):
            found[at].fractions.add(sample)
            found[at].scrapers[who] = True
        for at in np.unique(starts[are_above(values)]).tolist():
            found[at].above.add(who)
        for at in np.unique(starts[are_averages(values)]).tolist():
            found[at].is_averaged = True
    return found


def _scale_of_percent(
    name: str, those: Sequence[Series], shown: ShownScales, others: ShownScale
) -> _Scale | None:
    """Ratios under a name of whole percentages; in doubt, the scraper's values are rejected.

    What a scraper ever showed counts as if it was shown in each window whose own values of that
    scraper leave the scale open; that of all scrapers counts for one that showed only 0 and 1.
    """
    found = _Scale()
    for at, window in _shown_in_windows(those).items():
        are_ratios = len(window.fractions) >= WRONG_SAMPLES and not window.above
        for who, has_fractions in window.scrapers.items():
            ever = shown.get((who, name), NOTHING)
            if ever.kind == NOTHING.kind and not has_fractions:
                ever = others
            if ever.is_averaged or (who in window.above and not has_fractions):
                continue
            is_ratio = are_ratios and (has_fractions or not ever.is_above)
            is_open = not window.is_averaged if has_fractions else not ever.is_percent
            if is_ratio or (ever.is_ratio and not window.above):
                found.ratios.add((who, at))
            elif is_open:
                found.rejected.add((who, at))
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
        both = {(None, start), (scraper, start)}
        is_lost = bool(both & rejected)
        if (is_lost or both & scale.ratios) and (start, uuid) not in seen:
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
            f"{name} has values from 0 to 1, and its exporter writes whole percentages. The "
            "scale is not certain: only 0 and 1 were shown, too few values between them, or "
            "larger values beside them or at other times. The values from 0 to 1 count as no data."
        )
    return (
        f"{name} has values between 0 and 1 and none above, and its exporter writes whole "
        "percentages. They are read as ratios, also where all are exactly 0 or 1."
    )


def _advice(name: str, *, is_lost: bool) -> str:
    if name not in WHOLE_PERCENT:
        return f"Declare `scales: {{{name}: percent}}` for this source."
    if is_lost:
        return f"Declare `scales: {{{name}: ratio}}` (or `percent`) for this source."
    return f"Declare `scales: {{{name}: ratio}}` for this source."
