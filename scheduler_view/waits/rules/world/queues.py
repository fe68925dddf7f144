"""Queues of Kueue, Volcano and KAI as observed: what they let in at most, and whether they do.

Sources: the definitions of their objects. Kueue: `stopPolicy`, the condition `Active`. Volcano:
`status.state`, `capability`. KAI: `limit` and `quota`, in GPUs of any kind; -1: without a limit.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil

from scheduler_view.clusters.rules.optional_kinds import (
    COHORT,
    KAI_QUEUE,
    LOCAL_QUEUE,
    VOLCANO_QUEUE,
)
from scheduler_view.clusters.rules.schedulers.kueue import CLUSTER_QUEUE
from scheduler_view.waits.rules.world.lenient import (
    Manifest,
    amounts,
    items,
    milli,
    part,
    text,
)
from scheduler_view.waits.rules.world.selectors import LabelSelector, label_selector

TREES = {"volcano": VOLCANO_QUEUE, "kai": KAI_QUEUE}
"""The kind of the queues of a scheduler that belong to no namespace and have others above."""
KAI_GPUS = "gpu"  # its queues count GPUs of any kind
_STOPPED = frozenset({"Hold", "HoldAndDrain", "Closed", "Closing"})


@dataclass(frozen=True, slots=True)
class FlavorQuota:
    """What a ClusterQueue or a Cohort has of one resource in one flavor, in thousandths.

    Attributes:
        borrowing, lending: None without a limit.
        used: what admitted work has reserved.
    """

    flavor: str
    resource: str
    nominal: int
    borrowing: int | None = None
    lending: int | None = None
    used: int = 0

    @property
    def lent(self) -> int:
        """What others of the cohort may use at most."""
        return self.nominal if self.lending is None else min(self.nominal, self.lending)

    @property
    def used_of_others(self) -> int:
        """What becomes free for others of the cohort when its own work ends."""
        return max(0, self.used - (self.nominal - self.lent))


@dataclass(frozen=True, slots=True)
class QueueObject:
    """One queue.

    Attributes:
        behind: the ClusterQueue of a LocalQueue; its cohort; the parent of any other.
        stopped: why it lets nothing in, as an administrator set it; empty if it does.
        inactive_reason, inactive_message: why Kueue reports that it is not active.
        flavors: of a ClusterQueue or a Cohort.
        namespaces: whose work a ClusterQueue lets in; None for no namespace.
        limits: Volcano's `capability`, KAI's `limit`; thousandths by resource.
        quotas: KAI's `quota`, above which only preemptible work is let in.
        used: of Volcano and KAI, what its work has.
    """

    kind: str
    namespace: str
    name: str
    behind: str = ""
    stopped: str = ""
    inactive_reason: str = ""
    inactive_message: str = ""
    flavors: tuple[FlavorQuota, ...] = ()
    namespaces: LabelSelector | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    quotas: Mapping[str, int] = field(default_factory=dict)
    used: Mapping[str, int] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """`LocalQueue/lab/batch`; `ClusterQueue/large`; `Queue/research` of Volcano and KAI."""
        kind = "Queue" if self.kind in (VOLCANO_QUEUE, KAI_QUEUE) else self.kind
        place = f"{self.namespace}/" if self.kind == LOCAL_QUEUE else ""
        return f"{kind}/{place}{self.name}"


def queue_object(kind: str, manifest: Manifest) -> QueueObject:
    """A queue from the API server's JSON."""
    spec, status = part(manifest, "spec"), part(manifest, "status")
    stop = text(spec, "stopPolicy") or text(status, "state")
    inactive = _inactive(status)
    is_kai = kind == KAI_QUEUE
    return QueueObject(
        kind=kind,
        namespace=text(manifest, "metadata", "namespace"),
        name=text(manifest, "metadata", "name"),
        behind=_behind(kind, spec),
        stopped=stop if stop in _STOPPED else "",
        inactive_reason=text(inactive, "reason"),
        inactive_message=text(inactive, "message"),
        flavors=tuple(_flavors(spec, status)),
        namespaces=label_selector(spec.get("namespaceSelector")),
        limits=_kai(spec, "limit") if is_kai else amounts(spec, "capability"),
        quotas=_kai(spec, "quota") if is_kai else {},
        used=amounts(status, "allocated"),
    )


_PARENTS = {
    LOCAL_QUEUE: ("clusterQueue",),
    CLUSTER_QUEUE: ("cohortName", "cohort"),  # v1beta1: `cohort`
    COHORT: ("parentName", "parent"),
    VOLCANO_QUEUE: ("parent",),
    KAI_QUEUE: ("parentQueue",),
}


def _behind(kind: str, spec: Manifest) -> str:
    return next((text(spec, name) for name in _PARENTS[kind] if text(spec, name)), "")


def _inactive(status: Manifest) -> Manifest:
    for one in items(status, "conditions"):
        if text(one, "type") == "Active" and text(one, "status") == "False":
            return one
    return {}


def _flavors(spec: Manifest, status: Manifest) -> Iterator[FlavorQuota]:
    used = {
        (text(flavor, "name"), text(one, "name")): milli(one.get("total")) or 0
        for flavor in items(status, "flavorsReservation")
        for one in items(flavor, "resources")
    }
    for group in items(spec, "resourceGroups"):
        for flavor in items(group, "flavors"):
            for one in items(flavor, "resources"):
                key = text(flavor, "name"), text(one, "name")
                yield FlavorQuota(
                    *key,
                    milli(one.get("nominalQuota")) or 0,
                    milli(one.get("borrowingLimit")),
                    milli(one.get("lendingLimit")),
                    used.get(key, 0),
                )


def _kai(spec: Manifest, name: str) -> dict[str, int]:
    """A number of GPUs; none if it is not limited or not set."""
    value = part(spec, "resources", "gpu").get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return {}
    return {KAI_GPUS: ceil(value * 1000)} if value < 1e12 else {}
