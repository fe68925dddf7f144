"""Issues in the readings themselves: hardware errors, and duplicate measurements.

An XID is a code that stays until another one replaces it: one condition, regardless of the number
of samples that show it (trap T4). A measurement under two names in one scrape is counted once and
raises an issue (trap T2).
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.metering.rules.samples.series import Reading, Series

_XIDS = {  # from NVIDIA's list of XID errors
    13: "graphics engine exception, usually caused by the program",
    31: "memory page fault, usually caused by the program",
    43: "the GPU stopped processing, usually caused by the program",
    45: "cleanup after another error",
    48: "double-bit memory error",
    63: "memory row remapped",
    64: "memory row remapping failed",
    74: "NVLink error",
    79: "the GPU has fallen off the bus",
    92: "many single-bit memory errors",
    94: "contained memory error",
    95: "uncontained memory error",
    119: "GPU firmware does not respond",
}
_CODES = {
    "xid": ("gpu_xid", "error"),
    "ecc_uncorrected": ("gpu_ecc", "error"),
    "row_remap_failure": ("gpu_row_remap", "error"),
}


def conditions(readings: Sequence[Reading], period: Interval) -> list[Issue]:
    """One issue for each error of each GPU in the samples of a period."""
    shown: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    for reading in readings:
        for series in reading.series:
            if series.metric not in _CODES or series.gpu is None:
                continue
            times, values = _inside(series, period)
            for value in np.unique(values[values > 0]).tolist():
                code = int(value) if series.metric == "xid" else 1
                at = times[values == value]
                key = (series.gpu.uuid, series.metric, code)
                shown[key] += [int(at[0]), int(at[-1])]
    return [
        _condition(uuid, metric, code, min(times), max(times))
        for (uuid, metric, code), times in sorted(shown.items())
    ]


def _condition(uuid: str, metric: str, code: int, first_ms: int, last_ms: int) -> Issue:
    name, severity = _CODES[metric]
    subject, message = uuid, "Reported by its exporter."
    if metric == "xid":
        subject = f"{uuid} XID {code}"
        meaning = _XIDS.get(code)
        message = f"XID {code}: {meaning}." if meaning else f"XID {code}."
    return Issue(name, subject, message, first_ms, last_ms, severity=severity)


def _inside(series: Series, period: Interval) -> tuple["np.ndarray", "np.ndarray"]:
    low, high = np.searchsorted(series.times_ms, [period.start_ms, period.end_ms])
    return series.times_ms[int(low) : int(high)], series.values[int(low) : int(high)]


def duplicate_measures(readings: Sequence[Reading], period: Interval) -> list[Issue]:
    """Measurements that one scraper reports under two names at one time, by scraper."""
    names: dict[tuple[str, str, str, str, str], dict[str, Series]] = defaultdict(dict)
    for reading in readings:
        for series in reading.series:
            gpu = series.gpu
            if gpu is None or series.metric == "gpu_other":
                continue
            scraper = f"{series.scraper.job} {series.scraper.instance}".strip()
            key = (scraper, series.metric, gpu.uuid, gpu.instance, gpu.vgpu)
            names[key].setdefault(series.name, series)
    found: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for (scraper, *_), by_name in names.items():
        if len(by_name) < 2:
            continue
        first, second = (by_name[name] for name in sorted(by_name)[:2])
        both = np.intersect1d(_inside(first, period)[0], _inside(second, period)[0])
        if len(both):
            what = f"{scraper}: {first.name}, {second.name}"
            found[scraper, what].append((int(both[0]), int(both[-1])))
    return [
        Issue(
            code="metric_twice",
            subject=what,
            message="One measurement under two names in the same scrape. It is counted once.",
            first_ms=min(low for low, _ in spans),
            last_ms=max(high for _, high in spans),
            at_stake_ms=sum(high - low for low, high in spans),
            severity="info",
        )
        for (_, what), spans in sorted(found.items())
    ]
