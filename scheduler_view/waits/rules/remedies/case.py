"""What remedies are looked for: one unit, its cause, and how changes are tried."""

from dataclasses import dataclass

from scheduler_view.waits.rules.blockers import Blockers
from scheduler_view.waits.rules.cause import Overlay, PreemptionOutcome
from scheduler_view.waits.rules.explanation import Remedy
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.findings import Findings
from scheduler_view.waits.rules.placement.gpu_requests import GpuRequest
from scheduler_view.waits.rules.placement.holders import HolderSet
from scheduler_view.waits.rules.trial.trial import Trial
from scheduler_view.waits.rules.units import WorkUnit


@dataclass(frozen=True)
class WaitCase:
    """What remedies are computed from.

    Attributes:
        sets: sufficient sets of the cause.
        partners: gangs that block each other with the unit.
        claims: what would free devices for its claim.
    """

    findings: Findings
    unit: WorkUnit
    finding: PodFinding
    gpus: GpuRequest | None
    sets: list[HolderSet]
    blockers: Blockers
    preemption: PreemptionOutcome
    overlays: tuple[Overlay, ...]
    trial: Trial
    partners: tuple[str, ...] = ()
    claims: tuple[Remedy, ...] = ()

    @property
    def units(self) -> int:
        """GPUs of one pod; 0 if not known."""
        return (self.gpus.units or 0) if self.gpus else 0

    def has_own(self, one: HolderSet) -> bool:
        """Whether a replica of the unit is in a set."""
        return any(self.blockers.is_own(pod) for pod in one.pods)
