"""Updates which GPUs each hold has by its samples, over its whole duration (rules.md N17).

Counts of the loaded hours are computed from their labels and replace the stored ones. Other hours
are counted again only if the hold started or ended there and no longer does, or if other labels
count for it now.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from accounting.core.interval import FAR_MS, Interval
from accounting.metering.mapping import labels_kept, pack_labels, unpack_labels
from accounting.metering.models.cluster import Cluster
from accounting.metering.rules.holds.derive import DerivedHolds
from accounting.metering.rules.holds.gpu_assignment import (
    Place,
    claimed_parts,
    mapped_places,
    named_times,
)
from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.holds.label_counts import (
    Tally,
    stale_hours,
    whole_hours,
    without,
)
from accounting.metering.rules.inventory.labels import Labels, labels_of
from accounting.metering.rules.inventory.merge.operations import ChangedRecords
from accounting.metering.rules.inventory.records import Inventory
from accounting.metering.tasks.evidence.gpu_labels import labels_of_names
from accounting.metering.tasks.evidence.holds import StoredHold
from accounting.metering.tasks.evidence.ids import Ids


@dataclass(slots=True)
class _Counting:
    """A hold whose samples are being counted.

    Attributes:
        tally: the stored counts that are still valid.
        stale: hours that are not loaded and are counted again.
    """

    one: StoredHold
    tally: Tally
    stale: list[Interval]

    @property
    def hold(self) -> Hold:
        """The hold as stored."""
        return self.one.hold


def complete(
    cluster: Cluster,
    settled: Sequence[StoredHold],
    inventory: Inventory,
    derived: DerivedHolds,
    ids: Ids,
    *,
    near: Interval,
    touched: ChangedRecords,
) -> DerivedHolds:
    """Add to every hold the sample counts of the hours that are not loaded.

    Args:
        cluster, inventory, derived, ids: the derived holds, and their evidence.
        settled: the holds that kube-state shows; their rows get the stored counts.
        near: the hours whose labels are loaded.
        touched: the records that merged samples changed.

    Returns:
        The derived holds with all their samples.
    """
    others = _Evidence.of(inventory, touched)
    counted = [found for one in settled if (found := others.counting(one, near))]
    elsewhere = _labels_of_stale(cluster, counted, inventory, derived, ids)
    held = Counter(one.hold.uid for one in settled)
    claimed = claimed_parts(one.hold for one in settled)
    named: dict[tuple[str, str], Mapping[Place, int]] = {}
    for found in counted:
        hold = found.hold
        tally = found.tally
        if found.stale:
            tally = tally.replaced(found.stale, named_times(hold, elsewhere))
        tally = tally.replaced([near], named_times(hold, derived.labels))
        hold = replace(hold, named=tally.outside(near))
        named[hold.uid, hold.resource] = hold.named
        places = mapped_places(
            hold,
            derived.labels,
            is_only=held[hold.uid] == 1,
            claimed=claimed.get(hold.uid, frozenset()),
        )
        found.one.row.label_counts = pack_labels(labels_kept(hold, tally, places))
    holds = tuple(
        replace(hold, named=named[hold.uid, hold.resource])
        if not hold.is_inferred and (hold.uid, hold.resource) in named
        else hold
        for hold in derived.holds
    )
    return replace(derived, holds=holds)


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The inputs that determine whether the counts of other hours are still valid.

    Looked up by node: a large cluster has as many holds as GPUs.

    Attributes:
        own_pods: pods of exporters that were found to be such now.
        renamed: nodes with GPUs of scrapers whose labels are read otherwise now.
        sampled: by node, the hours in which its GPUs were sampled.
    """

    own_pods: Collection[tuple[str, str]]
    renamed: Collection[str]
    sampled: Mapping[str, Interval]

    @classmethod
    def of(cls, inventory: Inventory, touched: ChangedRecords) -> "_Evidence":
        """Those of an inventory, after samples changed some of its records."""
        renamed = set()
        ends: dict[str, tuple[int, int]] = {}
        for record in inventory.gpus.values():
            for place, found in record.spans.items():
                if place.scraper in touched.renaming:
                    renamed.add(place.node)
                first_ms, last_ms = ends.get(place.node, (FAR_MS, 0))
                for span in (found[0], found[-1]):
                    first_ms = min(first_ms, span.first_ms)
                    last_ms = max(last_ms, span.last_ms)
                ends[place.node] = first_ms, last_ms
        sampled = {
            node: whole_hours(Interval(first_ms, last_ms + 1))
            for node, (first_ms, last_ms) in ends.items()
        }
        return cls(touched.own_pods, renamed, sampled)

    def counting(self, one: StoredHold, near: Interval) -> _Counting | None:
        """How a hold is counted; None if none of it is loaded and its counts are complete."""
        hold, before = one.hold, one.before
        held = Interval(hold.bound_ms, max(hold.bound_ms, hold.booked_until_ms))
        kept = None
        if before is not None and before.label_counts is not None:
            kept = unpack_labels(bytes(before.label_counts))
        is_same = (
            kept is not None
            and (kept.node, kept.is_shared) == (hold.node, hold.is_shared)
            and (hold.namespace, hold.pod) not in self.own_pods
            and hold.node not in self.renamed
        )
        if kept is not None and is_same:
            if kept.held == held and held.intersection(near) is None:
                return None
            stale = stale_hours(kept.held, held)
        else:
            stale = [whole_hours(held)]
        known = self.sampled.get(hold.node)  # other hours have no labels
        stale = [
            part
            for period in without(stale, near)
            if known and (part := period.intersection(known)) is not None
        ]
        tally = kept.tally if kept is not None and is_same else Tally()
        return _Counting(one, tally, stale)


def _labels_of_stale(
    cluster: Cluster,
    counted: Sequence[_Counting],
    inventory: Inventory,
    derived: DerivedHolds,
    ids: Ids,
) -> Labels:
    """The labels of the hours that are counted again; on shared GPUs also those of other pods."""
    some = [found for found in counted if found.stale]
    names = {
        (space, pod)
        for found in some
        for space, pod, _ in (
            (found.hold.namespace, found.hold.pod, ""),
            *found.hold.names,
        )
    }
    labels = replace(inventory, gpu_labels={}, far_labels={})
    if some:
        stale = [period for found in some for period in found.stale]
        hours = Interval(
            min(period.start_ms for period in stale),
            max(period.end_ms for period in stale),
        )
        shared = {found.hold.node for found in some if found.hold.is_shared}
        labels.gpu_labels = labels_of_names(cluster, names, hours, ids, shared)
    read = labels_of(labels)
    read.binds = derived.labels.binds
    return read
