"""Checks of rolled-up hours: time without a price or a team, and whole clusters."""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Any

from django.db import connection

from accounting.domain.core.interval import to_ms
from accounting.domain.core.issue import Issue
from accounting.ingest.data_issues import record
from accounting.ingest.data_issues.events import HoursRolledUp
from accounting.models import Cluster, DataIssue
from accounting.queries.data_health.cluster_issues import (
    sampled_after,
    shared_gpus,
    silence,
)
from accounting.queries.database_clock import database_now
from accounting.rating.billing_settings import midnight
from accounting.rating.states_sql import held, wall

UNPRICED, UNMAPPED = "unpriced_gpu", "unmapped_namespace"
SILENT, AFTER, SHARED = "cluster_silent", "sampled_after_retired", "gpu_in_two_clusters"
_UNPRICED = f"""
    SELECT model, min(billing_on), max(billing_on), sum({wall()})::bigint
    FROM usage_day WHERE cluster_id = %s AND (price_id = 0 OR gpu_price_id = 0)
    GROUP BY model
"""
_UNMAPPED = f"""
    SELECT n.name, min(d.billing_on), max(d.billing_on), sum({held("d")})::bigint
    FROM usage_day d JOIN accounting_namespace n ON n.id = d.namespace_id
    WHERE d.cluster_id = %s AND d.team_id = 0 AND d.namespace_id <> 0 GROUP BY n.name
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
    """Namespaces whose held time has no team."""
    for name, first, last, stake in _rows(_UNMAPPED, event):
        yield Issue(
            code=UNMAPPED,
            subject=name,
            message="No attribution rule maps this namespace to a team.",
            first_ms=_first_ms(first),
            last_ms=_last_ms(last),
            at_stake_ms=stake,
        )


def _rows(query: str, event: HoursRolledUp) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, [event.cluster_id])
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


def store(event: HoursRolledUp, found: Sequence[Issue]) -> None:
    """Make the open issues of these checks the found ones, also in clusters that share GPUs."""
    cluster_id = event.cluster_id
    by_code: dict[str, list[Issue]] = {
        code: [] for code in (UNPRICED, UNMAPPED, SILENT, AFTER, SHARED)
    }
    for issue in found:
        by_code[issue.code].append(issue)
    for code in (UNPRICED, UNMAPPED):
        record.resolve_others(cluster_id, code, by_code[code])
        record.record(cluster_id, by_code[code])
    for code in (SILENT, AFTER):
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
