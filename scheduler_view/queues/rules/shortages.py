"""Quotas that refuse a unit until pods that they count have ended (scheduling.md S19)."""

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler_view.waits.rules.blockers import Blockers
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.units import WorkUnit


@dataclass(frozen=True, slots=True)
class QuotaShortage:
    """A quota that refuses a unit until pods that it counts have ended.

    Attributes:
        need: thousandths that must become free.
        counted: uid and thousandths of the pods that it counts.
    """

    need: int
    counted: tuple[tuple[str, int], ...]

    def opens_ms(self, ends: Mapping[str, int]) -> int | None:
        """When enough of them have ended; None if that is not known."""
        freed = 0
        for at_ms, amount in sorted(
            (ends[uid], amount) for uid, amount in self.counted if uid in ends
        ):
            freed += amount
            if freed >= self.need:
                return at_ms
        return None


def shortage_of(explainer: Explainer, unit: WorkUnit) -> QuotaShortage | None:
    """What a quota that refuses a unit is short of; None if no quota does."""
    for finding in explainer.findings.of_unit(unit):
        refusal = finding.refusal
        if refusal is not None and refusal.requested <= refusal.hard:
            need = refusal.used + refusal.requested - refusal.hard
            counted = Blockers(explainer.index, unit).counted(unit.namespace, refusal)
            held = tuple((pod.uid, amount) for pod, amount, _ in counted)
            return QuotaShortage(max(0, need), held)
    return None
