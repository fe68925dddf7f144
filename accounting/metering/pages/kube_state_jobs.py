"""Accept a scrape job of kube-state, or withdraw the acceptance."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounting.kit.pages.permissions import admin_form, visitor_of
from accounting.metering.actions.kube_state_jobs import accept
from accounting.metering.forms import KubeStateJobForm
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.data_health.kube_state_jobs import (
    KubeStateJobRow,
    kube_state_job_rows,
)


@admin_form
def kube_state_job(request: HttpRequest) -> HttpResponse:
    """One job of a cluster, and the form to accept it or withdraw the acceptance."""
    row = _row(request)
    start = {"accepted": "no" if row.is_accepted else "yes"}
    is_posted = request.method == "POST"
    form = KubeStateJobForm(request.POST if is_posted else None, initial=start)
    if is_posted and form.is_valid():
        is_accepted = form.cleaned_data["accepted"] == "yes"
        accept(
            Cluster.objects.get(name=row.cluster),
            row.job,
            is_accepted=is_accepted,
            actor=request.user,  # type: ignore[arg-type]  # the gate lets nobody else in
            reason=form.cleaned_data["reason"],
        )
        word = "is accepted" if is_accepted else "is no longer accepted"
        messages.success(
            request,
            f"{row.job or 'Samples without a job'} of {row.cluster}: the job {word}. The "
            "affected windows are recomputed within minutes.",
        )
        return redirect("data-health")
    context = {"form": form, "row": row}
    status = 422 if form.errors else 200
    return render(request, "metering/kube_state_job.html", context, status=status)


def _row(request: HttpRequest) -> KubeStateJobRow:
    cluster, job = request.GET.get("cluster", ""), request.GET.get("job", "")
    rows = kube_state_job_rows(visitor_of(request).scope, [cluster])
    for row in rows:
        if row.job == job:
            return row
    raise Http404("no such job")
