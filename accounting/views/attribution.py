"""Attribution: which usage belongs to which team, and what belongs to none."""

from dataclasses import dataclass, replace
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounting.actions.bindings import add_binding, end_binding
from accounting.domain.calendar import midnight
from accounting.domain.period import Period
from accounting.domain.report import UNMAPPED, UsageRow
from accounting.forms import BindingForm, EndForm, tomorrow
from accounting.models import Binding, BindingKind
from accounting.queries.directory import binding_rows, unmapped_rows
from accounting.queries.teams import visible_teams
from accounting.queries.usage import usage_rows
from accounting.views.gate import Visitor, admin_form, sees_all, visitor_of
from accounting.views.state import PageState

TRIAL_DAYS = 7


@sees_all
def attribution(request: HttpRequest) -> HttpResponse:
    """The rules in their order, and the namespaces that none of them gives to a team."""
    state = PageState(request, compares=False)
    context = {
        "state": state,
        "rules": binding_rows(state.visitor.scope),
        "names": visible_teams(state.visitor.scope),
        "unmapped": unmapped_rows(state.selection()),
        "can_edit": state.visitor.scope.is_admin,
    }
    return render(request, "accounting/attribution.html", context)


@dataclass(frozen=True, slots=True)
class Trial:
    """What a new rule, which comes last, would have done in the last days."""

    moves: tuple[UsageRow, ...]  # unmapped usage of matching namespaces
    stays: tuple[UsageRow, ...]  # matching, but an earlier rule decides


@admin_form
def binding_add(request: HttpRequest) -> HttpResponse:
    """A rule from a day on: first what it would have moved, then saved."""
    visitor = visitor_of(request)
    today = visitor.now.astimezone(visitor.billing.zone).date()
    if request.method != "POST":
        start = {"glob": request.GET.get("namespace", ""), "valid_from": today}
        return _form(request, visitor, BindingForm(initial=start))
    form = BindingForm(request.POST)
    if not form.is_valid():
        return _form(request, visitor, form)
    chosen = form.cleaned_data
    if "confirm" not in request.POST:
        return _form(request, visitor, form, _trial(request, chosen))
    try:
        add_binding(
            kind=chosen["kind"],
            label=chosen["label"],
            glob=chosen["glob"],
            team=chosen["team"],
            valid_from=midnight(chosen["valid_from"], visitor.billing.zone),
            actor=request.user,  # type: ignore[arg-type]  # the gate lets nobody else in
            reason=chosen["reason"],
        )
    except (ValidationError, IntegrityError):
        form.add_error(None, "The same rule is already there for these days.")
        return _form(request, visitor, form)
    messages.success(
        request, f"The rule is saved; {chosen['team'].name} gets what it matches."
    )
    return redirect("attribution")


def _trial(request: HttpRequest, chosen: dict[str, Any]) -> Trial | None:
    """For a rule on namespaces: what the last days hold; None for labels."""
    state = PageState(request, compares=False)
    until = state.chip.until
    if chosen["kind"] != BindingKind.NAMESPACE or until is None:
        return None
    period = Period.of(until - timedelta(days=TRIAL_DAYS), until)
    hours = Period(period.start_ms - period.start_ms % 3_600_000, period.end_ms)
    whole = Period(hours.start_ms, hours.end_ms - hours.end_ms % 3_600_000)
    rows = usage_rows(replace(state.selection(), period=whole), ("team", "namespace"))
    matching = [r for r in rows if fnmatchcase(r.key["namespace"], chosen["glob"])]
    return Trial(
        tuple(row for row in matching if row.key["team"] == UNMAPPED),
        tuple(row for row in matching if row.key["team"] != UNMAPPED),
    )


@admin_form
def binding_end(request: HttpRequest, binding_id: int) -> HttpResponse:
    """Let a rule end on a day; what it gave before stays."""
    visitor = visitor_of(request)
    binding = get_object_or_404(Binding.objects.select_related("team"), pk=binding_id)
    today = visitor.now.astimezone(visitor.billing.zone).date()
    form = EndForm(request.POST or None, initial={"valid_to": tomorrow(today)})
    if request.method == "POST" and form.is_valid():
        valid_to = midnight(form.cleaned_data["valid_to"], visitor.billing.zone)
        if valid_to <= binding.valid_from:
            form.add_error("valid_to", "A rule ends after it begins.")
        else:
            end_binding(
                binding,
                valid_to=valid_to,
                actor=request.user,  # type: ignore[arg-type]
                reason=form.cleaned_data["reason"],
            )
            messages.success(request, "The rule ends on that day.")
            return redirect("attribution")
    status = 422 if form.errors else 200
    context = {"form": form, "binding": binding}
    return render(request, "accounting/binding_end.html", context, status=status)


def _form(
    request: HttpRequest,
    visitor: Visitor,
    form: BindingForm,
    trial: Trial | None = None,
) -> HttpResponse:
    context = {
        "form": form,
        "trial": trial,
        "is_checked": form.is_bound and not form.errors,
        "days": TRIAL_DAYS,
        "currency": visitor.billing.currency,
        "unmapped": unmapped_rows(PageState(request, compares=False).selection()),
    }
    status = 422 if form.errors else 200
    return render(request, "accounting/binding_form.html", context, status=status)
