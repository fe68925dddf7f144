"""One line of the ledger of a window: the holder of a GPU (part), and its states."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

HELD_STATES = ("busy", "idle", "unknown")  # of time that a pod holds
PLATFORM_STATES = ("free", "stranded", "stray", "dark")  # of unallocated time (N29)
STATES = (*HELD_STATES, *PLATFORM_STATES)
PLATFORM = ""  # the pod uid of unallocated time
ESTIMATED, INFERRED, SUSPECT = 1, 2, 4  # bits of `flags`, as models.FactFlag (N19, N21)


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """Milliseconds of one (GPU, instance, pod, node) in one window, rounded once (N23).

    `pod_uid` "" is the platform's line (free, stranded, stray, dark). The sums over all
    lines of a GPU equal its presence in the window.

    Attributes:
        metric: 0 none, 1 engine active, 2 GPU util (`utilization.METRIC_CODE`).
        flags: bits of models.FactFlag.
        samples_expected: presence / step, rounded down (N33); 0 for stranded time, which no
            exporter can show.
        samples_used: samples with data of the scraper series that counts, in the window.
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


# Lines of many GPUs as columns; `window`, `gpu` and `uid` are numbers.
LINE = np.dtype(
    [("window", "i4"), ("gpu", "i4"), ("uid", "i4"), ("instance", "i4")]
    + [(f"{state}_ms", "i4") for state in STATES]
    + [("over_share_ms", "i4"), ("flags", "i2"), ("metric", "i2")]
    + [("samples_expected", "i4"), ("samples_used", "i4")]
)
COUNTED = LINE.names[4:] if LINE.names else ()


@dataclass(frozen=True, slots=True, eq=False)
class LineTable:
    """Lines of many GPUs.

    Attributes:
        gpus: (node, uuid) by number.
        uids: of pods, by number; "" is the platform.
        rows: of `LINE`.
    """

    gpus: tuple[tuple[str, str], ...]
    uids: tuple[str, ...]
    rows: "np.ndarray"

    def __len__(self) -> int:
        return len(self.rows)

    def lines(self) -> Iterator[LedgerLine]:
        """All lines, one by one."""
        for row in self.rows:
            node, uuid = self.gpus[row["gpu"]]
            counted = {name: int(row[name]) for name in COUNTED}
            instance = int(row["instance"])
            yield LedgerLine(uuid, node, instance, self.uids[row["uid"]], **counted)
