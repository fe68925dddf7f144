"""GPU activity of a report row: averages and peaks of its sums."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

from accounting.metering.rules.intensity.measures import PEAKS

BUSY = 0.5  # of the observed time: busy enough to look at its activity
POINTLESS = 0.02  # of tensor and of DRAM activity: less does not count as work


@dataclass(frozen=True, slots=True)
class Intensity:
    """Sums over lines and time, weighted by shares; peaks are the largest.

    `*_seen_us` is the observed time; 0 if nothing was observed. Names are those of the tables'
    columns.
    """

    flags: int = 0
    sm_seen_us: int = 0
    sm_active_us: int = 0
    tensor_seen_us: int = 0
    tensor_active_us: int = 0
    dram_seen_us: int = 0
    dram_active_us: int = 0
    memory_seen_us: int = 0
    memory_mib_ms: int = 0
    memory_peak_bytes: int = 0
    power_seen_us: int = 0
    power_mj: int = 0
    energy_seen_us: int = 0
    energy_mj: int = 0
    temperature_seen_us: int = 0
    temperature_peak_c: int = 0
    nvlink_seen_us: int = 0
    nvlink_kb: int = 0
    throttle_seen_us: int = 0
    throttled_ms: int = 0

    @property
    def sm_active(self) -> float | None:
        """Mean share of active SMs; None if not observed, as in all properties below."""
        return _share(self.sm_active_us, self.sm_seen_us)

    @property
    def tensor_active(self) -> float | None:
        """Mean share of time in which tensor pipes were active."""
        return _share(self.tensor_active_us, self.tensor_seen_us)

    @property
    def dram_active(self) -> float | None:
        """Mean share of time in which data was read from or written to device memory."""
        return _share(self.dram_active_us, self.dram_seen_us)

    @property
    def memory_bytes(self) -> float | None:
        """Mean bytes of device memory in use, of one whole GPU."""
        if not self.memory_seen_us:
            return None
        return self.memory_mib_ms * 1000 / self.memory_seen_us * 1_048_576

    @property
    def peak_memory_bytes(self) -> int | None:
        """The maximum that one GPU (or instance) had in use."""
        return self.memory_peak_bytes if self.memory_seen_us else None

    @property
    def power_watts(self) -> float | None:
        """Mean power draw of one whole GPU."""
        return self.power_mj * 1000 / self.power_seen_us if self.power_seen_us else None

    @property
    def energy_joules(self) -> float | None:
        """The energy used; a lower bound if `is_lower_bound`."""
        return self.energy_mj / 1000 if self.energy_seen_us else None

    @property
    def is_lower_bound(self) -> bool:
        """True if an energy counter was reset, so that its last increase is not known."""
        return bool(self.flags & 1)

    @property
    def peak_celsius(self) -> int | None:
        """The maximum temperature of a GPU."""
        return self.temperature_peak_c if self.temperature_seen_us else None

    @property
    def nvlink_bytes_per_second(self) -> float | None:
        """Mean throughput over all links of one GPU."""
        if not self.nvlink_seen_us:
            return None
        return self.nvlink_kb * 1_000_000_000 / self.nvlink_seen_us

    @property
    def throttled(self) -> float | None:
        """Share of the time in which clocks were throttled."""
        return _share(self.throttled_ms * 1000, self.throttle_seen_us)

    def is_pointless(self, efficiency: float | None) -> bool:
        """Busy without work: the engine was active, tensor pipes and memory were not.

        False if any of the three was not observed.
        """
        tensor, dram = self.tensor_active, self.dram_active
        if efficiency is None or tensor is None or dram is None:
            return False
        return efficiency >= BUSY and tensor <= POINTLESS and dram <= POINTLESS


def _share(active_us: int, seen_us: int) -> float | None:
    """A ratio to a millionth, the precision of stored activity."""
    return round(active_us / seen_us, 6) if seen_us else None


NOT_OBSERVED = Intensity()


def together(parts: Iterable[Intensity]) -> Intensity:
    """The sum of several."""
    several = [part for part in parts if part is not NOT_OBSERVED]
    if not several:
        return NOT_OBSERVED
    values: dict[str, int] = {}
    for item in fields(Intensity):
        each = [getattr(part, item.name) for part in several]
        values[item.name] = max(each) if item.name in PEAKS else sum(each)
    values["flags"] = 0
    for part in several:
        values["flags"] |= part.flags
    return Intensity(**values)
