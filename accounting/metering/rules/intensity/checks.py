"""Values of GPU activity that are not possible: no data, with an issue (trap T5)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from accounting.core.arrays import Integers
from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.metering.rules.samples.counters import Energy
from accounting.metering.rules.samples.gauges import GaugeSeries, Samples

MAX_RATIO = 1.1  # as for utilization (N8, trap T5)
RATIOS = ("sm_active", "tensor_active", "dram_active")
MEMORY, POWER, ENERGY = "memory_used_bytes", "power_watts", "energy_joules"
TEMPERATURE, NVLINK = "temperature_celsius", "nvlink_bytes_per_second"
THROTTLE = "throttle_reasons"
LIMITS = {  # the largest accepted value of a metric, and the largest that counts unchanged
    MEMORY: (2.0**45, 2.0**45),  # 32 TiB
    POWER: (100_000.0, 100_000.0),
    TEMPERATURE: (250.0, 250.0),
    NVLINK: (1e14, 1e14),
    THROTTLE: (2.0**40, 2.0**40),
}


def checked(
    metric: str,
    names: Sequence[tuple[str, str]],
    found: GaugeSeries,
    whole: Interval,
    issues: list[Issue],
) -> Samples:
    """Samples of a metric; impossible values count as no data, with an issue (trap T5)."""
    samples = found.samples(metric, names)
    most, all_of_it = LIMITS.get(metric, (MAX_RATIO, 1.0))
    good = (samples.values >= 0) & (samples.values <= most)
    inside = (samples.times >= whole.start_ms) & (samples.times < whole.end_ms)
    odd = inside & ((samples.values > all_of_it) | (samples.values < 0))
    is_ratio = metric in RATIOS
    lost = np.where(odd & ~good, samples.steps, 0)
    for n, times, lost_ms in _by_owner(samples, odd, lost):
        issues.append(
            Issue(
                code="intensity_out_of_range" if is_ratio else "impossible_scale",
                subject=f"{names[n][0]} {metric}",
                message="Activity ratio outside 0 to 1. Values up to 1.1 count as 1, larger "
                "values as no data."
                if is_ratio
                else f"More than {most:g}, which is not possible for a GPU. Counted as no data.",
                first_ms=int(times[0]),
                last_ms=int(times[-1]),
                at_stake_ms=lost_ms,
                severity="info" if is_ratio else "warning",
            )
        )
    return samples if good.all() else samples.only(good)


def _by_owner(
    samples: Samples, wanted: NDArray[np.bool_], weights: Integers
) -> list[tuple[int, Integers, int]]:
    """Times of the wanted samples and the sum of their weights, by owner number."""
    if not wanted.any():
        return []
    owners, times = samples.owners[wanted], samples.times[wanted]
    weights = weights[wanted]
    return [
        (int(n), times[owners == n], int(weights[owners == n].sum()))
        for n in np.unique(owners)
    ]


def energy_issues(
    energy: Energy, names: Sequence[tuple[str, str]], whole: Interval
) -> list[Issue]:
    """Counters that decreased or rose too fast in a period, one issue for each GPU."""
    issues: list[Issue] = []
    owners = np.searchsorted(energy.first, np.arange(len(energy.times)), "right") - 1
    inside = (energy.times >= whole.start_ms) & (energy.times < whole.end_ms)
    gaps = np.diff(energy.times, append=energy.times[-1:])  # to the next sample
    marked = {"energy_reset": energy.is_reset, "energy_scale": energy.is_absurd}
    for code, found in marked.items():
        at = np.flatnonzero(found & inside)
        for n in np.unique(owners[at]).tolist():
            own = at[owners[at] == n]
            times = energy.times[own]
            issues.append(
                Issue(
                    code=code,
                    subject=names[n][0],
                    message=_ENERGY_MESSAGES[code],
                    first_ms=int(times[0]),
                    last_ms=int(times[-1]),
                    at_stake_ms=int(gaps[own].sum()) if code == "energy_scale" else 0,
                    severity="info" if code == "energy_reset" else "warning",
                )
            )
    return issues


_ENERGY_MESSAGES = {
    "energy_reset": "The energy counter decreased. Energy of this time is a lower bound.",
    "energy_scale": "The energy counter increased faster than any GPU can consume. Ignored.",
}
