"""Counting what samples name: looks at every GPU once, however many holds there are."""

from collections.abc import ValuesView
from fractions import Fraction

from accounting.core.interval import HOUR_MS, Interval
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import PodHold
from accounting.metering.rules.holds.derive import DerivedHolds
from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.inventory.labels import labels_of
from accounting.metering.rules.inventory.merge.operations import ChangedRecords
from accounting.metering.rules.inventory.records import (
    GpuRecord,
    Inventory,
    SampleSpan,
    ScrapeLocation,
)
from accounting.metering.rules.samples.series import ScraperIdentity
from accounting.metering.tasks.evidence.hold_labels import complete
from accounting.metering.tasks.evidence.holds import StoredHold
from accounting.metering.tasks.evidence.ids import Ids

NODES = 50
NEAR = Interval(0, HOUR_MS)
SCRAPER = ScraperIdentity("dcgm", "")


class Read(dict[str, GpuRecord]):
    """GPUs, and how often all of them were read."""

    times = 0

    def values(self) -> ValuesView[str, GpuRecord]:  # type: ignore[type-arg,override]
        """Counted."""
        self.times += 1
        return super().values()


def gpu(number: int) -> GpuRecord:
    place = ScrapeLocation(f"node-{number}", SCRAPER)
    return GpuRecord(f"GPU-{number}", spans={place: [SampleSpan(0, HOUR_MS, 30_000)]})


def hold(number: int) -> StoredHold:
    found = Hold(
        uid=f"uid-{number}",
        namespace="ns",
        pod=f"pod-{number}",
        node=f"node-{number}",
        resource="nvidia.com/gpu",
        units=1,
        share=Fraction(1),
        created_ms=0,
        bound_ms=0,
        ended_ms=None,
        booked_until_ms=HOUR_MS,
    )
    return StoredHold(found, PodHold(), None)


def test_all_gpus_are_read_once_for_all_holds() -> None:
    gpus = Read({f"GPU-{n}": gpu(n) for n in range(NODES)})
    inventory, touched = Inventory(gpus=gpus), ChangedRecords(renaming={SCRAPER})
    settled = [hold(n) for n in range(NODES)]
    labels = labels_of(inventory)
    derived = DerivedHolds((), (), (), labels, labels)
    gpus.times = 0
    complete(Cluster(), settled, inventory, derived, Ids(), near=NEAR, touched=touched)
    assert all(one.row.label_counts is not None for one in settled)
    assert gpus.times == 1
