"""Checks of rolled-up hours: time without a price or a team, and whole clusters."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from typing import Any

from django.db import connection

from accounting.access.reads.billing_settings import midnight
from accounting.core.interval import DAY_MS, Interval, to_ms
from accounting.core.issue import Issue
from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import DataIssue
from accounting.metering.reads.data_health.cluster_issues import (
    sampled_after,
    shared_gpus,
    silence,
)
from accounting.metering.reads.data_health.missing_gpus import (
    NodeTime,
    never_sampled,
    without_gpus,
)
from accounting.metering.sql.states_sql import held, wall
from accounting.metering.tasks.data_issues import record
from accounting.metering.tasks.data_issues.events import HoursRolledUp

UNPRICED, UNMAPPED = "unpriced_gpu", "unmapped_namespace"
WITHOUT, UNSAMPLED = "hold_without_gpus", "gpu_never_sampled"
SILENT, AFTER, SHARED = "cluster_silent", "sampled_after_retired", "gpu_in_two_clusters"
RECENT_MS = 31 * DAY_MS
Finder = Callable[[Interval, int], list[NodeTime]]
_UNPRICED = f"""
    SELECT model, min(billing_on), max(billing_on), sum({wall()})::bigint
    FROM usage_day WHERE cluster_id = %(cluster)s AND (price_id = 0 OR gpu_price_id = 0)
    GROUP BY model
"""
_UNMAPPED = f"""
    SELECT n.name, u.first, u.last, u.stake,
           u.last < (SELECT max(billing_on) FROM usage_day WHERE cluster_id = %(cluster)s),
           EXISTS (SELECT FROM usage_day d
                   WHERE d.cluster_id = %(cluster)s AND d.namespace_id = u.namespace_id
                     AND d.team_id <> 0 AND d.billing_on > u.last)
    FROM (
        SELECT namespace_id, min(billing_on) AS first, max(billing_on) AS last,
               sum({held()})::bigint AS stake
        FROM usage_day
        WHERE cluster_id = %(cluster)s AND team_id = 0 AND namespace_id <> 0
        GROUP BY namespace_id
    ) u JOIN accounting_namespace n ON n.id = u.namespace_id
"""


def unpriced(event: HoursRolledUp) -> Iterable[Issue]:
    """GPU models with time that no price matches."""
    for model, first, last, stake in _rows(_UNPRICED, event):
        yield Issue(
            code=UNPRICED,
            subject=model or "no model",
            message="No price matches.",
            first_ms=_first_ms(first),
            last_ms=_last_ms(last),
            at_stake_ms=stake,
            severity="error",
        )


def unmapped(event: HoursRolledUp) -> Iterable[Issue]:
    """Namespaces whose held time has no team, now or before a day that has ended."""
    for name, first, last, stake, is_over, is_mapped in _rows(_UNMAPPED, event):
        yield Issue(
            code=UNMAPPED,
            subject=name,
            message=_before(last, is_mapped=is_mapped)
            if is_over
            else "No attribution rule maps this namespace to a team.",
            first_ms=_first_ms(first),
            last_ms=_last_ms(last),
            at_stake_ms=stake,
            severity="info" if is_over else "warning",
        )


def _before(last: date, *, is_mapped: bool) -> str:
    usage = f"Its usage before {last + timedelta(days=1):%-d %b %Y} has no team"
    if is_mapped:
        return f"{usage}; its later usage has one."
    return f"{usage}. It has not used GPUs since."


def _rows(query: str, event: HoursRolledUp) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, {"cluster": event.cluster_id})
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _first_ms(day: date) -> int:
    return to_ms(midnight(day))


def _last_ms(day: date) -> int:
    """Where a billing day ends; now, if it has not ended."""
    return to_ms(min(midnight(day + timedelta(days=1)), database_now()))


def silent_cluster(event: HoursRolledUp) -> Iterable[Issue]:
    """A live source that responds and no longer reports samples (N38)."""
    cluster = Cluster.objects.get(pk=event.cluster_id)
    if cluster.retired_at is not None:
        return
    found = silence(cluster.pk)
    if found is not None:
        yield Issue(
            code=SILENT,
            subject=cluster.name,
            message=f"{found.gpus} GPUs are present but no longer reported. Their time counts as "
            f"dark, at full price.",
            first_ms=found.period.start_ms,
            last_ms=found.period.end_ms,
            at_stake_ms=found.at_stake_ms,
            severity="error",
        )


def sampled_after_retired(event: HoursRolledUp) -> Iterable[Issue]:
    """Samples after the end of a cluster (N38)."""
    cluster = Cluster.objects.get(pk=event.cluster_id)
    if cluster.retired_at is None:
        return
    found = sampled_after(cluster.pk, to_ms(cluster.retired_at))
    if found is not None:
        yield Issue(
            code=AFTER,
            subject=cluster.name,
            message=f"Retired {cluster.retired_at:%Y-%m-%d %H:%M:%S} UTC, and {found.gpus}"
            " GPUs were sampled after that time, which is not booked.",
            first_ms=found.period.start_ms,
            last_ms=found.period.end_ms,
            at_stake_ms=found.at_stake_ms,
            severity="error",
        )


def gpus_of_two_clusters(event: HoursRolledUp) -> Iterable[Issue]:
    """GPUs that other clusters have at the same time (N39)."""
    for shared in shared_gpus(event.cluster_id):
        yield Issue(
            code=SHARED,
            subject=shared.uuid,
            message=f"It is also in {', '.join(shared.others)} at the same time. That time is "
            f"booked in each cluster.",
            first_ms=shared.period.start_ms,
            last_ms=shared.period.end_ms,
            at_stake_ms=shared.at_stake_ms,
            severity="error",
        )


def missing_gpus(event: HoursRolledUp) -> Iterable[Issue]:
    """Nodes without GPUs that pods hold, and nodes with GPUs that were never sampled.

    Of the last 31 days with data; a node without the fault for a day is not listed any more, so
    that most runs read one day.
    """
    end_ms = Cluster.objects.get(pk=event.cluster_id).data_end_ms
    if end_ms is None:
        return
    recent = Interval(max(0, end_ms - RECENT_MS), end_ms)
    day = Interval(max(0, end_ms - DAY_MS), end_ms)

    def lately(find: Finder) -> list[NodeTime]:
        now = {found.node for found in find(day, event.cluster_id)}
        every = find(recent, event.cluster_id) if now else []
        return [found for found in every if found.node in now]

    for found in lately(without_gpus):
        pods = "1 pod" if found.number == 1 else f"{found.number} pods"
        yield _of_node(
            WITHOUT,
            found,
            f"{pods} held GPUs there, but kube-state-metrics shows none of this node.",
        )
    for found in lately(never_sampled):
        what = "GPU" if found.of == 1 else "GPUs"
        yield _of_node(
            UNSAMPLED,
            found,
            f"{found.number} of {found.of} {what} of this node were never sampled.",
        )


def _of_node(code: str, found: NodeTime, message: str) -> Issue:
    return Issue(
        code=code,
        subject=found.node,
        message=message,
        first_ms=found.period.start_ms,
        last_ms=found.period.end_ms,
        at_stake_ms=found.ms,
        severity="error",
    )


def store(event: HoursRolledUp, found: Sequence[Issue]) -> None:
    """Make the open issues of these checks the found ones, also in clusters that share GPUs."""
    cluster_id = event.cluster_id
    by_code: dict[str, list[Issue]] = {
        code: []
        for code in (UNPRICED, UNMAPPED, WITHOUT, UNSAMPLED, SILENT, AFTER, SHARED)
    }
    for issue in found:
        by_code[issue.code].append(issue)
    for code in (UNPRICED, UNMAPPED):
        record.resolve_others(cluster_id, code, by_code[code])
        record.record(cluster_id, by_code[code])
    for code in (SILENT, AFTER, WITHOUT, UNSAMPLED):
        record.replace(cluster_id, (code,), by_code[code])
    before = set(
        DataIssue.objects.filter(code=SHARED, resolved_at__isnull=True).values_list(
            "cluster_id", flat=True
        )
    )
    if not by_code[SHARED] and not before:
        return
    record.replace(cluster_id, (SHARED,), by_code[SHARED])
    names = {name for shared in shared_gpus(cluster_id) for name in shared.others}
    others = Cluster.objects.filter(name__in=names).values_list("pk", flat=True)
    for other in sorted({*others, *before} - {cluster_id}):
        record.replace(other, (SHARED,), gpus_of_two_clusters(HoursRolledUp(other)))
