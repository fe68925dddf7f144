"""Holds and presences of a whole cluster from its evidence, and where its data end."""

from dataclasses import dataclass

from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.metering.rules.holds.from_kube_state import derive_holds
from accounting.metering.rules.holds.from_labels import inferred_holds
from accounting.metering.rules.holds.gpu_presence import derive_presences
from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.holds.presence_record import PresenceRecord
from accounting.metering.rules.holds.retirement import holds_until, presences_until
from accounting.metering.rules.holds.unattributable import unbooked
from accounting.metering.rules.inventory.kube_state.visibility import kube_state
from accounting.metering.rules.inventory.labels import Labels, labels_of
from accounting.metering.rules.inventory.merge.samples import kube_steps
from accounting.metering.rules.inventory.records import Inventory


@dataclass(frozen=True, slots=True)
class DerivedHolds:
    """Holds and presences of an inventory, and when kube-state was seen.

    Attributes:
        labels: of the loaded hours: they determine the GPUs of a hold there.
        far_labels: also those of more distant hours, which create and continue holds.
    """

    holds: tuple[Hold, ...]
    presences: tuple[PresenceRecord, ...]
    seen: tuple[Interval, ...]
    labels: Labels
    far_labels: Labels
    issues: tuple[Issue, ...] = ()

    def labels_for(self, hold: Hold) -> Labels:
        """The labels that determine the GPUs of a hold; a hold from labels uses all of them."""
        return self.far_labels if hold.is_inferred else self.labels


def derive(inventory: Inventory, period: Interval, until_ms: int) -> DerivedHolds:
    """Holds, presences and visibility of kube-state of a cluster.

    Args:
        inventory: the evidence.
        period: for which `seen` is computed.
        until_ms: where the cluster's data end (rules.md N1).
    """
    state, labels = kube_state(inventory), labels_of(inventory)
    far = labels_of(inventory, is_far=True) if inventory.far_labels else labels
    holds = derive_holds(inventory, state, far, until_ms)
    labels.binds = far.binds
    holds.extend(inferred_holds(inventory, state, far, until_ms))
    presences = derive_presences(inventory, state, until_ms)
    retired_ms = inventory.retired_ms
    if retired_ms is not None and (inventory.is_retired or retired_ms <= until_ms):
        holds = holds_until(holds, retired_ms)
        presences = presences_until(presences, retired_ms)
    return DerivedHolds(
        tuple(holds),
        tuple(presences),
        tuple(state.seen(period)),
        labels,
        far,
        tuple(unbooked(inventory, period)),
    )


def data_end_ms(inventory: Inventory) -> int:
    """Where a cluster's data end: the latest last sample of a scraper series, plus its step.

    Includes those of kube-state (rules.md N1); 0 without samples.
    """
    ends = [
        spans[-1].last_ms + spans[-1].step_ms
        for record in inventory.gpus.values()
        for spans in record.spans.values()
        if spans
    ]
    for steps in kube_steps(inventory).values():
        ends.extend(at + steps.at(at) for at in steps.times[-1:])
    return max(ends, default=0)
