"""Quotas: limits and use of each team, and edits that become one change set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounting.access.reads.teams import TeamRef, visible_teams
from accounting.access.rights import ADMINISTRATION
from accounting.fleet.reads.fleet_count import FleetCount, fleets_by_cluster
from accounting.kit.cards import LateCard
from accounting.kit.pages.downloads import csv_answer
from accounting.kit.pages.fragments import card_answer
from accounting.kit.pages.paging import ListPage, page_of, size_of
from accounting.kit.pages.permissions import posted, signed_in, visitor_of
from accounting.kit.serializers.declared import serializer_of
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.clusters import clusters_named
from accounting.metering.rules.inventory.scheduler_queues import QueueFacts
from scheduler_view.changes.forms import PlanForm, changed_quotas
from scheduler_view.changes.pages.proposal import Unfit, checked_edits
from scheduler_view.changes.pages.proposal import propose as propose_change
from scheduler_view.changes.reads.change_row import UNDER_WAY, ChangeRow
from scheduler_view.changes.reads.change_sets import change_rows
from scheduler_view.changes.reads.drafts import OpenDraft, default_draft, open_drafts
from scheduler_view.quotas.pages.queue_lines import (
    QueueLine,
    changed_queue_values,
    queue_lines,
)
from scheduler_view.quotas.reads.desired import tiers
from scheduler_view.quotas.reads.limits.limit_row import LimitRow
from scheduler_view.quotas.reads.limits.rows import limit_rows, unmanaged
from scheduler_view.quotas.reads.objects import quota_objects
from scheduler_view.quotas.reads.queue_values import queue_parts
from scheduler_view.quotas.reads.quotas import (
    QuotaRow,
    ResourceRow,
    quota_rows,
    resource_rows,
)
from scheduler_view.quotas.reads.supply import supply_of
from scheduler_view.quotas.reads.sync import ObservationRow, observation_rows
from scheduler_view.waits.reads.scheduler_queues import all_queue_rows
from scheduler_view.waits.reads.waiting_units import has_waits, waiting_rows

COLUMNS = (
    "cluster",
    "team",
    "resource",
    "tier",
    "gpus",
    "in_use",
    "peak_30_days",
    "pending",
    "used",
    "room",
    "borrowed",
    "queued",
    "version",
)


ROWS = "100"  # of a cluster on a page: what is edited together is on one
PENDING = LateCard(
    route="quota-pending",
    title="Pending work",
    id="held-up",
    template="quotas/_held_up.html",
    page="quotas",
    label="Quotas",
    css="s12",
    rows=12,
)


def _field(row: QuotaRow) -> str:
    return f"q|{row.team}|{row.resource}|{row.tier}|{row.version}|{row.gpus}"


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """One quota with its pending edits."""

    row: QuotaRow
    team: TeamRef | None
    pending: ChangeRow | None
    typed: str = ""  # errors of a form that was not valid

    @property
    def field(self) -> str:
        """The name of its input, which has all data of the edit."""
        return _field(self.row)

    @property
    def label(self) -> str:
        """The label of its input for screen readers."""
        row = self.row
        tier = f", tier {row.tier}" if row.tier else ""
        return f"Quota of {row.team_name}, {row.resource}{tier}; {row.gpus} now"

    @property
    def remove_field(self) -> str:
        """The name of the checkbox that removes it."""
        return f"r{self.field[1:]}"


@dataclass(frozen=True, slots=True)
class ClusterPart:
    """One cluster's resources and quotas, and its form."""

    name: str
    is_connected: bool
    resources: Sequence[ResourceRow]
    fleet: FleetCount | None
    page: ListPage
    tiers: Sequence[str]
    known_resources: Sequence[str]
    run: ObservationRow | None
    queues: Sequence[QueueFacts]
    form: PlanForm
    new: Mapping[str, str]
    drafts: Sequence[OpenDraft]
    queue_lines: Sequence[QueueLine] = ()
    others: Sequence[LimitRow] = ()  # limits that GPU Ledger does not set
    page_key: str = "page"

    @property
    def lines(self) -> Sequence[QuotaLine]:
        """The quotas of the page of this cluster."""
        return self.page.lines

    @property
    def queue_anchor(self) -> str:
        """Distinguishes its forms of queues from those of quotas."""
        return f"queue-{self.name}"

    @property
    def lends(self) -> bool:
        """True if a queue of a team is known; otherwise nothing is borrowed."""
        return any(line.row.lent.queues for line in self.lines)

    @property
    def capacity(self) -> int:
        """The capacity of all resources that nodes report."""
        return sum(resource.capacity or 0 for resource in self.resources)

    @property
    def into(self) -> int | None:
        """The change set that edits join: the selected one, or the default."""
        if self.form.is_bound:
            return self.form.cleaned_data.get("into")
        return default_draft(self.drafts)


@signed_in
def quota_list(request: HttpRequest) -> HttpResponse:
    """Committed against capacity, and a row for each team, resource and tier."""
    if "csv" in request.GET:
        return _csv(request)
    return _page(request)


@signed_in
def pending(request: HttpRequest) -> HttpResponse:
    """Work that waits for GPUs, why, and what would let it start."""
    visitor = visitor_of(request)
    cluster = request.GET.get("cluster", "")
    rows = waiting_rows(visitor.scope, visitor.now, cluster=cluster)
    return card_answer(request, PENDING, {"rows": rows})


def _csv(request: HttpRequest) -> HttpResponse:
    visitor = visitor_of(request)
    rows = quota_rows(
        visitor.scope, visitor.now, cluster=request.GET.get("cluster", "")
    )
    lines = [
        [row[name] for name in COLUMNS] for row in serializer_of(QuotaRow).each(rows)
    ]
    return csv_answer("quotas", COLUMNS, lines)


def _page(
    request: HttpRequest, refused: str = "", form: PlanForm | None = None
) -> HttpResponse:
    """The page; `form` and the typed values are kept if the form of one cluster was not valid."""
    visitor = visitor_of(request)
    scope, chosen = visitor.scope, request.GET.get("cluster", "")
    sought = request.GET.get("q", "").strip().lower()
    teams = visible_teams(scope)
    rows = quota_rows(scope, visitor.now, cluster=chosen)
    shown = [
        row
        for row in rows
        if sought in f"{row.team} {row.team_name} {row.resource} {row.tier}".lower()
    ]
    resources = resource_rows(scope, visitor.now, cluster=chosen)
    fleets = fleets_by_cluster() if scope.sees_all else {}
    open_changes = change_rows(scope, any_state=UNDER_WAY)
    clusters = clusters_named() if scope.sees_any else []
    drafts = open_drafts(request.user.pk) if scope.is_admin else []
    typed = request.POST if refused else {}
    runs = observation_rows()
    queues = all_queue_rows(cluster=chosen) if scope.sees_all else []
    others = unmanaged(limit_rows(scope, visitor.now, cluster=chosen))
    size = size_of({"rows": request.GET.get("rows", "") or ROWS})
    parts = [
        ClusterPart(
            name=one.name,
            page_key=(key := f"page-{number}"),
            run=runs.get(one.name),
            queues=[row.facts for row in queues if row.cluster == one.name],
            is_connected=bool(one.kubernetes),
            resources=[
                resource for resource in resources if resource.cluster == one.name
            ],
            fleet=fleets.get(one.name),
            page=_lines(
                [row for row in shown if row.cluster == one.name],
                teams,
                open_changes,
                typed if one.name == refused else {},
                request.GET.get(key, ""),
                size,
            ),
            tiers=[tier.name for tier in tiers(one)],
            known_resources=sorted(
                {p.resource for p in resources if p.cluster == one.name}
                | {"nvidia.com/gpu"}
            ),
            form=form if form is not None and one.name == refused else PlanForm(),
            new=dict(typed.items()) if one.name == refused else {},
            others=[row for row in others if row.cluster == one.name],
            drafts=[draft for draft in drafts if draft.cluster == one.name],
            queue_lines=_queue_lines(one, typed if one.name == refused else {})
            if scope.sees_all
            else [],
        )
        for number, one in enumerate(clusters, start=1)
        if not chosen or one.name == chosen
    ]
    context = {
        "parts": parts,
        "clusters": clusters,
        "chosen": chosen,
        "sought": sought,
        "count": len(rows),
        "is_admin": scope.is_admin,
        "teams": sorted(teams.values(), key=lambda team: team.name),
        "open_changes": open_changes,
        "has_waits": scope.sees_any and has_waits(chosen),
    }
    status = 422 if refused else 200
    return render(request, "quotas/quotas.html", context, status=status)


def _queue_lines(cluster: Cluster, typed: Mapping[str, Any]) -> list[QueueLine]:
    resources = sorted(supply_of(cluster).capacity)
    return queue_lines(queue_parts(cluster.name, resources), typed)


def _lines(
    rows: Sequence[QuotaRow],
    teams: Mapping[str, TeamRef],
    open_changes: Sequence[ChangeRow],
    typed: Mapping[str, Any],
    number: str,
    size: int,
) -> ListPage:
    """Rows of one cluster, with their pending edits; those of a form that was not valid."""
    page = page_of([row for row in rows if _field(row) in typed] or rows, number, size)
    lines = [_line(row, teams, open_changes, typed) for row in page.lines]
    return replace(page, lines=tuple(lines))


def _line(
    row: QuotaRow,
    teams: Mapping[str, TeamRef],
    open_changes: Sequence[ChangeRow],
    typed: Mapping[str, Any],
) -> QuotaLine:
    pending = next((c for c in open_changes if _asks_for(c, row)), None)
    line = QuotaLine(row, teams.get(row.team), pending)
    return replace(line, typed=str(typed.get(line.field, "")))


def _asks_for(change: ChangeRow, row: QuotaRow) -> bool:
    return change.cluster == row.cluster and any(
        (edit.get("team"), edit.get("resource"), edit.get("tier"))
        == (row.team, row.resource, row.tier)
        for edit in change.edits
    )


@posted(ADMINISTRATION, belongs_to="quotas")
def propose(request: HttpRequest) -> HttpResponse:
    """The edits of one cluster as one change set; a plan is requested."""
    visitor = visitor_of(request)
    cluster = get_object_or_404(Cluster, name=request.POST.get("cluster", ""))
    form = PlanForm(request.POST)
    faults: list[str] = []
    if form.is_valid():
        values = [*changed_quotas(request.POST), *changed_queue_values(request.POST)]
        into = form.cleaned_data["into"]
        try:
            draft = form.draft(checked_edits(values))
            made = propose_change(cluster, draft, visitor, request.user, into=into)
        except Unfit as error:
            faults = error.faults
        else:
            return redirect("change", number=made.pk)
    for fault in faults:
        messages.error(request, fault)
    return _page(request, cluster.name, form)


@signed_in
def quota_yaml(request: HttpRequest) -> HttpResponse:
    """The objects of one team's quota, as they are sent."""
    visitor = visitor_of(request)
    team = visible_teams(visitor.scope).get(request.GET.get("team", ""))
    if team is None:
        raise Http404("no such team")
    cluster = get_object_or_404(Cluster, name=request.GET.get("cluster", ""))
    found = quota_objects(cluster, team.slug)
    context = {
        "team": team,
        "cluster": cluster.name,
        "text": yaml.safe_dump_all(found.bodies, sort_keys=False),
        "count": len(found.bodies),
        "unknown_tiers": found.unknown_tiers,
    }
    return render(request, "quotas/quota_yaml.html", context)
