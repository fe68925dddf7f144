"""What-ifs over recorded weeks: the form, runs with their progress, and answers (S36)."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounting.access.rights import ADMINISTRATION
from accounting.kit.outcomes import Refused
from accounting.kit.pages.fragments import is_fragment
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import admin_form, posted, visitor_of
from accounting.setup.tasks.yaml_lines import DocumentError
from scheduler_view.what_if.actions import cancel_what_if, request_what_if
from scheduler_view.what_if.models import WhatIfRun, WhatIfState
from scheduler_view.what_if.pages.what_if_form import WhatIfForm
from scheduler_view.what_if.reads.what_ifs import what_if_choices, what_if_rows

STATES = {
    WhatIfState.QUEUED: ("mute", "Queued"),
    WhatIfState.RUNNING: ("mute", "Running"),
    WhatIfState.DONE: ("ok", "Done"),
    WhatIfState.FAILED: ("danger", "Failed"),
    WhatIfState.CANCELED: ("mute", "Canceled"),
}
TONES = {"calibrated": "ok", "inexact": "warn", "refused": "danger"}


@admin_form
def what_if_list(request: HttpRequest) -> HttpResponse:
    """Every run, and the form that requests one."""
    if is_fragment(request):
        return render(request, "what_if/_what_if_runs.html", _runs(request))
    choices = what_if_choices()
    form = WhatIfForm(
        request.POST if request.method == "POST" else None,
        clusters=choices.clusters,
        models=choices.models,
        teams=choices.teams,
    )
    if request.method == "POST" and form.is_valid():
        try:
            request_what_if(
                form.values(),
                actor=request.user,  # type: ignore[arg-type]  # they are signed in
                now=visitor_of(request).now,
            )
        except DocumentError as error:
            for fault in error.faults:
                form.add_error(None, fault.message)
        except Refused as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "The what-if is requested. A worker computes it.")
            return redirect("what-if")
    context = {**_runs(request), "form": form, "has_clusters": bool(choices.clusters)}
    status = 422 if request.method == "POST" else 200
    return render(request, "what_if/what_if.html", context, status=status)


@posted(ADMINISTRATION, belongs_to="what-if")
def what_if_cancel(request: HttpRequest, number: int) -> HttpResponse:
    """End a run that waits or runs."""
    run = get_object_or_404(WhatIfRun, pk=number)
    actor: Any = request.user
    if cancel_what_if(run, actor=actor):
        messages.success(request, "The what-if is canceled.")
    else:
        messages.warning(request, "It was finished already: nothing changed.")
    return redirect("what-if")


def _runs(request: HttpRequest) -> dict[str, Any]:
    rows = what_if_rows()
    shown = [
        (row, *STATES[WhatIfState(row.state)], TONES.get(row.trust, "mute"))
        for row in rows
    ]
    return {
        "page": paged(shown, request.GET),
        "is_waiting": any(row.is_unfinished for row in rows),
    }
