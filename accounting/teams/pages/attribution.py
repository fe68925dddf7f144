"""Attribution: which usage belongs to which team, and usage without a team."""

from dataclasses import dataclass, replace
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounting.access.models.teams import Binding, BindingKind
from accounting.access.reads.teams import visible_teams
from accounting.core.billing_calendar import midnight
from accounting.core.interval import HOUR_MS, Interval, to_ms
from accounting.core.unmapped import UNMAPPED
from accounting.kit.forms import EndForm, tomorrow
from accounting.kit.pages.paging import page_of, paged, size_of
from accounting.kit.pages.permissions import Visitor, admin_form, sees_all, visitor_of
from accounting.organization.actions.bindings import add_binding, end_binding
from accounting.organization.reads.directory import binding_rows
from accounting.organization.reads.namespaces import namespace_hints
from accounting.teams.forms import BindingForm
from accounting.usage.pages.page_state import PageState
from accounting.usage.reads.unmapped import unmapped_rows
from accounting.usage.reads.usage import usage_rows
from accounting.usage.rules.rows import UsageRow

TRIAL_DAYS = 7


@sees_all
def attribution(request: HttpRequest) -> HttpResponse:
    """The rules in their order, and the namespaces that none of them matches."""
    state = PageState(request, compares=False)
    query = state.query.dict()
    unmapped, size = unmapped_rows(state.selection()), size_of(query)
    context = {
        "state": state,
        "rules": paged(binding_rows(state.visitor.scope), query),
        "names": visible_teams(state.visitor.scope),
        "unmapped": page_of(unmapped, state.query.get("namespaces", ""), size),
        "can_edit": state.visitor.scope.is_admin,
    }
    return render(request, "teams/attribution.html", context)


@dataclass(frozen=True, slots=True)
class MovedUsage:
    """Usage of one namespace without a team that a new rule matches.

    Attributes:
        recent: of the last days, for any start of the rule.
        since: of the days from the rule's start on; None if there are none.
    """

    namespace: str
    recent: UsageRow | None
    since: UsageRow | None

    @property
    def both(self) -> tuple[UsageRow | None, UsageRow | None]:
        """The two columns of its line."""
        return self.recent, self.since


@dataclass(frozen=True, slots=True)
class RulePreview:
    """The effect of a new rule, which comes last.

    Attributes:
        moves: by namespace.
        stays: usage of the last days that matches, but belongs to an earlier rule.
    """

    moves: tuple[MovedUsage, ...]
    stays: tuple[UsageRow, ...]

    @property
    def since_ms(self) -> int:
        """GPU time that is already computed and that the new rule would move."""
        return sum(one.since.allocated_ms for one in self.moves if one.since)


@admin_form
def binding_add(request: HttpRequest) -> HttpResponse:
    """Add a rule from a day on: first a preview of its effect, then saved."""
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
        form.add_error(None, "The same rule already exists for these days.")
        return _form(request, visitor, form)
    messages.success(
        request,
        f"The rule is saved. {chosen['team'].name} receives the usage that it matches.",
    )
    return redirect("attribution")


def _trial(request: HttpRequest, chosen: dict[str, Any]) -> RulePreview | None:
    """The preview of a rule on namespaces: the last days and its own days; None for labels."""
    state = PageState(request, compares=False)
    until = state.chip.until
    if chosen["kind"] != BindingKind.NAMESPACE or until is None:
        return None
    recent = _matching(state, chosen, to_ms(until - timedelta(days=TRIAL_DAYS)))
    begins = midnight(chosen["valid_from"], state.visitor.billing.zone)
    since = _matching(state, chosen, to_ms(begins))
    of_recent, of_since = (
        {row.key["namespace"]: row for row in rows if row.key["team"] == UNMAPPED}
        for rows in (recent, since)
    )
    names = sorted({*of_recent, *of_since})
    return RulePreview(
        tuple(MovedUsage(one, of_recent.get(one), of_since.get(one)) for one in names),
        tuple(row for row in recent if row.key["team"] != UNMAPPED),
    )


def _matching(
    state: PageState, chosen: dict[str, Any], start_ms: int
) -> list[UsageRow]:
    """Usage of matching namespaces in full hours from a time to the newest."""
    until = state.chip.until
    end_ms = to_ms(until) if until else 0
    whole = Interval(
        start_ms - start_ms % HOUR_MS,
        max(end_ms - end_ms % HOUR_MS, start_ms - start_ms % HOUR_MS),
    )
    if not whole.length_ms:
        return []
    rows = usage_rows(replace(state.selection(), period=whole), ("team", "namespace"))
    return [r for r in rows if fnmatchcase(r.key["namespace"], chosen["glob"])]


@admin_form
def binding_end(request: HttpRequest, binding_id: int) -> HttpResponse:
    """End a rule on a day; usage before that does not change."""
    visitor = visitor_of(request)
    binding = get_object_or_404(Binding.objects.select_related("team"), pk=binding_id)
    today = visitor.now.astimezone(visitor.billing.zone).date()
    form = EndForm(request.POST or None, initial={"valid_to": tomorrow(today)})
    if request.method == "POST" and form.is_valid():
        valid_to = midnight(form.cleaned_data["valid_to"], visitor.billing.zone)
        if valid_to <= binding.valid_from:
            form.add_error("valid_to", "The end must be later than the beginning.")
        else:
            end_binding(
                binding,
                valid_to=valid_to,
                actor=request.user,  # type: ignore[arg-type]  # signed in, or `posted` had refused
                reason=form.cleaned_data["reason"],
            )
            messages.success(request, "The rule ends on that day.")
            return redirect("attribution")
    status = 422 if form.errors else 200
    context = {"form": form, "binding": binding}
    return render(request, "teams/binding_end.html", context, status=status)


def _form(
    request: HttpRequest,
    visitor: Visitor,
    form: BindingForm,
    trial: RulePreview | None = None,
) -> HttpResponse:
    context = {
        "form": form,
        "trial": trial,
        "is_checked": form.is_bound and not form.errors,
        "days": TRIAL_DAYS,
        "currency": visitor.billing.currency,
        "unmapped": unmapped_rows(PageState(request, compares=False).selection()),
        "hints": namespace_hints(str(form["glob"].value() or ""), visitor.scope),
    }
    status = 422 if form.errors else 200
    return render(request, "teams/binding_form.html", context, status=status)
