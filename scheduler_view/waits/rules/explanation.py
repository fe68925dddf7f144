"""An explanation of why a unit waits, as frozen values (scheduling.md S4-S14)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler_view.waits.rules.cause import (
    Overlay,
    PreemptionOutcome,
    Stage,
    WaitCause,
)

Facts = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class WaitChange:
    """One change of the cluster or of the work.

    Attributes:
        kind: such as `end_pod`, `uncordon`, `raise_quota`; `docs/scheduling.md` S13 lists them.
        details: what it is about; plain texts, integers, lists and mappings.
    """

    kind: str
    details: Facts = field(default_factory=dict)

    def as_value(self) -> dict[str, object]:
        """As a plain value."""
        return {"change": self.kind, **self.details}


@dataclass(frozen=True, slots=True)
class Remedy:
    """Changes that together let the unit start; mostly one."""

    changes: tuple[WaitChange, ...]

    def as_value(self) -> dict[str, object]:
        """As a plain value; several changes as `together`."""
        if len(self.changes) == 1:
            return self.changes[0].as_value()
        return {"change": "together", "changes": [c.as_value() for c in self.changes]}


@dataclass(frozen=True, slots=True)
class Partial:
    """Changes that are not enough alone.

    Attributes:
        remains: what still keeps the unit, as plain values: its cause and numbers.
    """

    remedy: Remedy
    remains: tuple[Facts, ...]

    def as_value(self) -> dict[str, object]:
        """As a plain value."""
        return {**self.remedy.as_value(), "remains": [dict(o) for o in self.remains]}


def remedy(kind: str, **details: object) -> Remedy:
    """A remedy of one change."""
    return Remedy((WaitChange(kind, details),))


@dataclass(frozen=True, slots=True)
class Blocker:
    """A pod that holds what a unit waits for.

    Attributes:
        pod: `namespace/name`.
        unit: its unit, as `Kind/namespace/name`.
        units: of the resource that is short, whole ones rounded down.
        is_own: a replica of the waiting unit.
        since_ms: since when it has held it; None if unknown.
        idle_since_ms: None if it is not idle, or not known.
        ending_ms: when it was deleted, if it should have ended by now; else None.
        finalizers: that keep it, of a pod with `ending_ms`.
        waits: it is on no node, and waits too: a quota counts it since it was created.
    """

    pod: str
    uid: str
    unit: str
    resource: str
    units: int
    priority: int
    priority_class: str
    is_own: bool = False
    since_ms: int | None = None
    idle_since_ms: int | None = None
    ending_ms: int | None = None
    finalizers: tuple[str, ...] = ()
    waits: bool = False


@dataclass(frozen=True, slots=True)
class BlockerSet:
    """Pods of one node, or of one quota, of which all must end; that is enough (S12).

    Attributes:
        node: empty for a quota.
    """

    node: str
    blockers: tuple[Blocker, ...]

    @property
    def pods(self) -> tuple[str, ...]:
        """The pods of the set, as `namespace/name`."""
        return tuple(one.pod for one in self.blockers)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A text that supports the cause.

    Attributes:
        object: `Kind/namespace/name`, or `Event/...` with its reason.
        path: where in the object.
    """

    object: str
    path: str
    text: str
    at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class PodCounts:
    """Pods of a unit; `waiting` includes those that were never made."""

    wanted: int
    bound: int
    waiting: int


@dataclass(frozen=True)
class WaitExplanation:
    """Why one unit waits.

    Attributes:
        subject: `Kind/namespace/name`.
        contributing: other causes, in alphabetical order.
        resource: of GPUs, or a device class; empty if it is not known.
        units_per_pod: None if it is not known.
        blockers: sufficient sets, best first; the first ones only.
        blocker_sets: how many sets there are.
        starts_if: each is enough, as it was tried.
        not_enough: each removes something, and says what remains.
        facts: numbers and names that belong to the cause.
        since_ms: when the unit was made, of a service when its pods were; None if unknown.
        inverted: the best sufficient set of lower priority only; None without one.
        cluster_queue: the ClusterQueue, or queue of Volcano or KAI, that keeps it back; empty if
            no queue does, or it is not known.
        cohort: whose queues have what it lacks, if it may borrow that and the end of work in its
            own queue is not enough; else empty.
        let_in: what that queue, or that cohort, let in and holds GPUs, most GPUs first.
        is_from_metrics: from kube-state-metrics alone, which show little (`from_metrics`).
    """

    subject: str
    kind: str
    namespace: str
    name: str
    stage: Stage
    cause: WaitCause
    contributing: tuple[WaitCause, ...]
    overlays: tuple[Overlay, ...]
    pods: PodCounts
    resource: str
    units_per_pod: int | None
    preemption: PreemptionOutcome
    blockers: tuple[BlockerSet, ...] = ()
    blocker_sets: int = 0
    starts_if: tuple[Remedy, ...] = ()
    not_enough: tuple[Partial, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    facts: Facts = field(default_factory=dict)
    since_ms: int | None = None
    priority: int = 0
    priority_class: str = ""
    inverted: BlockerSet | None = None
    cluster_queue: str = ""
    cohort: str = ""
    let_in: tuple[Blocker, ...] = ()
    is_from_metrics: bool = False
