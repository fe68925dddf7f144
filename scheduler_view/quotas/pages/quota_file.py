"""Many quotas as one CSV file: download it, fill it in, and review the plan (quotas.md)."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounting.access.reads.teams import visible_teams
from accounting.kit.pages.downloads import csv_answer
from accounting.kit.pages.permissions import Visitor, admin_form, visitor_of
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.forms import ReasonForm
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.pages.proposal import Unfit, checked_edits, propose
from scheduler_view.changes.rules.edit import Draft
from scheduler_view.changes.rules.quota_file import (
    COLUMNS,
    QuotaFileError,
    QuotaFileRow,
    differing,
    read_quota_file,
)
from scheduler_view.quotas.models import QuotaTarget
from scheduler_view.quotas.reads.supply import supply_of

Key = tuple[str, str, str]


class QuotaFileForm(ReasonForm):
    """A file of quotas of one cluster, and why."""

    cluster = forms.ModelChoiceField(
        queryset=Cluster.objects.order_by("name"),
        to_field_name="name",
        empty_label=None,
    )
    file = forms.FileField(
        label="CSV file",
        help_text="At most 2 MB.",
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
    )
    field_order = ("cluster", "file", "reason")

    def clean_file(self) -> str:
        """The text of the file."""
        try:
            text: str = self.cleaned_data["file"].read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            fault = f"Not UTF-8: byte {error.start}. Save the file as CSV UTF-8."
            raise forms.ValidationError(fault) from None
        return text


@admin_form
def quota_file(request: HttpRequest) -> HttpResponse:
    """A file becomes one change set, whose plan is requested; `download` is the file to fill in."""
    visitor = visitor_of(request)
    if "download" in request.GET:
        cluster = get_object_or_404(Cluster, name=request.GET["download"])
        return _download(visitor, cluster)
    if request.method != "POST":
        form = QuotaFileForm(initial={"cluster": request.GET.get("cluster")})
        return _page(request, form)
    form = QuotaFileForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            made = _proposed(request, visitor, form.cleaned_data)
        except (QuotaFileError, Unfit) as error:
            for fault in error.faults:
                form.add_error("file", fault)
        else:
            return redirect("change", number=made.pk)
    return _page(request, form, 422)


def _proposed(
    request: HttpRequest, visitor: Visitor, values: Mapping[str, Any]
) -> ChangeSet:
    """The change set of what differs from the present quotas."""
    cluster = values["cluster"]
    rows = read_quota_file(values["file"], _slugs(visitor))
    present = _present(cluster)
    rows = differing(rows, {key: gpus for key, (gpus, _) in present.items()})
    edits = [_edit(row, present) for row in rows]
    if not edits:
        raise QuotaFileError(
            f"The file has the quotas that {cluster} has. Change a number."
        )
    draft = Draft(checked_edits(edits), values["reason"])
    return propose(cluster, draft, visitor, request.user)


def _edit(row: QuotaFileRow, now: Mapping[Key, tuple[int, int]]) -> dict[str, Any]:
    return {
        "kind": "quota",
        "team": row.team,
        "resource": row.resource,
        "tier": row.tier,
        "gpus": row.gpus,
        "version": now[row.key][1] if row.key in now else None,
    }


def _present(cluster: Cluster) -> dict[Key, tuple[int, int]]:
    """GPUs and version of each quota."""
    rows = QuotaTarget.objects.filter(cluster=cluster).values_list(
        "team__slug", "resource", "tier", "gpus", "version"
    )
    return {row[:3]: row[3:] for row in rows}


def _slugs(visitor: Visitor) -> list[str]:
    return sorted(visible_teams(visitor.scope))


def _download(visitor: Visitor, cluster: Cluster) -> HttpResponse:
    """A line for each quota, and an empty one where a team has none of a resource."""
    now = _present(cluster)
    keys = set(now) | {
        (team, resource, "")
        for team in _slugs(visitor)
        for resource in supply_of(cluster).capacity
    }
    lines = [[*key, now.get(key, ("",))[0]] for key in sorted(keys)]
    return csv_answer(f"quotas-{cluster.name}", COLUMNS, lines)


def _page(request: HttpRequest, form: QuotaFileForm, status: int = 200) -> HttpResponse:
    names = list(Cluster.objects.order_by("name").values_list("name", flat=True))
    context = {"form": form, "clusters": names}
    return render(request, "quotas/quota_file.html", context, status=status)
