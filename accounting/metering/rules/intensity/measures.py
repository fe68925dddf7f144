"""GPU activity as rows: the measures of a line, and their units."""

from dataclasses import dataclass

import numpy as np

from accounting.core.arrays import Integers

ENERGY_RESET = 1  # a bit of `flags`: energy is a lower bound
WHOLE = -1
OF_PART = (  # of a part of a GPU, or of a whole one
    *("sm_seen_us", "sm_active_us"),
    *("tensor_seen_us", "tensor_active_us"),
    *("dram_seen_us", "dram_active_us"),
    *("memory_seen_us", "memory_mib_ms", "memory_peak_bytes"),
)
OF_WHOLE = (  # of a whole GPU only
    *("power_seen_us", "power_mj"),
    *("energy_seen_us", "energy_mj"),
    *("temperature_seen_us", "temperature_peak_c"),
    *("nvlink_seen_us", "nvlink_kb"),
    *("throttle_seen_us", "throttled_ms"),
)
MEASURES = OF_PART + OF_WHOLE
PEAKS = frozenset({"memory_peak_bytes", "temperature_peak_c"})
FINER = (  # summed in thousandths of their unit
    *("sm_active_us", "tensor_active_us", "dram_active_us", "power_mj", "nvlink_kb"),
)
ROW = np.dtype(
    [("window", "i4"), ("gpu", "i4"), ("uid", "i4"), ("instance", "i2")]
    + [("flags", "i2")]
    + [(name, "i8") for name in MEASURES]
)


@dataclass(frozen=True, slots=True, eq=False)
class IntensityTable:
    """The GPU activity of one window's lines; lines without any measure are left out.

    Attributes:
        gpus: (node, uuid) by number.
        uids: of pods, by number; "" is the platform.
        rows: of `ROW`.
    """

    gpus: tuple[tuple[str, str], ...]
    uids: tuple[str, ...]
    rows: "np.ndarray"


NOTHING = IntensityTable((), (), np.zeros(0, ROW))


def zeros(count: int) -> "np.ndarray":
    """A table of `count` empty sums: `flags` and every measure."""
    return np.zeros(count, [("flags", "i8"), *((name, "i8") for name in MEASURES)])


def table(
    values: "np.ndarray",
    window: Integers,
    gpu: Integers,
    uid: Integers | int,
    instance: Integers | int,
) -> "np.ndarray":
    """Sums as rows of `ROW`, with the given keys."""
    rows = np.zeros(len(values), ROW)
    rows["window"], rows["gpu"], rows["uid"] = window, gpu, uid
    rows["instance"] = instance
    for name in values.dtype.names or ():
        rows[name] = values[name]
    return rows
