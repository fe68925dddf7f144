"""A lead's request for another quota: the form with current figures, and its errors."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from accounting.access.reads.teams import TeamRef
from accounting.kit.pages.permissions import visitor_of
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.forms import RequestForm
from scheduler_view.changes.pages.proposal import Unfit, checked_edits, propose
from scheduler_view.changes.reads.change_sets import change_row
from scheduler_view.changes.rules.edit import Draft
from scheduler_view.clusters.rules.wording import units
from scheduler_view.quotas.reads.quotas import QuotaRow
from scheduler_view.quotas.reads.supply import supply_of

SEPARATOR = "|"  # in no name of a cluster, resource or tier


def request_form(
    rows: Sequence[QuotaRow], posted: Any = None, clusters: Sequence[Cluster] = ()
) -> RequestForm:
    """The form of a team, with each resource that it may request and its current quota.

    Args:
        rows: the team's quotas.
        posted: the submitted values; None for a new form.
        clusters: all clusters.
    """
    names = len(clusters) > 1
    choices = [(_value(row), _label(row, names=names)) for row in rows]
    known = {value for value, _ in choices}
    for cluster in clusters:
        for resource in sorted({*supply_of(cluster).capacity, "nvidia.com/gpu"}):
            value = SEPARATOR.join((cluster.name, resource, ""))
            if value not in known:
                place = f" on {cluster.name}" if names else ""
                choices.append(
                    (value, f"{units(resource)}{place}: no quota of GPU Ledger now")
                )
    numbers = {_value(row): row.gpus for row in rows}
    return RequestForm(posted, choices=choices, numbers=numbers)


def ask(request: HttpRequest, team: TeamRef, form: RequestForm) -> HttpResponse | None:
    """Create a draft of a lead's request; None if the form is not valid."""
    visitor = visitor_of(request)
    if team.id not in visitor.scope.lead_of:
        raise PermissionDenied(f"leads of {team.name}")
    if not form.is_valid():
        return None
    found = form.cleaned_data
    name, resource, tier = found["what"].split(SEPARATOR)
    cluster = get_object_or_404(Cluster, name=name)
    edit = {
        "kind": "quota",
        "team": team.slug,
        "resource": resource,
        "tier": tier,
        "gpus": found["gpus"],
    }
    try:
        edits = checked_edits([edit])
        draft = Draft(edits, found["reason"], ends_at=found["ends_at"])
        made = propose(cluster, draft, visitor, request.user, plans=False)
    except Unfit as error:
        for fault in error.faults:
            form.add_error(None, fault)
        return None
    row = change_row(visitor.scope, made.pk)
    what = row.title if row else str(made)
    messages.success(request, f"Requested: {what}. An administrator decides.")
    return redirect("change", number=made.pk)


def _value(row: QuotaRow) -> str:
    return SEPARATOR.join((row.cluster, row.resource, row.tier))


def _label(row: QuotaRow, *, names: bool) -> str:
    tier = f", tier {row.tier}" if row.tier else ""
    place = f" on {row.cluster}" if names else ""
    return (
        f"{units(row.resource)}{tier}{place}: quota {row.gpus:,}, in use {row.in_use:,}"
    )
