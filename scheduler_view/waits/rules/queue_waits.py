"""Why a queue of Kueue, Volcano or KAI has not let work in, and whether it ever can (S8).

The objects of queues decide where they may be read, else the words of Kueue in the Workload.
"""

import re
from dataclasses import replace

from scheduler_view.clusters.rules.optional_kinds import LOCAL_QUEUE
from scheduler_view.clusters.rules.schedulers.kueue import CLUSTER_QUEUE
from scheduler_view.waits.rules.cause import WaitCause
from scheduler_view.waits.rules.explanation import Evidence
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.placement.gpu_requests import is_gpu
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.queue_capacity import (
    QueueLimit,
    amount_of,
    busy_queue,
    kueue_limit,
    missing_quota,
    pod_sets,
    requested,
    tree_limit,
    unused_quota,
)
from scheduler_view.waits.rules.queue_holders import cluster_queue_of
from scheduler_view.waits.rules.units import WorkUnit
from scheduler_view.waits.rules.world.controllers import ControllerObject
from scheduler_view.waits.rules.world.lenient import milli
from scheduler_view.waits.rules.world.queues import TREES, QueueObject

KUEUE = "kueue.x-k8s.io/"
KUEUE_LABEL = f"{KUEUE}queue-name"
LONGEST = 4096  # characters of a message that are read
_ABSENT = re.compile(r"(LocalQueue|ClusterQueue) (\S+) doesn't exist")
_INACTIVE = re.compile(r"(LocalQueue|ClusterQueue) (\S+) is (?:inactive|stopped)")
_MORE = re.compile(r"quota for (\S+) in flavor ([^\s,]+), (\S+) more needed")
_NEVER = re.compile(
    r"quota for (\S+) in flavor ([^\s,]+), request > maximum capacity "
    r"\((\S+) > ([^\s)]+)\)"
)


def queued(index: WorldIndex, unit: WorkUnit, base: PodFinding) -> PodFinding:
    """The finding of work in a queue, `base`, whose name is that of the queue."""
    entries = sorted(unit.entries, key=lambda one: not one.is_held)
    entry = next((one for one in entries if one.scheduler), None)
    base = replace(base, cause=WaitCause.QUEUE, evidence=_words(entry) or base.evidence)
    if entry is not None and entry.scheduler in TREES:
        return _in_tree(index, unit, base, entry)
    if entry is not None or _is_of_kueue(unit):
        return _in_kueue(index, unit, base, entry)
    return base


def _is_of_kueue(unit: WorkUnit) -> bool:
    """Whether its label or a gate shows that its queue is one of Kueue."""
    labelled = (*((unit.top,) if unit.top else ()), *unit.makers, *unit.pods)
    return any(KUEUE_LABEL in one.labels for one in labelled) or any(
        gate.startswith(KUEUE) for pod in unit.pods for gate in pod.spec.gates
    )


def _words(entry: ControllerObject | None) -> tuple[Evidence, ...]:
    if entry is None or not entry.queue_message:
        return ()
    about = f"{entry.kind}/{entry.namespace}/{entry.name}"
    return (Evidence(about, "status.conditions.message", entry.queue_message),)


def _stated(base: PodFinding, cause: WaitCause, **facts: object) -> PodFinding:
    return replace(base, cause=cause, facts={**base.facts, **facts})


def _in_kueue(
    index: WorldIndex,
    unit: WorkUnit,
    base: PodFinding,
    entry: ControllerObject | None,
) -> PodFinding:
    words = entry.queue_message[:LONGEST] if entry is not None else ""
    if entry is not None and not entry.is_active:
        about = f"Workload/{entry.namespace}/{entry.name}"
        return _stated(base, WaitCause.QUEUE_DEACTIVATED, object=about)
    if entry is not None and entry.checks:
        name, state, said = entry.checks[0]
        about = f"Workload/{entry.namespace}/{entry.name}"
        evidence = Evidence(about, f"status.admissionChecks[{name}]", said or state)
        found = _stated(base, WaitCause.QUEUE_CHECK, check=name, state=state)
        return replace(found, evidence=(evidence,))
    local = index.queues.get((LOCAL_QUEUE, unit.namespace, base.name))
    fault = _fault_by_name(index, base, local, words, unit.namespace)
    if fault is not None:
        return fault
    behind = local.behind if local is not None else ""
    behind = behind or cluster_queue_of(index, unit, base.name)
    cluster = index.queues.get((CLUSTER_QUEUE, "", behind)) if behind else None
    base = _stated(
        base, WaitCause.QUEUE, **({"cluster_queue": behind} if behind else {})
    )
    if cluster is None:
        subject = f"{CLUSTER_QUEUE}/{behind}"
        if index.let_in.get(subject):
            base = _stated(base, WaitCause.QUEUE, ends_in=subject)
        return _by_words(index, base, words)
    return _of_cluster_queue(index, unit, base, cluster, words)


def _fault_by_name(
    index: WorldIndex,
    base: PodFinding,
    local: QueueObject | None,
    words: str,
    namespace: str,
) -> PodFinding | None:
    """A queue that does not exist or is stopped."""
    missing = ""
    if local is not None:
        if local.stopped:
            return _stopped(base, local)
        if (CLUSTER_QUEUE, "", local.behind) in index.queues:
            return None
        if CLUSTER_QUEUE not in index.world.unread:
            missing = f"ClusterQueue/{local.behind}"
    elif base.name and LOCAL_QUEUE not in index.world.unread:
        missing = f"LocalQueue/{namespace}/{base.name}"
    if not missing and (found := _ABSENT.search(words)):
        place = f"{namespace}/" if found[1] == LOCAL_QUEUE else ""
        missing = f"{found[1]}/{place}{found[2]}"
    if not missing:
        return None
    others = sorted(
        one.name
        for one in index.queues.values()
        if one.kind == LOCAL_QUEUE and one.namespace == namespace and not one.stopped
    )
    others = others if missing.startswith(LOCAL_QUEUE) else []
    more = {"others": others} if others else {}
    return _stated(base, WaitCause.QUEUE_MISSING, object=missing, **more)


def _stopped(base: PodFinding, queue: QueueObject) -> PodFinding:
    return _stated(
        base, WaitCause.QUEUE_STOPPED, object=queue.subject, policy=queue.stopped
    )


def _of_cluster_queue(
    index: WorldIndex,
    unit: WorkUnit,
    base: PodFinding,
    queue: QueueObject,
    words: str,
) -> PodFinding:
    if queue.stopped:
        return _stopped(base, queue)
    if queue.inactive_reason:
        stopped = _stated(
            base,
            WaitCause.QUEUE_STOPPED,
            object=queue.subject,
            inactive=queue.inactive_reason,
        )
        said = Evidence(
            queue.subject, "status.conditions[Active]", queue.inactive_message
        )
        evidence = (said, *base.evidence) if said.text else base.evidence
        return replace(stopped, evidence=evidence)
    own = index.world.namespaces.get(unit.namespace)
    if own is not None and not (queue.namespaces and queue.namespaces.matches(own)):
        return _stated(
            base,
            WaitCause.QUEUE_STOPPED,
            object=queue.subject,
            namespace=unit.namespace,
        )
    sets = pod_sets(unit)
    may_shrink = any(one.may_be_partial for one in unit.entries)
    limit = None if may_shrink else kueue_limit(index, queue, sets)
    if limit is not None:
        return _limited(index, base, WaitCause.QUEUE_LIMIT, limit)
    if found := _MORE.search(words):
        resource, flavor, more = found[1], found[2], milli(found[3]) or 0
        need = requested(sets).get(resource, 0)
        limit = missing_quota(index, queue, resource, flavor, more, need)
    else:
        names = [n for n in requested(sets) if is_gpu(n, index.world.added)]
        limit = unused_quota(index, queue, sets, names[0]) if len(names) == 1 else None
    if limit is not None:
        return _limited(index, base, WaitCause.QUEUE, limit)
    busy = busy_queue(index, queue, requested(sets))
    return _stated(base, WaitCause.QUEUE, ends_in=busy) if busy else base


def _by_words(index: WorldIndex, base: PodFinding, words: str) -> PodFinding:
    """Where the ClusterQueue may not be read."""
    if found := _INACTIVE.search(words):
        return _stated(base, WaitCause.QUEUE_STOPPED, object="/".join(found.groups()))
    if found := _NEVER.search(words):
        need, most = milli(found[3]) or 0, milli(found[4]) or 0
        return _stated(
            base,
            WaitCause.QUEUE_LIMIT,
            limit={
                "resource": found[1],
                "flavor": found[2],
                "requested": amount_of(index, found[1], need),
                "most": amount_of(index, found[1], most),
            },
        )
    return base


def _in_tree(
    index: WorldIndex, unit: WorkUnit, base: PodFinding, entry: ControllerObject
) -> PodFinding:
    """In a queue of Volcano or KAI: these belong to no namespace."""
    kind = TREES[entry.scheduler]
    base = _stated(base, WaitCause.QUEUE, scheduler=entry.scheduler)
    queue = index.queues.get((kind, "", base.name))
    if queue is None:
        is_reported = entry.queue_reason == "QueueDoesNotExist"
        if base.name and (is_reported or kind not in index.world.unread):
            return _stated(base, WaitCause.QUEUE_MISSING, object=f"Queue/{base.name}")
        return base
    if queue.stopped:
        return _stopped(base, queue)
    need = dict(entry.least) or requested(pod_sets(unit))
    by_quota = entry.queue_reason == "NonPreemptibleOverQuota"
    limit = tree_limit(index, queue, need, by_quota=by_quota)
    if limit is None:
        return base
    cause = WaitCause.QUEUE_LIMIT if limit.is_for_ever else WaitCause.QUEUE
    return _limited(index, base, cause, limit)


def _limited(
    index: WorldIndex, base: PodFinding, cause: WaitCause, limit: QueueLimit
) -> PodFinding:
    def amount(thousandths: int) -> int | float | str:
        return amount_of(index, limit.resource, thousandths)

    facts: dict[str, object] = {
        "queue": limit.queue.subject,
        "resource": limit.resource,
        "requested": amount(limit.requested),
        "most": amount(limit.most),
        "more": amount(limit.more),
    }
    if limit.flavor:
        facts["flavor"] = limit.flavor
    if limit.field:
        facts |= {
            "object": limit.queue.kind,
            "field": limit.field,
            "to": amount(limit.value + limit.more),
        }
    ends = {"ends_in": limit.ends_in} if limit.ends_in else {}
    return _stated(base, cause, limit=facts, **ends)
