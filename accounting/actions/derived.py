"""Stores what the evidence says (holds, presences) and tells whose time changed."""

from accounting.actions import holds, presences
from accounting.actions.evidence_ids import Ids
from accounting.domain.derived import Derived
from accounting.domain.inventory import Inventory
from accounting.domain.label import Labels
from accounting.domain.mapping import remapped
from accounting.domain.period import Period
from accounting.models import Cluster


def store(
    cluster: Cluster,
    inventory: Inventory,
    derived: Derived,
    ids: Ids,
    labels_of: Period,
    labels_before: Labels | None = None,
) -> list[Period]:
    """Bring holds and presences up to date.

    Args:
        cluster, inventory, derived, ids: what was derived, and from what.
        labels_of: the time whose GPU labels were at hand: inferred holds are known there
            only, and reach beyond it as they are stored.
        labels_before: those at hand before new samples came; None: none came.

    Returns:
        The periods in which somebody's time changed: the windows there are dirty.
    """
    shown = [hold for hold in derived.holds if not hold.is_inferred]
    inferred = [hold for hold in derived.holds if hold.is_inferred]
    changed, pairs = holds.store_shown(inventory, shown, ids, labels_of)
    changed.extend(holds.store_inferred(cluster, inferred, ids, labels_of))
    if labels_before is not None:
        spans = remapped(pairs, labels_before, derived.labels)
        near = (span.intersection(labels_of) for span in spans)
        changed.extend(span for span in near if span is not None)
    changed.extend(presences.store(cluster, derived.presences, ids))
    return changed
