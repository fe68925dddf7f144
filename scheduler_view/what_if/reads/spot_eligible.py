"""Which workloads of recorded weeks may run on spot nodes, by the rule of waste (S31)."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Protocol

from accounting.metering.models.cluster import Cluster
from scheduler_view.savings.reads.on_demand import spot_limits
from scheduler_view.savings.reads.past_waits import backoff_limits_of
from scheduler_view.savings.rules.gangs import GangMember, most_at_once
from scheduler_view.savings.rules.sizing.spot import SpotWork, may_run_on_spot


class WorkHold(Protocol):
    """A hold of a pod of a workload; `workload` is 0 without one."""

    @property
    def namespace(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def workload(self) -> int: ...
    @property
    def workload_name(self) -> str: ...
    @property
    def workload_type(self) -> str: ...
    @property
    def bound_ms(self) -> int: ...
    @property
    def ended_ms(self) -> int | None: ...


def spot_eligible(
    cluster: Cluster, holds: Iterable[WorkHold], until_ms: int
) -> set[tuple[int, str]]:
    """Workloads and their types, of which all pods may be interrupted; one query.

    Args:
        holds: of these weeks, only they are considered.
        until_ms: the instant up to which holds are known.
    """
    by_work: dict[tuple[int, str], list[WorkHold]] = defaultdict(list)
    for hold in holds:
        if hold.workload:
            by_work[hold.workload, hold.workload_type].append(hold)
    names = {own[0].workload_name for own in by_work.values() if own[0].kind == "Job"}
    limits = backoff_limits_of(cluster, names)
    found, most = set(), spot_limits()
    for key, own in by_work.items():
        first = own[0]
        ends = [min(until_ms, hold.ended_ms or until_ms) for hold in own]
        spans = [
            (hold.bound_ms, max(hold.bound_ms, end))
            for hold, end in zip(own, ends, strict=True)
        ]
        work = SpotWork(
            first.workload,
            first.kind,
            first.workload_type,
            limits.get((first.kind, first.namespace, first.workload_name)),
            most_at_once(GangMember(0, begin, end) for begin, end in spans),
            max(end - begin for begin, end in spans),
        )
        if may_run_on_spot(work, most):
            found.add(key)
    return found
