"""Files: the form that requests one, jobs with their progress, downloads (money.md M46)."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from accounting.access.rights import BUDGETS
from accounting.exports.actions import cancel_export, repeat_export, request_export
from accounting.exports.models import ExportJob, ExportState
from accounting.exports.pages.export_files import job_answer
from accounting.exports.pages.export_form import ExportForm, label_of
from accounting.exports.reads import export_job, export_rows
from accounting.exports.tasks.bucket import bucket_of_settings
from accounting.exports.tasks.request import (
    MOST_STREAMED,
    ExportError,
    ExportRequest,
    prepare,
)
from accounting.kit.outcomes import Refused
from accounting.kit.pages.fragments import is_fragment
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import (
    FORM,
    Visitor,
    leads,
    page,
    posted,
    visitor_of,
)
from accounting.months.reads.lines import BookingError, revision_names
from accounting.months.reads.payers import readable_payers

STATES = {
    ExportState.QUEUED: ("mute", "Queued"),
    ExportState.RUNNING: ("mute", "Running"),
    ExportState.DONE: ("ok", "Done"),
    ExportState.FAILED: ("danger", "Failed"),
    ExportState.EXPIRED: ("mute", "Expired"),
}


@page(BUDGETS, FORM)
def export_list(request: HttpRequest) -> HttpResponse:
    """Every file that the visitor may read, and the form that requests one.

    A file of at most a million rows is sent at once: the form then leads to its address.
    """
    visitor = visitor_of(request)
    if is_fragment(request):
        return render(request, "exports/_export_files.html", _files(request))
    form = _form(request, visitor)
    if request.method == "POST" and form.is_valid():
        wanted = form.request()
        try:
            if _is_sent_at_once(wanted) and not form.cleaned_data["background"]:
                return redirect(file_url(wanted))
            request_export(wanted, actor=_actor(request), now=visitor.now)
        except (BookingError, ExportError, Refused) as error:
            form.add_error(None, _sentence(error))
        else:
            messages.success(request, "The file is requested. A worker writes it soon.")
            return redirect("exports")
    context = {
        **_files(request),
        "form": form,
        "has_months": form.has_months,
        "most": MOST_STREAMED,
        "scheduled": settings.SCHEDULED_EXPORTS if visitor.scope.sees_all else [],
        "destinations": _destinations(),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "exports/exports.html", context, status=status)


def _form(request: HttpRequest, visitor: Visitor) -> ExportForm:
    """The form, posted or with the values of the address."""
    return ExportForm(
        request.POST if request.method == "POST" else None,
        initial=request.GET.dict(),
        months=revision_names(),
        teams=readable_payers(visitor.scope),
        sees_all=visitor.scope.sees_all,
    )


def _files(request: HttpRequest) -> dict[str, Any]:
    rows = export_rows(visitor_of(request).scope)
    shown = paged(
        [(row, label_of(row), *STATES[ExportState(row.state)]) for row in rows],
        request.GET,
    )
    return {
        "page": shown,
        "is_waiting": any(row.is_unfinished for row in rows),
    }


def _destinations() -> list[str]:
    folder, bucket = settings.SCHEDULED_EXPORT_FOLDER, bucket_of_settings()
    known = (str(folder) if folder else "", bucket.address if bucket else "")
    return [one for one in known if one]


def _is_sent_at_once(wanted: ExportRequest) -> bool:
    return prepare(wanted).row_count <= MOST_STREAMED


def file_url(wanted: ExportRequest) -> str:
    """The address that streams a file."""
    query = {"format": str(wanted.format), "profile": wanted.profile}
    if wanted.team is not None:
        query["team"] = wanted.team
    if wanted.revision is not None:
        query["revision"] = str(wanted.revision)
    address = reverse("period-file", args=[wanted.period, str(wanted.what)])
    return f"{address}?{urlencode(query)}"


@leads
def export_file(request: HttpRequest, number: int) -> HttpResponseBase:
    """The file of a job: whole or in ranges."""
    return job_answer(request, _job(request, number))


@posted(BUDGETS, belongs_to="exports")
def export_cancel(request: HttpRequest, number: int) -> HttpResponse:
    """End a job that waits or runs."""
    if cancel_export(_job(request, number), actor=_actor(request)):
        messages.success(request, "The file is canceled.")
    else:
        messages.warning(request, "It was finished already: nothing changed.")
    return redirect("exports")


@posted(BUDGETS, belongs_to="exports")
def export_repeat(request: HttpRequest, number: int) -> HttpResponse:
    """Request the file of a failed or expired job again."""
    job = _job(request, number)
    try:
        repeat_export(job, actor=_actor(request), now=visitor_of(request).now)
    except (BookingError, ExportError, Refused) as error:
        messages.error(request, _sentence(error))
    else:
        messages.success(request, "The file is requested again.")
    return redirect("exports")


def _job(request: HttpRequest, number: int) -> ExportJob:
    job = export_job(visitor_of(request).scope, number)
    if job is None:
        raise Http404("no such file")
    return job


def _actor(request: HttpRequest) -> AbstractBaseUser:
    return request.user  # type: ignore[return-value]  # the gate lets in people only


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."
