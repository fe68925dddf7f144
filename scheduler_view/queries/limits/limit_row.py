"""One limit of GPUs in one cluster, of GPU Ledger or of others."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from scheduler_view.domain.drift_state import DriftState
from scheduler_view.domain.objects.manifest import QUOTA


def edit_key(cluster: str, kind: str, namespace: str, what: str) -> str:
    """`north ResourceQuota vision-a nvidia.com/gpu`."""
    return f"{cluster} {kind} {namespace} {what}"


class LimitGroup(StrEnum):
    """The table of the page that has a limit."""

    NAMESPACES = "namespaces"  # quotas and LimitRanges
    CLASSES = "classes"  # of priority
    QUEUES = "queues"


@dataclass(frozen=True, slots=True)
class LimitRow:
    """One resource that an object limits, or one priority class.

    Attributes:
        kind: of the object, as in plans: `ResourceQuota`, `ClusterQueue`, `KaiQueue`.
        namespace: empty for cluster-wide objects.
        team, team_name: of the namespace; empty without one.
        resource: `nvidia.com/gpu`; empty for GPUs of any kind and for priorities.
        part: what of it: a flavor, the pods that a quota counts, the type of a LimitRange.
        limit: units, `unlimited`, the texts of a LimitRange, or the value of a class. Empty if it
            is not set.
        used, borrowed, lent: units, as its controller reports; empty if not reported. `lent` may be
            a range.
        may_borrow, may_lend: units or `unlimited`; empty if it has no such limit.
        parent: the object above a queue; `depth` is 0 at the top.
        preempts: of a priority class; None for other kinds.
        is_default: the priority class of pods that name none.
        set_by: who set the limit; empty if not known. `set_at`: when they last wrote it.
        change: the change set that set it; 0 if GPU Ledger did not.
        state: a `DriftState`, or `not_compared`.
        text: what differs from the desired state, and who holds what waits, as sentences.
        adopts: GPU Ledger can take it over with its number; `why_not` says why it cannot.
    """

    cluster: str
    group: LimitGroup
    kind: str
    name: str
    namespace: str = ""
    team: str = ""
    team_name: str = ""
    resource: str = ""
    part: str = ""
    limit: str = ""
    used: str = ""
    borrowed: str = ""
    lent: str = ""
    may_borrow: str = ""
    may_lend: str = ""
    waiting: int | None = None
    parent: str = ""
    depth: int = 0
    preempts: bool | None = None
    is_default: bool = False
    set_by: str = ""
    set_at: datetime | None = None
    change: int = 0
    state: str = DriftState.NOT_MANAGED
    text: str = ""
    adopts: bool = False
    why_not: str = ""
    seen_at: datetime | None = None

    @property
    def is_managed(self) -> bool:
        """GPU Ledger sets it."""
        return bool(self.change)

    @property
    def is_class(self) -> bool:
        """It orders pods, and limits no number."""
        return self.group == LimitGroup.CLASSES

    @property
    def edit_key(self) -> str:
        """What an edit that adopts it is about; quotas are adopted by namespace and resource."""
        what = self.resource if self.kind == QUOTA else self.name
        return edit_key(self.cluster, self.kind, self.namespace, what)

    @property
    def summary(self) -> str:
        """`vision-a/compute 16 by kubectl`."""
        return f"{self.place} {self.limit}" + (
            f" by {self.set_by}" if self.set_by else ""
        )

    @property
    def place(self) -> str:
        """`vision-a/compute`, or the name of a cluster-wide object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
