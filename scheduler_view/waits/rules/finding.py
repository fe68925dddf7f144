"""What keeps one pod waiting, or the pods that one controller could not make."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler_view.waits.rules.cause import Stage, WaitCause
from scheduler_view.waits.rules.explanation import Evidence
from scheduler_view.waits.rules.placement.verdicts import Verdicts
from scheduler_view.waits.rules.refusals import AdmissionRefusal
from scheduler_view.waits.rules.world.controllers import ControllerObject
from scheduler_view.waits.rules.world.pod_spec import PodSpec
from scheduler_view.waits.rules.world.pods import PodObject

_BEFORE_NODES = frozenset(
    {
        *(WaitCause.VOLUME_MISSING, WaitCause.DEVICE_CLASS_MISSING),
        *(WaitCause.CLAIM_UNALLOCATABLE, WaitCause.RETRY_PENDING),
        WaitCause.CLAIM_ELSEWHERE,
    }
)


@dataclass(frozen=True)
class PodFinding:
    """The cause of one vote of a unit (S9).

    Attributes:
        votes: pods with this finding.
        spec: what these pods require; None if it is not known.
        maker: the object that could not make these pods; None if there is a pod.
        name: of what is missing: a claim, class, volume, queue or gate.
    """

    stage: Stage
    cause: WaitCause
    votes: int = 1
    contributing: frozenset[WaitCause] = frozenset()
    spec: PodSpec | None = None
    pod: PodObject | None = None
    maker: ControllerObject | None = None
    verdicts: Verdicts | None = None
    refusal: AdmissionRefusal | None = None
    name: str = ""
    evidence: tuple[Evidence, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_by_nodes(self) -> bool:
        """Whether nodes decide: the end of pods is of no use where a volume or class is missing."""
        if self.verdicts is None or self.cause in _BEFORE_NODES:
            return False
        return not (self.cause is WaitCause.VOLUME_UNBOUND and self.name)
