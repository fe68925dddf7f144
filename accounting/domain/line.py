"""One line of the ledger of a window: who had a GPU (part), and in which states."""

from dataclasses import dataclass

STATES = ("busy", "idle", "unknown", "free", "stranded", "stray", "dark")


@dataclass(frozen=True, slots=True)
class Line:
    """Milliseconds of one (GPU, instance, pod, node) in one window, rounded once (N23).

    `pod_uid` "" is the platform's line (free, stranded, stray, dark). The sums over all
    lines of a GPU equal its presence in the window.

    Attributes:
        metric: 0 none, 1 engine active, 2 GPU util, 3 other (models.DutyMetric).
        flags: bits of models.FactFlag.
        samples_expected: presence / step, rounded down (N33).
        samples_used: samples of the chosen track with data in the window.
    """

    uuid: str
    node: str
    instance: int  # -1: the whole GPU
    pod_uid: str
    busy_ms: int = 0
    idle_ms: int = 0
    unknown_ms: int = 0
    free_ms: int = 0
    stranded_ms: int = 0
    stray_ms: int = 0
    dark_ms: int = 0
    over_share_ms: int = 0
    flags: int = 0
    metric: int = 0
    samples_expected: int = 0
    samples_used: int = 0
    peak_memory_bytes: int | None = None
    energy_mj: int | None = None

    @property
    def total_ms(self) -> int:
        """Sum of the seven states."""
        return (
            self.busy_ms
            + self.idle_ms
            + self.unknown_ms
            + self.free_ms
            + self.stranded_ms
            + self.stray_ms
            + self.dark_ms
        )
