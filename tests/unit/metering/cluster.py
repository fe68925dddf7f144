"""Evidence of nodes and GPUs in seconds, and the presences that it shows."""

import numpy as np

from accounting.metering.rules.holds.gpu_presence import derive_presences
from accounting.metering.rules.holds.presence_record import PresenceRecord
from accounting.metering.rules.inventory.kube_state.visibility import kube_state
from accounting.metering.rules.inventory.records import (
    GpuRecord,
    Inventory,
    NodeRecord,
    SampleSpan,
    ScrapeLocation,
    ScraperRecord,
)
from accounting.metering.rules.samples.series import ScraperIdentity

KSM, DCGM = ScraperIdentity("ksm"), ScraperIdentity("dcgm")
STEP = 30
GPU = "nvidia.com/gpu"


class Cluster:
    """Evidence in seconds; kube-state is read every 30 s in [0, `read`)."""

    def __init__(self, read: int = 600) -> None:
        self.inventory = Inventory()
        if read:
            times = np.arange(0, read, STEP, dtype=np.int64) * 1000
            self.inventory.scrapers[KSM] = ScraperRecord(KSM, kube_times=times)

    def node(
        self,
        name: str,
        *spans: tuple[int, int],
        gpus: dict[int, int] | None = None,
        labels: dict[str, str] | None = None,
    ) -> None:
        """A node object with spans, and its capacity from instants on."""
        self.inventory.nodes[name] = NodeRecord(
            name,
            [SampleSpan(a * 1000, b * 1000, STEP * 1000) for a, b in spans],
            [(at * 1000, {GPU: n}) for at, n in (gpus or {}).items()],
            [(0, labels)] if labels else [],
        )

    def gpu(self, uuid: str, node: str, *spans: tuple[int, int]) -> None:
        """A GPU sampled on a node."""
        record = self.inventory.gpus.setdefault(uuid, GpuRecord(uuid))
        record.spans[ScrapeLocation(node, DCGM)] = [
            SampleSpan(a * 1000, b * 1000, STEP * 1000) for a, b in spans
        ]

    def presences(self, until: int = 600) -> list[PresenceRecord]:
        """All that the evidence shows."""
        state = kube_state(self.inventory)
        return derive_presences(self.inventory, state, until * 1000)

    def real(self, until: int = 600) -> list[tuple[str, str, int, int | None]]:
        """UUID, node, start and end of those with a UUID."""
        return [
            (p.uuid, p.node, p.start_ms // 1000, p.end_ms and p.end_ms // 1000)
            for p in self.presences(until)
            if not p.is_placeholder
        ]

    def placeholders(self, until: int = 600) -> list[tuple[str, int, int | None]]:
        """Name, start and end of those without."""
        return [
            (p.uuid, p.start_ms // 1000, p.end_ms and p.end_ms // 1000)
            for p in self.presences(until)
            if p.is_placeholder
        ]
