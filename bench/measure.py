"""Interleaved rounds, medians and floors: how every figure of the bench is computed."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROUNDS = 5


@dataclass
class Figure:
    """One goal: our time against a named alternative or limit, as a ratio.

    Attributes:
        floor: the ratio (or, with `limit_s`, the seconds) that must be met.
        at_most: True if smaller is better.
    """

    goal: str
    what: str
    value: float
    floor: float
    unit: str = "x"
    at_most: bool = False
    detail: dict[str, float] = field(default_factory=dict)

    @property
    def met(self) -> bool:
        """True if the floor is met."""
        return self.value <= self.floor if self.at_most else self.value >= self.floor

    def line(self) -> str:
        """One row of the table."""
        sign = "<=" if self.at_most else ">="
        extra = "  ".join(f"{name} {value:.4g}" for name, value in self.detail.items())
        mark = "met    " if self.met else "NOT met"
        return (
            f"{mark} {self.goal:<8} {self.what:<66} {self.value:8.3g} {self.unit:<3} "
            f"({sign} {self.floor:g})  {extra}"
        )


def interleaved(
    candidates: dict[str, Callable[[], object]],
    *,
    before: Callable[[str], object] | None = None,
    rounds: int = ROUNDS,
) -> dict[str, list[float]]:
    """Seconds of each candidate, in alternating rounds, after one warm-up round.

    `before` prepares a candidate's run and is not timed.
    """
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for round_ in range(rounds + 1):
        for name, run in candidates.items():
            if before is not None:
                before(name)
            gc.collect()
            start = time.perf_counter()
            run()
            if round_:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(rival: list[float], ours: list[float]) -> float:
    """The speedup: median of the ratios of all rounds."""
    return statistics.median(a / b for a, b in zip(rival, ours, strict=True))


def peak_rss() -> int:
    """Peak resident bytes of this program alone.

    `ru_maxrss` cannot be used: on Linux it starts with the size of the parent process.
    """
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
