"""Stores holds and presences that are derived from the evidence."""

from accounting.core.interval import Interval
from accounting.metering.models.cluster import Cluster
from accounting.metering.rules.holds.derive import DerivedHolds
from accounting.metering.rules.inventory.merge.operations import ChangedRecords
from accounting.metering.rules.inventory.records import Inventory
from accounting.metering.tasks.evidence import hold_labels, holds, presences
from accounting.metering.tasks.evidence.ids import Ids


def store(
    cluster: Cluster,
    inventory: Inventory,
    derived: DerivedHolds,
    ids: Ids,
    near: Interval,
    touched: ChangedRecords,
) -> tuple[DerivedHolds, list[Interval]]:
    """Update holds and presences.

    Args:
        cluster, inventory, derived, ids: the derived holds and presences, and their evidence.
        near: the hours whose GPU labels are all loaded.
        touched: records that new samples changed; empty without samples.

    Returns:
        The derived holds and presences, with the sample counts of other hours (N17); and the
        periods in which held time changed: the windows there are dirty.
    """
    shown = [hold for hold in derived.holds if not hold.is_inferred]
    settled, gone = holds.holds_to_store(inventory, shown, ids)
    derived = hold_labels.complete(
        cluster, settled, inventory, derived, ids, near=near, touched=touched
    )
    changed = holds.store_shown(settled, gone)
    changed.extend(holds.store_inferred(cluster, derived, inventory, ids))
    changed.extend(presences.store(cluster, derived.presences, ids))
    return derived, changed
