"""Why work waits, one row for all work of a team that waits for the same (scheduling.md S9)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Min, Sum

from accounting.access.reads.teams import TeamRef
from accounting.access.scope import Scope
from accounting.core.unmapped import UNMAPPED
from accounting.metering.models.cluster import Cluster
from scheduler_view.queues.reads.queued_units import WAITING
from scheduler_view.quotas.reads.namespaces import owners
from scheduler_view.waits.models import WaitRecord
from scheduler_view.waits.reads.waiting_row import Change
from scheduler_view.waits.reads.waiting_units import oldest_rows

MOST = 10  # reasons on the page, most GPUs first


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """Work of one team that waits for one reason in one pool.

    Attributes:
        work, units: units of work, and the GPUs that they request.
        since: when the oldest one began to wait.
        number: of the page of the oldest one.
        changes: of which each would let the oldest one start; best first.
    """

    team: str
    cluster: str
    cause: str
    is_from_metrics: bool
    resource: str
    model: str
    work: int
    units: int
    since: datetime | None
    number: int
    changes: Sequence[Change] = ()


def reason_rows(
    scope: Scope, now: datetime, teams: Collection[TeamRef], *, cluster: str, team: str
) -> Sequence[ReasonRow]:
    """The reasons of the teams that the person may read, most GPUs first; the first `MOST`."""
    slugs = {one.id: one.slug for one in teams}
    waits = WaitRecord.objects.filter(WAITING)
    if cluster:
        waits = waits.filter(cluster__name=cluster)
    counted = list(
        waits.values_list("cluster_id", "namespace", *_SAME).annotate(
            _work=Count("pk"),
            _units=Sum("units"),
            _since=Min("waits_since"),
            _numbers=ArrayAgg("pk", order_by=["waits_since", "pk"]),
        )
    )
    found: dict[tuple[Any, ...], ReasonRow] = {}
    for one in Cluster.objects.filter(pk__in={row[0] for row in counted}):
        rows = [row for row in counted if row[0] == one.pk]
        owner = owners(one.pk, sorted({row[1] for row in rows}), now)
        for _, namespace, *same, work, units, since, numbers in rows:
            cause, is_from_metrics, resource, model = same
            slug = _slug(scope, owner.get(namespace), slugs)
            if not slug or team not in ("", slug):
                continue
            row = ReasonRow(
                slug,
                one.name,
                cause,
                is_from_metrics,
                resource,
                model,
                work,
                units,
                since,
                numbers[0],
            )
            key = slug, one.pk, *same
            found[key] = _sum(found[key], row, now) if key in found else row
    largest = sorted(found.values(), key=lambda r: (-r.units, r.since or now, r.number))
    return _with_changes(scope, now, largest[:MOST])


_SAME = ("cause", "is_from_metrics", "resource", "model")


def _slug(scope: Scope, number: int | None, slugs: Mapping[int, str]) -> str:
    """Empty if the person may not read the team."""
    if number is None:
        return UNMAPPED if scope.sees_all else ""
    return slugs.get(number, "")


def _sum(one: ReasonRow, other: ReasonRow, now: datetime) -> ReasonRow:
    oldest = min(one, other, key=lambda row: row.since or now)
    return replace(oldest, work=one.work + other.work, units=one.units + other.units)


def _with_changes(
    scope: Scope, now: datetime, rows: Sequence[ReasonRow]
) -> list[ReasonRow]:
    explained = oldest_rows(scope, now, [row.number for row in rows])
    return [
        replace(row, changes=known.starts_if)
        if (known := explained.get(row.number))
        else row
        for row in rows
    ]
