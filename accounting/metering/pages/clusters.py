"""Retire a cluster from a time on, or clear that; with a preview before saving (rules.md N38)."""

from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounting.kit.pages.permissions import admin_form, visitor_of
from accounting.kit.reads.selection import SelectionError
from accounting.metering.forms import RetirementForm
from accounting.metering.models.cluster import Cluster
from accounting.metering.tasks.retirement import RetirementError, retire
from accounting.usage.reads.retirement_effect import RetirementEffect, retirement_effect


@admin_form
def cluster_retire(request: HttpRequest) -> HttpResponse:
    """The end of one cluster: first a preview of its effect, then saved."""
    cluster = get_object_or_404(Cluster, name=request.GET.get("cluster", ""))
    if request.method != "POST":
        form = RetirementForm(initial={"retired": cluster.retired_at})
        return _form(request, cluster, form)
    form = RetirementForm(request.POST)
    if not form.is_valid():
        return _form(request, cluster, form)
    at: datetime | None = form.cleaned_data["retired"]
    try:
        effect = retirement_effect(cluster, at)
        if "confirm" not in request.POST:
            return _form(request, cluster, form, effect)
        retire(
            cluster,
            at,
            actor=request.user,  # type: ignore[arg-type]  # the gate lets nobody else in
            reason=form.cleaned_data["reason"],
        )
    except (RetirementError, SelectionError) as error:
        form.add_error("retired", str(error))
        return _form(request, cluster, form)
    state = "is in use" if at is None else "is retired"
    messages.success(
        request,
        f"The cluster {cluster.name} {state}. Workers recompute the affected data within "
        "minutes, one day at a time.",
    )
    return redirect("data-health")


def _form(
    request: HttpRequest,
    cluster: Cluster,
    form: RetirementForm,
    effect: RetirementEffect | None = None,
) -> HttpResponse:
    context = {
        "form": form,
        "cluster": cluster,
        "effect": effect,
        "zone": visitor_of(request).zone.key,
    }
    status = 422 if form.errors else 200
    return render(request, "metering/cluster_retire.html", context, status=status)
