"""How much a queue can let in at most, and how much work in it requests (scheduling.md S8)."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from scheduler_view.clusters.rules.optional_kinds import COHORT, KAI_QUEUE
from scheduler_view.clusters.rules.schedulers.kueue import CLUSTER_QUEUE
from scheduler_view.waits.rules.placement.gpu_requests import is_gpu
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.units import WorkUnit
from scheduler_view.waits.rules.world.lenient import quantity
from scheduler_view.waits.rules.world.pod_spec import PodSpec
from scheduler_view.waits.rules.world.queues import KAI_GPUS, FlavorQuota, QueueObject

Sets = tuple[tuple[int, PodSpec], ...]


@dataclass(frozen=True, slots=True)
class QueueLimit:
    """A limit of a queue that keeps work back; amounts in thousandths.

    Attributes:
        queue: that has the limit: the queue of the work, or one above it.
        field: of the queue, as change sets name it; empty if none is known that helps.
        most: what work of this queue may ever have together.
        value: of the field.
        more: by how much the field must be larger for the work to be let in.
        ends_in: the subject of the queue, or of its cohort, in which so much is used that the end
            of work there is enough; empty if it is not.
    """

    queue: QueueObject
    resource: str
    requested: int
    most: int
    field: str = ""
    value: int = 0
    more: int = 0
    flavor: str = ""
    ends_in: str = ""

    @property
    def is_for_ever(self) -> bool:
        """Whether the work would not fit even if nothing else were in the queue."""
        return self.requested > self.most


def amount_of(index: WorldIndex, resource: str, thousandths: int) -> int | float | str:
    """GPUs as a number, other resources as a quantity."""
    if resource != KAI_GPUS and not is_gpu(resource, index.world.added):
        return quantity(thousandths)
    whole, rest = divmod(thousandths, 1000)
    return thousandths / 1000 if rest else whole


def pod_sets(unit: WorkUnit) -> Sets:
    """How many pods a unit asks its queue for, and what each requires."""
    entry = next((one for one in unit.entries if one.pod_sets), None)
    if entry is not None:
        return entry.pod_sets
    found = tuple((n, one.template) for one, n in unit.missing if one.template)
    size = unit.gang_size
    if found or not unit.pods:
        return found
    return ((size or len(unit.pods), unit.pods[0].spec),)


def requested(sets: Sets) -> dict[str, int]:
    """Thousandths of each resource that all pods request together."""
    found: dict[str, int] = {}
    for count, spec in sets:
        for name, amount in spec.requests:
            found[name] = found.get(name, 0) + count * amount
    return found


def kueue_limit(index: WorldIndex, queue: QueueObject, sets: Sets) -> QueueLimit | None:
    """The GPU quota of a ClusterQueue that is too small for some pods; None if none is known."""
    for count, spec in sets:
        for resource, amount in spec.requests:
            if not is_gpu(resource, index.world.added) or not amount:
                continue
            own = [one for one in queue.flavors if one.resource == resource]
            need = count * amount
            if not own:
                return QueueLimit(queue, resource, need, 0)
            most = {one: _most(index, queue, one) for one in own}
            known = [one for one in most.values() if one is not None]
            if len(known) == len(own) and need > max(known):
                best = max(own, key=lambda one: most[one] or 0)
                return _raised(queue, best, need, max(known))
    return None


def _raised(
    queue: QueueObject,
    quota: FlavorQuota,
    need: int,
    most: int,
    more: int | None = None,
) -> QueueLimit:
    """Without `more`: so that its own unused quota is enough."""
    unused = quota.nominal - quota.used
    return QueueLimit(
        queue,
        quota.resource,
        need,
        most,
        f"{quota.flavor}/{quota.resource}/nominalQuota",
        quota.nominal,
        need - unused if more is None else more,
        quota.flavor,
    )


def missing_quota(
    index: WorldIndex,
    queue: QueueObject,
    resource: str,
    flavor: str,
    more: int,
    need: int,
) -> QueueLimit | None:
    """The quota of which Kueue reports that more is needed; None if the queue has no such one."""
    for one in queue.flavors:
        if (one.flavor, one.resource) == (flavor, resource):
            ends = _ends_in(index, queue, one, more, need)
            return replace(_raised(queue, one, need, need, more), ends_in=ends)
    return None


def _ends_in(
    index: WorldIndex, queue: QueueObject, own: FlavorQuota, more: int, need: int
) -> str:
    """Its own work, else that of its cohort where it may borrow what others have of the quota."""
    if more <= own.used:
        return queue.subject
    limit = None if own.borrowing is None else own.nominal + own.borrowing - own.used
    if not queue.behind or (limit is not None and need > limit):
        return ""
    others = sum(
        one.used_of_others
        for other in _cohort(index, queue)
        for one in other.flavors
        if (one.flavor, one.resource) == (own.flavor, own.resource)
    )
    return cohort_of(index, queue) if more <= own.used + others else ""


def busy_queue(
    index: WorldIndex, queue: QueueObject, resources: Collection[str]
) -> str:
    """The subject of a ClusterQueue that uses some of these, else of its cohort that does."""
    if any(one.used for one in queue.flavors if one.resource in resources):
        return queue.subject
    is_used = any(
        one.used_of_others
        for other in (_cohort(index, queue) if queue.behind else ())
        for one in other.flavors
        if one.resource in resources
    )
    return cohort_of(index, queue) if is_used else ""


def unused_quota(
    index: WorldIndex, queue: QueueObject, sets: Sets, resource: str
) -> QueueLimit | None:
    """The same without Kueue's words, for a queue without a cohort and with one flavor."""
    own = [one for one in queue.flavors if one.resource == resource]
    need = requested(sets).get(resource, 0)
    if len(own) != 1 or queue.behind or not need:
        return None
    more = need - (own[0].nominal - own[0].used)
    return (
        missing_quota(index, queue, resource, own[0].flavor, more, need)
        if more > 0
        else None
    )


def _most(index: WorldIndex, queue: QueueObject, own: FlavorQuota) -> int | None:
    """What a ClusterQueue may ever have of a flavor: its own and what it may borrow."""
    if not queue.behind:
        return own.nominal
    limit = None if own.borrowing is None else own.nominal + own.borrowing
    if COHORT in index.world.unread:
        return limit
    others = sum(
        one.lent
        for other in _cohort(index, queue)
        for one in other.flavors
        if (one.flavor, one.resource) == (own.flavor, own.resource)
    )
    most = own.nominal + others
    return most if limit is None else min(most, limit)


def cohort_of(index: WorldIndex, queue: QueueObject) -> str:
    """The subject of the highest cohort above a ClusterQueue."""
    return f"{COHORT}/{_root(queue.behind, _parents(index))}"


def in_cohort(index: WorldIndex, subject: str) -> Iterator[QueueObject]:
    """All queues and cohorts of a tree, by the subject of its highest cohort."""
    parents, root = _parents(index), subject.partition("/")[2]
    for one in index.queues.values():
        if one.kind == CLUSTER_QUEUE:
            if one.behind and _root(one.behind, parents) == root:
                yield one
        elif one.kind == COHORT and _root(one.name, parents) == root:
            yield one


def _cohort(index: WorldIndex, queue: QueueObject) -> Iterator[QueueObject]:
    """All other queues and cohorts of the tree that a ClusterQueue borrows from."""
    found = in_cohort(index, cohort_of(index, queue))
    return (one for one in found if one is not queue)


def _parents(index: WorldIndex) -> dict[str, str]:
    return {one.name: one.behind for one in index.queues.values() if one.kind == COHORT}


def _root(name: str, parents: Mapping[str, str]) -> str:
    seen = {name}
    while parents.get(name) and parents[name] not in seen:
        name = parents[name]
        seen.add(name)
    return name


def tree_limit(
    index: WorldIndex, queue: QueueObject, need: Mapping[str, int], *, by_quota: bool
) -> QueueLimit | None:
    """The limit of a queue of Volcano or KAI, or of one above it, that is too small.

    Args:
        need: thousandths by resource.
        by_quota: KAI's quota counts, not its limit: the work may not be preempted.
    """
    found: list[QueueLimit] = []
    above = index.upward(queue.kind, queue.name)
    for one in (index.queues[queue.kind, "", name] for name in above):
        amounts = one.quotas if by_quota else one.limits
        for resource, most in amounts.items():
            wanted = _need_of(index, one, resource, need)
            used = one.used.get(resource, _used_gpus(index, one))
            more = wanted - (most - used)
            if wanted and more > 0:
                field = _tree_field(one, resource, by_quota=by_quota)
                ends = one.subject if more <= used else ""
                found.append(
                    QueueLimit(
                        one, resource, wanted, most, field, most, more, ends_in=ends
                    )
                )
    return max(found, key=lambda one: (one.is_for_ever, one.more), default=None)


def _used_gpus(index: WorldIndex, queue: QueueObject) -> int:
    if queue.kind != KAI_QUEUE:
        return 0
    added = index.world.added
    return sum(n for name, n in queue.used.items() if is_gpu(name, added))


def _need_of(
    index: WorldIndex, queue: QueueObject, resource: str, need: Mapping[str, int]
) -> int:
    added = index.world.added
    if queue.kind == KAI_QUEUE and resource == KAI_GPUS:
        return sum(n for name, n in need.items() if is_gpu(name, added))
    return need.get(resource, 0) if is_gpu(resource, added) else 0


def _tree_field(queue: QueueObject, resource: str, *, by_quota: bool) -> str:
    if queue.kind == KAI_QUEUE:
        return "gpu/quota" if by_quota else "gpu/limit"
    return f"{resource}/capability"
