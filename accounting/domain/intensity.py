"""The second column: how hard GPUs worked, never called busy (semantics.md section 0).

SM, tensor and DRAM activity, memory, power, energy, temperature, NVLink and throttled clocks
of every line of a window, over the time that was observed. Activity and memory belong to an
instance; the rest to the whole GPU: it is taken once and divided over the GPU's lines as its
time is, in proportion to held time x share; what nobody held is the platform's (rules.md, fine
print "energy"). Sums are exact integers, so that a window does not depend on how its time was
cut; a share is applied to them once.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accounting.domain.energy import Energy
from accounting.domain.gauge import Samples, Told, told_of
from accounting.domain.issue import Issue
from accounting.domain.period import Period
from accounting.domain.series import Reading
from accounting.domain.speech import Integers, Keys, Speech

MILLION = 1_000_000
MEBIBYTE = 1 << 20
MAX_RATIO = 1.1  # as for duty (N8, trap T5)
ENERGY_RESET = 1  # a bit of `flags`: energy is a lower bound
PLATFORM = ""
WHOLE = -1

RATIOS = ("sm_active", "tensor_active", "dram_active")
MEMORY, POWER, ENERGY = "memory_used_bytes", "power_watts", "energy_joules"
TEMPERATURE, NVLINK = "temperature_celsius", "nvlink_bytes_per_second"
THROTTLE = "throttle_reasons"
OF_PART = (*RATIOS, MEMORY)
OF_GPU = (POWER, TEMPERATURE, NVLINK, THROTTLE)
THROTTLING = (
    0xEC  # power cap, slowdowns, brake; not idle, set clocks, sync boost, display
)
LIMITS = {  # the most that is believed of a metric, and what counts as it is
    MEMORY: (2.0**45, 2.0**45),  # 32 TiB
    POWER: (100_000.0, 100_000.0),
    TEMPERATURE: (250.0, 250.0),
    NVLINK: (1e14, 1e14),
    THROTTLE: (2.0**40, 2.0**40),
}

MEASURES = (
    *("sm_seen_us", "sm_active_us"),
    *("tensor_seen_us", "tensor_active_us"),
    *("dram_seen_us", "dram_active_us"),
    *("memory_seen_us", "memory_mib_ms", "memory_peak_bytes"),
    *("power_seen_us", "power_mj"),
    *("energy_seen_us", "energy_mj"),
    *("temperature_seen_us", "temperature_peak_c"),
    *("nvlink_seen_us", "nvlink_kb"),
    *("throttle_seen_us", "throttled_ms"),
)
PEAKS = frozenset({"memory_peak_bytes", "temperature_peak_c"})
OF_WHOLE = MEASURES[9:]  # of a whole GPU; those before are of a part
FINER = (  # summed in thousandths of their unit
    *("sm_active_us", "tensor_active_us", "dram_active_us", "power_mj", "nvlink_kb"),
)
ROW = np.dtype(
    [("window", "i4"), ("gpu", "i4"), ("uid", "i4"), ("instance", "i2")]
    + [("flags", "i2")]
    + [(name, "i8") for name in MEASURES]
)


class Part(NamedTuple):
    """What somebody has of a GPU; `instance` is -1 for the whole, `share` is num / den."""

    uid: str
    instance: int
    num: int
    den: int


class Stretch(NamedTuple):
    """A stretch of one GPU's time on a node, and who has which part of it."""

    node: str
    uuid: str
    start_ms: int
    end_ms: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, eq=False)
class IntensityTable:
    """The second column of one window's lines; lines without any measure are not there.

    Attributes:
        gpus: (node, uuid) by number.
        uids: of pods, by number; "" is the platform.
        rows: of `ROW`.
    """

    gpus: tuple[tuple[str, str], ...]
    uids: tuple[str, ...]
    rows: "np.ndarray"


NOTHING = IntensityTable((), (), np.zeros(0, ROW))
Changes = Mapping[tuple[str, str, int], Sequence[int]]  # of (node, uuid, instance)


def intensities(
    windows: Sequence[Period],
    readings: Sequence[Reading],
    stretches: Sequence[Stretch],
    changes: Changes,
) -> tuple[list[IntensityTable], list[Issue]]:
    """The second column of adjoining windows.

    Args:
        windows: adjoining and in order.
        readings: with samples from 30 min before the first to 10 min after the last window.
        stretches: of every GPU's presence, disjoint for each GPU and node.
        changes: instants at which the holders of a GPU or instance change, ascending.

    Returns:
        A table for each window, and what was wrong with the values.
    """
    found = _gather(readings)
    if not found or not stretches:
        return [NOTHING for _ in windows], []
    work = _Work.of(windows, stretches)
    axis = Keys(windows[0].start_ms)
    whole = Period(windows[0].start_ms, windows[-1].end_ms)
    issues: list[Issue] = []
    held = _zeros(len(work.held))
    total = _zeros(len(work.cut))
    _measure_parts(work, held, found, changes, axis, whole, issues)
    _measure_gpus(work, total, found, changes, axis, whole, issues)
    rows = _rows(work, held, total)
    cuts = np.searchsorted(rows["window"], np.arange(len(windows) + 1))
    tables = [
        IntensityTable(work.gpus, work.uids, rows[cuts[n] : cuts[n + 1]])
        for n in range(len(windows))
    ]
    return tables, issues


_Found = dict[str, dict[tuple[str, str], list[Told]]]


def _gather(readings: Sequence[Reading]) -> _Found:
    """Series by metric and by what they tell of: (uuid, instance or "")."""
    wanted = {*OF_PART, *OF_GPU, ENERGY}
    found: _Found = defaultdict(lambda: defaultdict(list))
    for reading in readings:
        for series in reading.series:
            if series.metric not in wanted or series.gpu is None:
                continue
            instance = series.gpu.instance if series.metric in OF_PART else ""
            told = Told(series, reading.interval_ms)
            found[series.metric][series.gpu.uuid, instance].append(told)
    return found


_CUT = np.dtype([(name, "i8") for name in ("window", "gpu", "start", "end", "source")])
_HELD = np.dtype([(n, "i8") for n in ("cut", "uid", "instance", "part", "num", "den")])


@dataclass(frozen=True, slots=True)
class _Work:
    """Stretches cut at the windows, and what somebody has of each.

    Attributes:
        gpus: (node, uuid) by number; `parts`: (GPU, instance as labelled) by number.
        cut: of `_CUT`, in order of window and GPU; `held`: of `_HELD`.
    """

    gpus: tuple[tuple[str, str], ...]
    uids: tuple[str, ...]
    parts: tuple[tuple[int, str], ...]
    cut: "np.ndarray"
    held: "np.ndarray"

    @classmethod
    def of(cls, windows: Sequence[Period], stretches: Sequence[Stretch]) -> "_Work":
        gpus = sorted({(s.node, s.uuid) for s in stretches})
        number = {gpu: n for n, gpu in enumerate(gpus)}
        numbers = [number[s.node, s.uuid] for s in stretches]
        flat = [
            (i, part) for i, stretch in enumerate(stretches) for part in stretch.parts
        ]
        uids = sorted({part.uid for _, part in flat} | {PLATFORM})
        uid_of = {uid: n for n, uid in enumerate(uids)}
        parts: dict[tuple[int, str], int] = {}
        owned = np.array(
            [
                (
                    i,
                    uid_of[part.uid],
                    part.instance,
                    parts.setdefault((numbers[i], _label(part.instance)), len(parts)),
                    part.num,
                    part.den,
                )
                for i, part in flat
            ],
            np.int64,
        ).reshape(-1, 6)
        cut = _cut(windows, stretches, numbers)
        return cls(
            tuple(gpus),
            tuple(uids),
            tuple(parts),
            cut,
            _expanded(cut, owned, stretches),
        )


def _label(instance: int) -> str:
    return "" if instance == WHOLE else str(instance)


def _cut(
    windows: Sequence[Period], stretches: Sequence[Stretch], numbers: Sequence[int]
) -> "np.ndarray":
    low = np.array([s.start_ms for s in stretches], np.int64)
    high = np.array([s.end_ms for s in stretches], np.int64)
    gpu = np.array(numbers, np.int64)
    start = np.array([w.start_ms for w in windows], np.int64)
    end = np.array([w.end_ms for w in windows], np.int64)
    which, window = np.nonzero((low[:, None] < end) & (high[:, None] > start))
    cut = np.zeros(len(which), _CUT)
    cut["window"], cut["gpu"], cut["source"] = window, gpu[which], which
    cut["start"] = np.maximum(low[which], start[window])
    cut["end"] = np.minimum(high[which], end[window])
    return cut[np.lexsort((cut["start"], cut["gpu"], cut["window"]))]


def _expanded(
    cut: "np.ndarray", owned: Integers, stretches: Sequence[Stretch]
) -> "np.ndarray":
    """A row for each part that somebody has of each cut stretch."""
    counts = np.array([len(s.parts) for s in stretches], np.int64)
    first = np.concatenate(([0], np.cumsum(counts)))
    several = counts[cut["source"]]
    index = np.repeat(np.arange(len(cut)), several)
    begin = np.concatenate(([0], np.cumsum(several)))[:-1]
    source = cut["source"][index]
    row = owned[first[source] + np.arange(len(index)) - begin[index]]
    held = np.zeros(len(index), _HELD)
    held["cut"] = index
    for n, name in enumerate(("uid", "instance", "part", "num", "den"), start=1):
        held[name] = row[:, n]
    return held


def _zeros(count: int) -> "np.ndarray":
    return np.zeros(count, [("flags", "i8"), *((name, "i8") for name in MEASURES)])


def _measure_parts(  # noqa: PLR0913, PLR0917  # what is known, and where it goes
    work: _Work,
    into: "np.ndarray",
    found: _Found,
    changes: Changes,
    axis: Keys,
    whole: Period,
    issues: list[Issue],
) -> None:
    """Activity and memory of each held part."""
    names = [(work.gpus[gpu][1], instance) for gpu, instance in work.parts]
    cuts = [
        changes.get((*work.gpus[gpu], int(instance or WHOLE)), ())
        for gpu, instance in work.parts
    ]
    rows = work.cut[work.held["cut"]]
    start, end, part = rows["start"], rows["end"], work.held["part"]
    for metric in RATIOS:
        if metric not in found:
            continue
        samples = _checked(metric, names, found[metric], whole, issues)
        amounts = np.rint(np.minimum(samples.values, 1.0) * MILLION).astype(np.int64)
        said = samples.spoken(axis, amounts, cuts)
        short = metric.removesuffix("_active")
        into[f"{short}_seen_us"], into[f"{short}_active_us"] = _over(
            said, part, start, end
        )
    if MEMORY in found:
        samples = _checked(MEMORY, names, found[MEMORY], whole, issues)
        amounts = np.rint(samples.values / MEBIBYTE).astype(np.int64)
        said = samples.spoken(axis, amounts, cuts)
        into["memory_seen_us"], into["memory_mib_ms"] = _over(said, part, start, end)
        peaks = np.rint(samples.values).astype(np.int64)
        into["memory_peak_bytes"] = _peak(said, peaks, part, start, end)


def _measure_gpus(  # noqa: PLR0913, PLR0917  # what is known, and where it goes
    work: _Work,
    into: "np.ndarray",
    found: _Found,
    changes: Changes,
    axis: Keys,
    whole: Period,
    issues: list[Issue],
) -> None:
    """What belongs to a whole GPU, over each cut stretch of it."""
    names = [(uuid, "") for _, uuid in work.gpus]
    of_gpu: dict[tuple[str, str], set[int]] = defaultdict(set)
    for (node, uuid, _), at in changes.items():
        of_gpu[node, uuid].update(at)
    cuts = [sorted(of_gpu.get(gpu_name, ())) for gpu_name in work.gpus]
    gpu, start, end = work.cut["gpu"], work.cut["start"], work.cut["end"]
    gauges = {
        POWER: ("power_seen_us", "power_mj", 1000),  # milliwatts
        NVLINK: ("nvlink_seen_us", "nvlink_kb", 0.001),  # kilobytes a second
        THROTTLE: ("throttle_seen_us", "throttled_ms", 1),
    }
    for metric, (seen, amount, scale) in gauges.items():
        if metric in found:
            samples = _checked(metric, names, found[metric], whole, issues)
            values = samples.values
            if metric == THROTTLE:
                values = (values.astype(np.int64) & THROTTLING > 0).astype(float)
            amounts = np.rint(values * scale).astype(np.int64)
            said = samples.spoken(axis, amounts, cuts)
            into[seen], into[amount] = _over(said, gpu, start, end)
    if TEMPERATURE in found:
        samples = _checked(TEMPERATURE, names, found[TEMPERATURE], whole, issues)
        degrees = np.rint(samples.values).astype(np.int64)
        said = samples.spoken(axis, degrees, cuts)
        into["temperature_seen_us"], _ = _over(said, gpu, start, end)
        into["temperature_peak_c"] = _peak(said, degrees, gpu, start, end)
    if ENERGY in found:
        energy = Energy.of(axis, Samples.of(told_of(found[ENERGY], names)))
        spent, known = energy.upto(gpu, end)
        spent_before, known_before = energy.upto(gpu, start)
        into["energy_mj"] = spent - spent_before
        into["energy_seen_us"] = (known - known_before) * 1000
        into["flags"] = energy.has_reset(gpu, start, end) * ENERGY_RESET
        issues.extend(_energy_issues(energy, names, whole))


def _over(
    said: Speech, numbers: Integers, start: Integers, end: Integers
) -> tuple[Integers, Integers]:
    """Observed microseconds, and milliseconds x amount, of each stretch."""
    before, after = said.upto(numbers, start), said.upto(numbers, end)
    return (after[0] - before[0]) * 1000, after[1] - before[1]


def _peak(
    said: Speech, values: Integers, numbers: Integers, start: Integers, end: Integers
) -> Integers:
    """The largest value that speaks in each stretch; 0 where none does."""
    peaks = np.zeros(len(numbers), np.int64)
    if not len(values):
        return peaks
    low = np.searchsorted(said.piece_keys, said.axis.of(numbers, start), "right") - 1
    at = np.maximum(low, 0)
    speaks = (low >= said.first[numbers]) & (
        said.start_ms[at] + said.length_ms[at] > start
    )
    low = np.where(speaks, low, low + 1)
    high = np.searchsorted(said.piece_keys, said.axis.of(numbers, end))
    some = np.flatnonzero(high > low)
    if len(some):
        ends = np.stack((low[some], high[some]), axis=1).ravel()
        padded = np.append(values, np.iinfo(np.int64).min)
        peaks[some] = np.maximum.reduceat(padded, ends)[::2]
    return peaks


def _rows(work: _Work, held: "np.ndarray", total: "np.ndarray") -> "np.ndarray":
    """One row for each (window, GPU, pod, instance), and the platform's."""
    cut, owned = work.cut, work.held
    for name in ("flags", *OF_WHOLE):
        held[name] = total[name][owned["cut"]]
    window, gpu = cut["window"][owned["cut"]], cut["gpu"][owned["cut"]]
    keys = (window, gpu, owned["uid"], owned["instance"])
    exact, at = _grouped(held, (*keys, owned["num"], owned["den"]))
    num, den = owned["num"][at], owned["den"][at]
    for name in MEASURES:
        if name not in PEAKS:
            exact[name] = exact[name] * num // den
    summed, once = _grouped(exact, tuple(key[at] for key in keys))
    everything, where = _grouped(total, (cut["window"], cut["gpu"]))
    for values in (summed, everything):
        for name in FINER:
            values[name] //= 1000
    lines = _table(summed, *(key[at][once] for key in keys))
    left = _platform(everything, cut["window"][where], cut["gpu"][where], lines)
    rows = np.concatenate([lines, left])
    some = np.zeros(len(rows), bool)
    for name in MEASURES:
        some |= rows[name] != 0
    rows = rows[some]
    return rows[
        np.lexsort((rows["instance"], rows["uid"], rows["gpu"], rows["window"]))
    ]


def _grouped(
    values: "np.ndarray", keys: tuple[Integers, ...]
) -> tuple["np.ndarray", Integers]:
    """Sums (peaks: the largest, flags: all) of equal keys, and a place of each key."""
    order = np.lexsort(keys[::-1])
    if not len(order):
        return values[:0].copy(), order
    new = np.zeros(len(order), bool)
    new[0] = True
    for key in keys:
        ordered = key[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(new)
    summed = np.zeros(len(starts), values.dtype)
    for name in values.dtype.names or ():
        ordered = values[name][order]
        if name == "flags":
            summed[name] = np.bitwise_or.reduceat(ordered, starts)
        elif name in PEAKS:
            summed[name] = np.maximum.reduceat(ordered, starts)
        else:
            summed[name] = np.add.reduceat(ordered, starts)
    return summed, order[starts]


def _table(
    values: "np.ndarray",
    window: Integers,
    gpu: Integers,
    uid: Integers | int,
    instance: Integers | int,
) -> "np.ndarray":
    rows = np.zeros(len(values), ROW)
    rows["window"], rows["gpu"], rows["uid"] = window, gpu, uid
    rows["instance"] = instance
    for name in values.dtype.names or ():
        rows[name] = values[name]
    return rows


def _platform(
    total: "np.ndarray", window: Integers, gpu: Integers, lines: "np.ndarray"
) -> "np.ndarray":
    """What of a GPU's energy and power nobody held: so all lines sum to the GPU's."""
    left = _zeros(len(total))
    wide = np.int64(1) << 32
    place = np.searchsorted(
        window * wide + gpu, lines["window"] * wide + lines["gpu"].astype(np.int64)
    )
    for name in ("power_seen_us", "power_mj", "energy_seen_us", "energy_mj"):
        taken = np.zeros(len(total), np.int64)
        np.add.at(taken, place, lines[name])
        left[name] = total[name] - taken
    left["flags"] = np.where(left["energy_mj"] > 0, total["flags"], 0)
    return _table(left, window, gpu, 0, WHOLE)


def _checked(
    metric: str,
    names: Sequence[tuple[str, str]],
    found: Mapping[tuple[str, str], Sequence[Told]],
    whole: Period,
    issues: list[Issue],
) -> Samples:
    """Samples of a metric; what it cannot be is no data, with an issue (trap T5)."""
    samples = Samples.of(told_of(found, names))
    most, all_of_it = LIMITS.get(metric, (MAX_RATIO, 1.0))
    good = (samples.values >= 0) & (samples.values <= most)
    inside = (samples.times >= whole.start_ms) & (samples.times < whole.end_ms)
    odd = inside & ((samples.values > all_of_it) | (samples.values < 0))
    is_ratio = metric in RATIOS
    for n, times in _by_owner(samples, odd):
        issues.append(
            Issue(
                code="intensity_out_of_range" if is_ratio else "impossible_scale",
                subject=f"{names[n][0]} {metric}",
                message="A share of activity outside 0 to 1: up to 1.1 it counts as 1,"
                " else as no data."
                if is_ratio
                else f"More than {most:g}: no GPU has that; counted as no data.",
                first_ms=int(times[0]),
                last_ms=int(times[-1]),
                severity="info" if is_ratio else "warning",
            )
        )
    return samples if good.all() else samples.only(good)


def _by_owner(
    samples: Samples, wanted: NDArray[np.bool_]
) -> list[tuple[int, Integers]]:
    """Times of the wanted samples, by the number of their thing."""
    if not wanted.any():
        return []
    owners, times = samples.owners[wanted], samples.times[wanted]
    return [(int(n), times[owners == n]) for n in np.unique(owners)]


def _energy_issues(
    energy: Energy, names: Sequence[tuple[str, str]], whole: Period
) -> list[Issue]:
    issues: list[Issue] = []
    owners = np.searchsorted(energy.first, np.arange(len(energy.times)), "right") - 1
    inside = (energy.times >= whole.start_ms) & (energy.times < whole.end_ms)
    marked = {"energy_reset": energy.is_reset, "energy_scale": energy.is_absurd}
    for code, found in marked.items():
        at = np.flatnonzero(found & inside)
        for n in np.unique(owners[at]).tolist():
            times = energy.times[at[owners[at] == n]]
            issues.append(
                Issue(
                    code=code,
                    subject=names[n][0],
                    message=_ENERGY_MESSAGES[code],
                    first_ms=int(times[0]),
                    last_ms=int(times[-1]),
                    severity="info" if code == "energy_reset" else "warning",
                )
            )
    return issues


_ENERGY_MESSAGES = {
    "energy_reset": "Its energy counter went back: what it had counted is not all known.",
    "energy_scale": "Its energy counter rises faster than any GPU can draw: left out.",
}
