"""Waiting work: its reasons and positions, how long waits are, and one unit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounting.access.reads.teams import visible_teams
from accounting.access.rights import ADMINISTRATION, SIGNED_IN
from accounting.access.scope import Scope
from accounting.core.interval import to_ms
from accounting.kit.pages.permissions import posted, signed_in, visitor_of
from accounting.kit.run_address import run_url
from accounting.metering.models.pod import Owner
from scheduler_view.changes.actions.change_sets import ChangeRefused
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.rules.edit import EditsRefused
from scheduler_view.changes.tasks.base_versions import LostUpdate
from scheduler_view.idle.reads import IdleRow, idle_rows
from scheduler_view.idle.rules import USUAL_MINUTES
from scheduler_view.queues.pages.pools import cluster_names
from scheduler_view.queues.reads.estimate_errors import estimate_errors
from scheduler_view.queues.reads.pools import pool_key, was_observed
from scheduler_view.queues.reads.queued_units import queue_now, queued_unit
from scheduler_view.queues.reads.reasons import MOST as MOST_REASONS
from scheduler_view.queues.reads.reasons import reason_rows
from scheduler_view.queues.reads.wait_times import wait_time_rows
from scheduler_view.queues.rules.pools import ResourcePool
from scheduler_view.quotas.reads.namespaces import owners
from scheduler_view.quotas.reads.queue_values import queue_parts
from scheduler_view.waits.actions import draft_queue_value, draft_quota_raise
from scheduler_view.waits.models import WaitRecord
from scheduler_view.waits.reads.quota_raises import quota_raises
from scheduler_view.waits.reads.waiting_row import WaitingUnitRow
from scheduler_view.waits.reads.waiting_units import waiting_row
from scheduler_view.waits.rules.cause import Stage
from scheduler_view.waits.rules.instants import WaitInstants
from scheduler_view.workloads.reads import RunKey, clusters_of_pods

NEWEST_QUIET = timedelta(hours=1)  # later it may have been busy since
MOST = 50  # units on the page; REST and CSV have all


@signed_in
def queue_page(request: HttpRequest) -> HttpResponse:
    """What waits now, by reason, team, tier and pool; waits by tier.

    An address with a pool is of a version that showed pools here.
    """
    if "pool" in request.GET:
        return redirect(f"{reverse('pools')}?{request.GET.urlencode()}")
    visitor = visitor_of(request)
    scope, now = visitor.scope, visitor.now
    cluster, team = request.GET.get("cluster", ""), request.GET.get("team", "")
    teams = visible_teams(scope)
    if team and team not in teams:
        raise Http404("no such team")
    found = queue_now(
        scope,
        now,
        cluster=cluster,
        team=team,
        limit=MOST + 1,
        teams=teams.values(),
    )
    context = {
        "reasons": reason_rows(
            scope, now, teams.values(), cluster=cluster, team=team
        ),
        "most_reasons": MOST_REASONS,
        "groups": found.groups,
        "rows": found.rows[:MOST],
        "has_more": len(found.rows) > MOST,
        "most": MOST,
        "is_observed": bool(found.rows) or was_observed(now),
        "waits": wait_time_rows(scope, now, cluster=cluster),
        "clusters": cluster_names() if scope.sees_any else {},
        "teams": _by_name({slug: one.name for slug, one in teams.items()}),
        "cluster": cluster,
        "team": team,
    }  # fmt: skip
    return render(request, "queues/queues.html", context)


def _by_name(names: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(names.items(), key=lambda one: one[1]))


@dataclass(frozen=True, slots=True)
class WaitStep:
    """One instant of a wait and the part that ends with it.

    Attributes:
        absent: why it has no instant.
    """

    name: str
    at: datetime | None
    part: str
    part_ms: int | None
    absent: str


@signed_in
def queue_unit(request: HttpRequest, number: int) -> HttpResponse:
    """One unit: why it waits, who holds what it needs, its position, start and instants."""
    visitor = visitor_of(request)
    record = queued_unit(visitor.scope, visitor.now, number)
    if record is None:
        raise Http404("no such unit")
    key = record.kind, record.namespace, record.name
    wait = waiting_row(visitor.scope, visitor.now, record.cluster, key)
    pool = ResourcePool(record.resource, record.model)
    error = estimate_errors().get((record.cluster_id, pool))
    behind = wait.cluster_queue if wait is not None and visitor.scope.sees_all else ""
    limits = queue_parts(record.cluster.name) if behind else []
    shown = wait if record.ended_at is None else None
    context = {
        "raises": quota_raises(visitor.scope, record.cluster, shown.starts_if)
        if shown
        else [],
        "idle": _idle_holders(visitor.scope, shown) if shown else [],
        "waited_ms": to_ms(visitor.now) - to_ms(shown.since)
        if shown and shown.since
        else None,
        "queue_limits": [one for one in limits if one.queue == behind],
        "unit": record,
        "pool_key": pool_key(record.cluster.name, record.resource, record.model),
        "wait": shown,
        "steps": _steps(record, visitor.now),
        "has_older": _waiting_instants(record) != _instants(record),
        "estimates": error.estimates if error else 0,
        "error_ms": error.median_error_ms if error else None,
        "held": error.held if error else None,
    }
    context["run_url"] = _run_url(visitor.scope, record, visitor.now)
    return render(request, "queues/queue_unit.html", context)


def _run_url(scope: Scope, record: WaitRecord, now: datetime) -> str:
    """The page of what it is a run of, such as its CronJob; "" if none of its pods is known."""
    team = owners(record.cluster_id, [record.namespace], now).get(record.namespace)
    refs = visible_teams(scope).values()
    slug = next((ref.slug for ref in refs if ref.id == team), "")
    above = Owner.objects.filter(
        namespace__cluster=record.cluster,
        namespace__name=record.namespace,
        kind=record.kind,
        name=record.name,
    ).first()
    named = (
        (record.kind, record.name)
        if above is None
        else (above.owner_kind, above.owner_name)
    )
    key = RunKey(slug, record.namespace, *named)
    return run_url(*key) if slug and clusters_of_pods(scope, key) else ""


def _idle_holders(scope: Scope, wait: WaitingUnitRow) -> list[IdleRow]:
    """Of those that hold what work needs, the idle ones whose owners the person may ask."""
    holders = [*(held for found in wait.holders for held in found), *wait.let_in]
    units = {held.unit for held in holders if held.unit}
    return [
        row
        for row in idle_rows(scope, least_minutes=USUAL_MINUTES)
        if row.cluster == wait.cluster
        and f"{row.kind or 'Pod'}/{row.namespace}/{row.name}" in units
    ]


@posted(ADMINISTRATION, belongs_to="queue-unit")
def queue_draft(request: HttpRequest, number: int) -> HttpResponse:
    """A draft change set with the larger value of a queue that a unit waits for."""
    record, wait = _waiting(request, number)
    field = request.POST.get("field", "")
    change = next((one for one in wait.queue_values if one["field"] == field), None)
    if change is None:
        raise Http404("it no longer waits for this")

    draft = partial(draft_queue_value, record.cluster, change)
    return _drafted(request, record, draft)


@posted(SIGNED_IN, belongs_to="queue-unit")
def quota_draft(request: HttpRequest, number: int) -> HttpResponse:
    """A draft change set with a larger quota of a team that one leads, or of any as an admin."""
    record, wait = _waiting(request, number)
    scope = visitor_of(request).scope
    known = quota_raises(scope, record.cluster, wait.starts_if)
    token = request.POST.get("raise", "")
    raised = next((one for one in known if one.token == token), None)
    if raised is None:
        raise Http404("it no longer waits for this, or for a quota of another team")

    draft = partial(draft_quota_raise, record.cluster, raised)
    return _drafted(request, record, draft)


def _waiting(request: HttpRequest, number: int) -> tuple[WaitRecord, WaitingUnitRow]:
    """Work that waits, as its page shows it; 404 if it does not wait."""
    visitor = visitor_of(request)
    record = queued_unit(visitor.scope, visitor.now, number)
    if record is None:
        raise Http404("no such unit")
    key = record.kind, record.namespace, record.name
    wait = waiting_row(visitor.scope, visitor.now, record.cluster, key)
    if wait is None:
        raise Http404("it no longer waits")
    return record, wait


def _drafted(
    request: HttpRequest, record: WaitRecord, draft: Callable[..., ChangeSet]
) -> HttpResponse:
    """The page of the draft; the page of the work, with a message, if it is refused.

    Args:
        draft: gets the name of the work, and who drafts it when.
    """
    work, at = f"{record.namespace}/{record.name}", visitor_of(request).now
    try:
        made = draft(work, actor=request.user, at=at)
    except (ChangeRefused, EditsRefused, LostUpdate) as error:
        messages.error(request, f"No draft was made: {error}.")
        return redirect("queue-unit", number=record.pk)
    if not visitor_of(request).scope.is_admin:
        messages.success(request, f"{made} is requested. An administrator decides.")
    return redirect("change", number=made.pk)


UNSEEN = "Unknown: before observation began"
_NOT_ADMITTED = {Stage.REFUSED: "Not admitted", Stage.HELD_BACK: "Not yet"}


_Instants = tuple[
    datetime | None, datetime | None, datetime | None, datetime | None, datetime | None
]


def _instants(record: WaitRecord) -> _Instants:
    """Those of the unit: its first attempt's (scheduling.md S3)."""
    return (
        *(record.created_at, record.admitted_at, record.bound_at),
        *(record.started_at, record.first_busy_at),
    )


def _waiting_instants(record: WaitRecord) -> _Instants:
    """Those of the pods that wait: others of the same unit may have run for long."""
    created, admitted, bound, started, busy = _instants(record)
    if not record.stage or bound is None:
        return created, admitted, bound, started, busy
    since = record.waits_since or created
    if since is not None and (created is None or since > created):
        created, admitted = since, since  # a pod of a service is let in when it is made
    if record.stage != Stage.STARTING or (since is not None and bound < since):
        bound = None
    return created, admitted, bound, None, None


def _steps(record: WaitRecord, now: datetime) -> list[WaitStep]:
    is_out = record.stage in _NOT_ADMITTED
    created, admitted, *later = _waiting_instants(record)
    instants = (created, None if is_out else admitted, *later)
    parts = WaitInstants(*(None if at is None else to_ms(at) for at in instants)).parts
    names = ("Created", "Admitted", "Bound", "Started", "First busy")
    of_part = (
        ("", None),
        ("admission", parts.admission_ms),
        ("scheduling", parts.scheduling_ms),
        ("start-up", parts.startup_ms),
        ("warm-up", parts.warmup_ms),
    )
    last = max((i for i, at in enumerate(instants) if at is not None), default=-1)
    absent = [UNSEEN if i < last else "Not yet" for i in range(len(names))]
    if is_out:
        absent[1] = _NOT_ADMITTED[Stage(record.stage)]
    if record.stage == Stage.STARTING:  # it has a node
        absent[2] = UNSEEN
    quiet = record.quiet_until
    if instants[3] and (quiet is None or now - quiet > NEWEST_QUIET):
        absent[4] = UNSEEN
    elif record.ended_at:
        absent = ["Not observed" if one == "Not yet" else one for one in absent]
    return [
        WaitStep(name, at, *part, why)
        for name, at, part, why in zip(names, instants, of_part, absent, strict=True)
    ]
