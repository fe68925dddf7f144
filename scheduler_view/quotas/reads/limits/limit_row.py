"""One limit of GPUs in one cluster, of GPU Ledger or of others."""

from enum import StrEnum

from accounting.kit.rows import OffsetInstant, TextOrNull, column, listed
from scheduler_view.clusters.rules.drift_state import DriftState
from scheduler_view.clusters.rules.live_objects import QUOTA


def edit_key(cluster: str, kind: str, namespace: str, what: str) -> str:
    """`north ResourceQuota vision-a nvidia.com/gpu`."""
    return f"{cluster} {kind} {namespace} {what}"


class LimitGroup(StrEnum):
    """The table of the page that has a limit."""

    NAMESPACES = "namespaces"  # quotas and LimitRanges
    CLASSES = "classes"  # of priority
    QUEUES = "queues"


@listed("LimitRow")
class LimitRow:
    """One number that limits GPUs, or one priority class.

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

    cluster: str = column()
    group: LimitGroup = column(choices=LimitGroup)
    kind: str = column("of the object, as in plans")
    namespace: TextOrNull = column("null for objects of the whole cluster", default="")
    name: str = column()
    team: TextOrNull = column("of the namespace", default="")
    resource: TextOrNull = column(
        "null for GPUs of any kind and priorities", default=""
    )
    part: TextOrNull = column("flavor, or the pods that it counts", default="")
    limit: TextOrNull = column("units, `unlimited`, or a priority", default="")
    used: TextOrNull = column(
        "as its controller reports; null if not reported", head="In use", default=""
    )
    borrowed: TextOrNull = column("units above its quota", default="")
    lent: TextOrNull = column(
        "units of its quota in use by others: `4`, `2 to 4`", default=""
    )
    may_borrow: TextOrNull = column("null if it has no such limit", default="")
    may_lend: TextOrNull = column("null if it has no such limit", default="")
    waiting: int | None = column("workloads that are not admitted", default=None)
    parent: TextOrNull = column(
        "the queue or cohort that it belongs to", name="above", default=""
    )
    preempts: bool | None = column(
        "of a priority class; null for other kinds", default=None
    )
    is_default: bool = column("class of pods that name none", default=False)
    set_by: TextOrNull = column("who set the limit; null if not known", default="")
    set_at: OffsetInstant | None = column(default=None)
    change: int = column("change set that set it; 0 if none did", default=0)
    state: str = column(
        "compared with the desired state at the last observation",
        name="sync",
        head="Compared with GPU Ledger",
        choices=[*(one.value for one in DriftState), "not_compared"],
        default=DriftState.NOT_MANAGED,
    )
    text: TextOrNull = column("what differs, and who holds what waits", default="")
    adopts: bool = column("GPU Ledger can take it over", default=False)
    why_not: TextOrNull = column("why it cannot be taken over", default="")
    seen_at: OffsetInstant | None = column(default=None)
    team_name: str = ""
    depth: int = 0

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
