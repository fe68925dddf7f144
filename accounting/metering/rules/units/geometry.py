"""How a GPU is divided over time: its MIG instances or partitions (rules.md "MIG").

The geometry of a GPU is the one that the last scrape with any sample of it shows, until a scrape
shows another one. A row without an instance beside instances is not a part.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from accounting.metering.rules.samples.series import GpuKey, Times
from accounting.metering.rules.units.gpu_units import WHOLE, part_of, share_of
from accounting.metering.rules.units.mig_profiles import normal

NO_INSTANCE = -1  # the whole GPU


class GpuPart(NamedTuple):
    """A GPU, or one instance of it: (UUID, GPU_I_ID, profile)."""

    uuid: str
    instance: int = NO_INSTANCE
    kind: str = WHOLE


Instances = tuple[tuple[int, str], ...]  # (number, profile), ascending; () is undivided


def part_in(gpu: GpuKey) -> GpuPart:
    """The part of its GPU to which an exporter's series belongs."""
    number = part_of(gpu.instance)
    if number == NO_INSTANCE:
        return GpuPart(gpu.uuid)
    return GpuPart(gpu.uuid, number, normal(gpu.profile))


def observed(shown: Mapping[GpuPart, Sequence[Times]]) -> list[tuple[int, Instances]]:
    """The geometries of one GPU at each change, from the sample times of its parts."""
    parts = sorted(part for part in shown if part.instance != NO_INSTANCE)
    every = [times for found in shown.values() for times in found if len(times)]
    if not every:
        return []
    all_times = np.unique(np.concatenate(every))
    if not parts:
        return [(int(all_times[0]), ())]
    is_there = np.zeros((len(all_times), len(parts)), bool)
    for n, part in enumerate(parts):
        for times in shown[part]:
            is_there[np.searchsorted(all_times, times), n] = True
    changed = np.ones(len(all_times), bool)
    changed[1:] = (is_there[1:] != is_there[:-1]).any(axis=1)
    return [
        (
            int(all_times[i]),
            tuple(
                (parts[n].instance, parts[n].kind) for n in np.flatnonzero(is_there[i])
            ),
        )
        for i in np.flatnonzero(changed).tolist()
    ]


def shares_of(
    uuid: str, instances: Instances, model: str
) -> tuple[dict[GpuPart, Fraction], Fraction]:
    """The parts of a GPU with their shares of it, and the stranded share.

    An impossible profile is not a part. Shares of instances that add up to more than 1, which no
    driver allows, are scaled to 1.
    """
    if not instances:
        return {GpuPart(uuid): Fraction(1)}, Fraction(0)
    found: dict[GpuPart, Fraction] = {}
    for number, kind in instances:
        share = share_of(kind, model) if kind else None
        if share is not None:
            found[GpuPart(uuid, number, kind)] = share[0]
    total = sum(found.values(), Fraction(0))
    if total > 1:
        return {part: share / total for part, share in found.items()}, Fraction(0)
    return found, 1 - total
