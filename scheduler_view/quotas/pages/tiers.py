"""Priority tiers, and their changes."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounting.kit.pages.downloads import csv_answer
from accounting.kit.pages.permissions import Visitor, admin_form, signed_in, visitor_of
from accounting.kit.serializers.declared import serializer_of
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.clusters import clusters_named
from scheduler_view.changes.forms import EditsForm, TierForm
from scheduler_view.changes.pages.proposal import Unfit, checked_edits
from scheduler_view.changes.pages.proposal import propose as propose_change
from scheduler_view.changes.reads.drafts import default_draft, open_drafts
from scheduler_view.changes.rules.edit import Draft
from scheduler_view.clusters.rules.live_objects import CLASS
from scheduler_view.quotas.reads.limits.class_limits import class_limits
from scheduler_view.quotas.reads.limits.limit_row import LimitRow
from scheduler_view.quotas.reads.limits.observed import observed_limits
from scheduler_view.quotas.reads.tiers import TierRow, tier_rows
from scheduler_view.quotas.rules.tiers import TEMPLATES

COLUMNS = (
    "cluster",
    "name",
    "value",
    "preempts",
    "is_default",
    "class_name",
    "description",
    "quotas",
    "version",
)


@signed_in
def tier_list(request: HttpRequest) -> HttpResponse:
    """Tiers of each cluster, the highest first; people without a team see none."""
    visitor = visitor_of(request)
    sees_any = visitor.scope.sees_any
    rows = tier_rows() if sees_any else []
    if "csv" in request.GET:
        lines = [
            [row[name] for name in COLUMNS] for row in serializer_of(TierRow).each(rows)
        ]
        return csv_answer("priority-tiers", COLUMNS, lines)
    clusters = clusters_named() if sees_any else []
    context = {
        "parts": [
            (
                one.name,
                [row for row in rows if row.cluster == one.name],
                _of_others(visitor, one),
            )
            for one in clusters
        ],
        "is_admin": visitor.scope.is_admin,
        "templates": TEMPLATES,
    }
    return render(request, "quotas/tiers.html", context)


def _of_others(visitor: Visitor, cluster: Cluster) -> list[LimitRow]:
    """Classes of pods that are not tiers, the highest first."""
    seen = observed_limits(cluster, visitor.scope, visitor.now)
    return [
        row for row in class_limits(seen) if row.kind == CLASS and not row.is_managed
    ]


@admin_form
def propose(request: HttpRequest) -> HttpResponse:
    """One tier, or a common set of them, as a change set."""
    chosen = request.POST if request.method == "POST" else request.GET
    cluster = get_object_or_404(Cluster, name=chosen.get("cluster", ""))
    known = {row.name: row for row in tier_rows(cluster=cluster.name)}
    row = known.get(chosen.get("tier", ""))
    if request.method != "POST":
        blank = TierForm(initial=_initial(row))
        if row is None and "set" in chosen:
            return _form(request, cluster, EditsForm(), row)
        return _form(request, cluster, blank, row)
    is_one = "set" not in chosen and "remove" not in chosen
    form: EditsForm = (TierForm if is_one else EditsForm)(request.POST)
    if not form.is_valid():
        return _form(request, cluster, form, row)
    done = form.cleaned_data
    visitor, into = visitor_of(request), done["into"]
    try:
        draft = Draft(checked_edits(_edits(form, chosen, row)), done["reason"])
        made = propose_change(cluster, draft, visitor, request.user, into=into)
    except Unfit as error:
        form.add_error(None, ValidationError(error.faults))
        return _form(request, cluster, form, row)
    begun = "has one more edit" if into else "is begun"
    messages.success(request, f"{made} {begun}. Nothing is sent before you apply it.")
    return redirect("change", number=made.pk)


def _initial(row: TierRow | None) -> dict[str, Any]:
    if row is None:
        return {"preempts": True, "value": 1000}
    names = ("name", "value", "preempts", "is_default", "description")
    return {name: getattr(row, name) for name in names}


def _edits(form: EditsForm, chosen: Any, row: TierRow | None) -> list[dict[str, Any]]:
    if isinstance(form, TierForm):
        edit = form.edit(row.version if row else None)
        return [edit | {"name": row.name} if row else edit]
    if "remove" in chosen and row is not None:
        kept = {"kind": "tier", "name": row.name, "value": row.value}
        return [kept | {"remove": True, "version": row.version}]
    found = [one for one in TEMPLATES if one.key == chosen.get("set")]
    return [
        {
            "kind": "tier",
            "name": spec.name,
            "value": spec.value,
            "preempts": spec.preempts,
            "is_default": spec.is_default,
            "description": spec.description,
        }
        for template in found
        for spec in template.tiers
    ]


def _form(
    request: HttpRequest, cluster: Cluster, form: EditsForm, row: TierRow | None
) -> HttpResponse:
    chosen = request.POST if request.method == "POST" else request.GET
    drafts = open_drafts(request.user.pk, cluster.name)
    into = form.cleaned_data.get("into") if form.is_bound else default_draft(drafts)
    context = {
        "form": form,
        "drafts": drafts,
        "into": into,
        "row": row,
        "cluster": cluster.name,
        "is_removal": "remove" in chosen and row is not None,
        "set": next((t for t in TEMPLATES if t.key == chosen.get("set")), None),
    }
    status = 422 if form.errors else 200
    return render(request, "quotas/tier_form.html", context, status=status)
