"""Computes and stores the findings of a cluster, day by day.

A day is one transaction: its windows as runs, the findings of all work that held GPUs on it, those
of its free time, and its digest. A killed run leaves complete days; the others stay due. Running
it twice changes nothing.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from itertools import groupby

from django.db import transaction
from django.utils import timezone

from accounting.core.interval import to_ms
from accounting.kit.failpoints import reach
from accounting.kit.locks import lock
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import Pod
from accounting.usage.reads.windows import free_nodes, free_windows, newest_end_ms
from scheduler_view.savings.mapping import runs_to_json
from scheduler_view.savings.models import HeldDay, WasteDay, WasteFinding
from scheduler_view.savings.reads.due_days import DueDay, due_days
from scheduler_view.savings.reads.free_time import ObservedDay, observed_day
from scheduler_view.savings.reads.setting_limits import limits_in_force
from scheduler_view.savings.reads.work import (
    UnitOfWork,
    first_kept_day,
    usual_pods,
    window_times,
    work_of,
)
from scheduler_view.savings.rules.find import find, merged, overlapping
from scheduler_view.savings.rules.finding import OF_FREE_TIME, OF_HOLDS, WasteRule
from scheduler_view.savings.rules.fragmentation import FreeWindows, fragmented
from scheduler_view.savings.rules.free_time import FreeWindow, NodeFree, free_findings
from scheduler_view.savings.rules.held_time import runs_by_pod
from scheduler_view.savings.tasks.daily import store_daily
from scheduler_view.savings.tasks.finding_rows import ROWS_AT_ONCE, finding_rows

RUNS_KEPT = timedelta(days=92)
FINDINGS_KEPT = timedelta(days=397)  # as hours of usage
UNITS_AT_ONCE = 200


def compute_due(cluster: Cluster, for_s: float = 300) -> int:
    """Compute the days that are due, newest first, for some time; returns how many."""
    stop = time.monotonic() + for_s
    count = 0
    for due in due_days(cluster, timezone.now()):
        compute_day(cluster, due)
        count += 1
        reach("waste_day_computed")
        if time.monotonic() >= stop:
            break
    _forget(cluster)
    return count


def compute_day(cluster: Cluster, due: DueDay) -> None:
    """Replace what is stored of one day, and the findings of all work that held GPUs on it."""
    with transaction.atomic():
        lock("waste", cluster.pk)
        pods = _store_runs(cluster, due)
        _store_held(cluster, pods)
        _store_free(cluster, due)
        store_daily(cluster, due, _until_ms(cluster))
        WasteDay.objects.update_or_create(
            cluster=cluster,
            day=due.day,
            defaults={
                "digest": due.digest,
                "computed_at": timezone.now(),
                "limits": limits_in_force(),
            },
        )
        reach("waste_day_computing")


def _store_runs(cluster: Cluster, due: DueDay) -> set[int]:
    """Replace the runs of a day; returns its pods, and those that it had before."""
    old = HeldDay.objects.filter(cluster=cluster, day=due.day)
    before = set(old.values_list("pod_id", flat=True))
    old.delete()
    windows = window_times(cluster, due.start, due.end)
    rows = [
        HeldDay(cluster=cluster, day=due.day, pod_id=pod, runs=runs_to_json(runs))
        for pod, runs in runs_by_pod(windows, due.day.toordinal())
    ]
    HeldDay.objects.bulk_create(rows, batch_size=ROWS_AT_ONCE)
    return before | {row.pod_id for row in rows}


def _store_held(cluster: Cluster, pods: Iterable[int]) -> None:
    """Replace the findings of the work units of pods, as far back as their runs are kept."""
    rows = Pod.objects.filter(pk__in=list(pods)).values_list("pk", "workload_id")
    alone = sorted(pod for pod, workload in rows if workload is None)
    workloads = sorted({workload for _, workload in rows if workload is not None})
    until_ms = _until_ms(cluster)
    since = first_kept_day(cluster)
    if since is None:
        return
    for numbers in _batches(workloads):
        stored = WasteFinding.objects.filter(
            cluster=cluster, day__gte=since, rule__in=OF_HOLDS
        )
        stored.filter(workload_id__in=numbers).delete()
        _insert(cluster, work_of(cluster, numbers, [], until_ms), since, until_ms)
    for numbers in _batches(alone):
        stored = WasteFinding.objects.filter(
            cluster=cluster, day__gte=since, rule__in=OF_HOLDS
        )
        stored.filter(workload=None, pod_id__in=numbers).delete()
        _insert(cluster, work_of(cluster, [], numbers, until_ms), since, until_ms)


def _insert(
    cluster: Cluster, found: Iterable[UnitOfWork], since: date, until_ms: int
) -> None:
    rows = []
    for work in found:
        found_in = merged(find(work.holds, work.gang, until_ms), WasteRule.IN_USE)
        for finding in [*found_in, *overlapping(work.holds, until_ms)]:
            for row in finding_rows(cluster, finding):
                row.workload_id, row.pod_id = work.workload, finding.subject
                if row.day >= since:
                    rows.append(row)
    WasteFinding.objects.bulk_create(rows, batch_size=ROWS_AT_ONCE)


def _store_free(cluster: Cluster, due: DueDay) -> None:
    """Replace the findings of a day's free time."""
    WasteFinding.objects.filter(
        cluster=cluster, day=due.day, rule__in=OF_FREE_TIME
    ).delete()
    classes = usual_pods(cluster, to_ms(due.end))
    bounds = to_ms(due.start), min(to_ms(due.end), _until_ms(cluster))
    day = due.day.toordinal()
    seen = observed_day(cluster, due.start, due.end)
    found = [
        finding
        for node, windows in _unobserved(cluster, due, seen).items()
        if (finding := fragmented(node, day, bounds, windows, classes)) is not None
    ]
    found += free_findings(_observed(cluster, due, seen), day, bounds, classes)
    rows = []
    for finding in found:
        of_pool = finding.rule in (WasteRule.POLICY, WasteRule.NOT_ALLOCATABLE)
        for row in finding_rows(cluster, finding):
            row.node_id = None if of_pool else finding.subject
            row.pool = seen.pools[finding.subject] if of_pool else ""
            rows.append(row)
    WasteFinding.objects.bulk_create(rows, batch_size=ROWS_AT_ONCE)


def _unobserved(
    cluster: Cluster, due: DueDay, seen: ObservedDay
) -> dict[int, list[FreeWindows]]:
    """The free windows of nodes of which only the ledger knows, by node."""
    by_node: dict[int, list[FreeWindows]] = {}
    for one in free_nodes(cluster.pk, due.start, due.end):
        if one.node not in seen.nodes:
            by_node.setdefault(one.node, []).append(
                FreeWindows(one.free_ms, one.windows, one.rate, one.currency)
            )
    return by_node


def _observed(cluster: Cluster, due: DueDay, seen: ObservedDay) -> Iterator[NodeFree]:
    """Nodes of which observations showed something, with their free windows."""
    found = free_windows(cluster.pk, due.start, due.end, seen.nodes)
    for node, windows in groupby(found, key=lambda one: one.node):
        known = seen.nodes[node]
        yield NodeFree(
            node,
            tuple(FreeWindow(one.start_ms, *one[3:]) for one in windows),
            tuple(known.policy),
            tuple(known.unused),
            tuple(known.kept),
            tuple(known.beside),
        )


def _until_ms(cluster: Cluster) -> int:
    """Up to which instant the time of a cluster is known."""
    if cluster.data_end_ms is not None:
        return cluster.data_end_ms
    return newest_end_ms(cluster.pk) or 0


def _forget(cluster: Cluster) -> None:
    """Drop runs and findings that are older than they are kept; counted back from the data."""
    days = WasteDay.objects.filter(cluster=cluster)
    newest = days.order_by("-day").values_list("day", flat=True).first()
    if newest is None:
        return
    HeldDay.objects.filter(cluster=cluster, day__lt=newest - RUNS_KEPT).delete()
    WasteFinding.objects.filter(
        cluster=cluster, day__lt=newest - FINDINGS_KEPT
    ).delete()
    days.filter(day__lt=newest - FINDINGS_KEPT).delete()


def _batches(numbers: Sequence[int]) -> Iterable[Sequence[int]]:
    for start in range(0, len(numbers), UNITS_AT_ONCE):
        yield numbers[start : start + UNITS_AT_ONCE]
