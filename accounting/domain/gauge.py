"""The samples of one metric for many GPUs (or instances), one row of them for each.

Of several tracks the one with more samples in a window speaks there (rules.md N3); of several
samples of a track at one time the one without a workload counts, else the largest: what an
exporter repeats for each pod, container or instance is counted once (traps T10, T22).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accounting.domain.period import WINDOW_MS
from accounting.domain.series import Scraper, Series, Times, Values
from accounting.domain.speech import Integers, Keys, Speech, spoken
from accounting.domain.track import Steps, steps_at

_TrackName = tuple[Scraper, str]


@dataclass(frozen=True, slots=True)
class Told:
    """A series and the interval that its source declares."""

    series: Series
    interval_ms: int | None


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples with data of numbered things, those of n at [first[n], first[n + 1]).

    Attributes:
        runs: which track each sample is of: numbers that mean nothing else.
        steps: of each sample (N4).
    """

    first: Integers
    times: Times
    values: Values
    runs: Integers
    steps: Integers

    @classmethod
    def of(cls, told: Sequence[Sequence[Told]]) -> "Samples":
        """The samples of each thing, by its number."""
        merged = [_merge(parts) for parts in told]
        lengths = [len(times) for times, _, _ in merged]
        return cls(
            first=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
            times=_joined([times for times, _, _ in merged], np.int64),
            values=_joined([values for _, values, _ in merged], np.float64),
            runs=_joined([runs for _, _, runs in merged], np.int64),
            steps=_joined(_steps(told, [times for times, _, _ in merged]), np.int64),
        )

    @property
    def owners(self) -> Integers:
        """The number of the thing that each sample is of."""
        owners: Integers = np.repeat(
            np.arange(len(self.first) - 1), np.diff(self.first)
        )
        return owners

    def only(self, good: NDArray[np.bool_]) -> "Samples":
        """Those that are good."""
        counts = np.bincount(self.owners[good], minlength=len(self.first) - 1)
        return Samples(
            np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            self.times[good],
            self.values[good],
            self.runs[good],
            self.steps[good],
        )

    def spoken(
        self, axis: Keys, amounts: Integers, changes: Sequence[Sequence[int]]
    ) -> Speech:
        """For how long each sample speaks, with an integer for its value."""
        return spoken(axis, self.first, self.times, amounts, self.steps, changes)


def _joined(parts: Sequence["np.ndarray"], kind: type) -> "np.ndarray":
    return np.concatenate(parts) if parts else np.empty(0, kind)


def _merge(told: Sequence[Told]) -> tuple[Times, Values, Integers]:
    """Times, values and runs of one thing."""
    if not told:
        return np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)
    if len(told) == 1:
        times, values = _clean([told[0].series])
        return times, values, np.zeros(len(times), np.int64)
    tracks: dict[_TrackName, list[Series]] = defaultdict(list)
    for part in told:
        tracks[part.series.scraper, part.series.name].append(part.series)
    cleaned = [_clean(tracks[name]) for name in sorted(tracks)]
    if len(cleaned) == 1:
        return *cleaned[0], np.zeros(len(cleaned[0][0]), np.int64)
    return _chosen(cleaned)


def _clean(parts: Sequence[Series]) -> tuple[Times, Values]:
    """One value a time of one track, ascending."""
    if len(parts) == 1:
        times, values = parts[0].times_ms, parts[0].values
        good = ~np.isnan(values)
        if not good.all():
            times, values = times[good], values[good]
        if len(times) < 2 or bool(np.all(times[1:] > times[:-1])):
            return times, values
        order = np.lexsort((values, times))  # N2: the smaller within a series
    else:
        times = np.concatenate([part.times_ms for part in parts])
        values = np.concatenate([part.values for part in parts])
        named = np.repeat(
            [_names_workload(part) for part in parts],
            [len(part.times_ms) for part in parts],
        )
        good = ~np.isnan(values)
        times, values, named = times[good], values[good], named[good]
        order = np.lexsort((-values, named, times))
    times, values = times[order], values[order]
    keep = np.ones(len(times), bool)
    keep[1:] = times[1:] != times[:-1]
    return times[keep], values[keep]


def _names_workload(part: Series) -> bool:
    gpu = part.gpu
    return gpu is not None and (gpu.exported is not None or gpu.plain is not None)


def _chosen(
    tracks: Sequence[tuple[Times, Values]],
) -> tuple[Times, Values, Integers]:
    """In each window the samples of the track that has most there; ties to the first."""
    times = np.concatenate([track[0] for track in tracks])
    values = np.concatenate([track[1] for track in tracks])
    runs = np.repeat(np.arange(len(tracks)), [len(track[0]) for track in tracks])
    windows, window = np.unique(times // WINDOW_MS, return_inverse=True)
    counts = np.zeros((len(tracks), len(windows)), np.int64)
    np.add.at(counts, (runs, window), 1)
    kept = counts.argmax(axis=0)[window] == runs
    order = np.argsort(times[kept], kind="stable")
    return times[kept][order], values[kept][order], runs[kept][order]


def _steps(told: Sequence[Sequence[Told]], times: Sequence[Times]) -> list[Integers]:
    """The step of each sample of each thing; those sampled together share the work."""
    by_node: dict[str, list[Steps]] = defaultdict(list)
    known: dict[tuple[str, int | None, bytes], Steps] = {}
    chosen: list[Steps] = []
    for parts, at in zip(told, times, strict=True):
        gpu = parts[0].series.gpu if parts else None
        node = "" if gpu is None else gpu.node
        interval = parts[0].interval_ms if parts else None
        key = (node, interval, at.tobytes())
        if key not in known:
            known[key] = Steps(at.tolist(), interval, by_node[node])
        by_node[node].append(known[key])
        chosen.append(known[key])
    found: dict[int, Integers] = {}
    for steps, at in zip(chosen, times, strict=True):
        if id(steps) not in found:
            found[id(steps)] = steps_at(steps, at) if len(at) else np.empty(0, np.int64)
    return [found[id(steps)] for steps in chosen]


def told_of(
    found: Mapping[tuple[str, str], Sequence[Told]],
    things: Sequence[tuple[str, str]],
) -> list[Sequence[Told]]:
    """The series of each thing, by its number; none for one that nothing tells of."""
    return [found.get(thing, ()) for thing in things]
