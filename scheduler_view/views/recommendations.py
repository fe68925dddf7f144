"""Recommendations: what could be saved, who decided what, and drafts of smaller quotas."""

from collections.abc import Callable

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounting.domain.core.money import minor_places
from accounting.queries.selection import SelectionError
from accounting.rights import WASTE
from accounting.web.paging import paged
from accounting.web.permissions import Visitor, page, posted, visitor_of
from scheduler_view.actions import recommendations as actions
from scheduler_view.actions.recommendations import DecisionRefused, may_decide
from scheduler_view.domain.plan.edit import EditsRefused
from scheduler_view.models import RecommendationState
from scheduler_view.planning.base_versions import (
    LostUpdate,
)
from scheduler_view.queries.waste.recommendations import (
    RecommendationRow,
    recommendation_rows,
)
from scheduler_view.views.waste import led_team

TONES = {"open": "mute", "accepted": "warn", "dismissed": "mute", "done": "ok"}
CURRENT = (RecommendationState.OPEN, RecommendationState.ACCEPTED)
ALL = "all"


@page(WASTE)
def recommendations(request: HttpRequest) -> HttpResponse:
    """Open and accepted ones, or those of a state."""
    visitor = visitor_of(request)
    chosen = request.GET.get("state", "")
    known = (*RecommendationState.values, ALL)
    if chosen and chosen not in known:
        raise SelectionError(f"state={chosen!r} is not one of {', '.join(known)}")
    scope = visitor.scope
    ref = led_team(scope, request.GET.get("team", ""))
    rows = _rows(visitor, ref.slug if ref else "")
    states = [chosen] if chosen else list(CURRENT)
    lines = [
        {
            "row": row.row,
            "one": row,
            "tone": TONES[row.state],
            "may_decide": may_decide(scope, row),
            "team_slot": row.row.team_slot,
        }
        for row in rows
        if chosen == ALL or row.state in states
    ]
    context = {
        "chosen": chosen,
        "states": [*RecommendationState.choices, (ALL, "All")],
        "team": ref,
        "page": paged(lines, request.GET.dict()),
        "count": len(rows),
    }
    return render(request, "scheduler_view/recommendations.html", context)


@posted(WASTE, belongs_to="recommendations")
def decide(request: HttpRequest) -> HttpResponse:
    """Accept, dismiss, mark as done or open again."""

    def done(row: RecommendationRow) -> HttpResponse:
        actions.decide(
            row,
            request.POST.get("state", ""),
            reason=request.POST.get("reason", ""),
            actor=request.user,  # type: ignore[arg-type]  # signed in
            at=visitor_of(request).now,
        )
        return redirect("recommendations")

    return _with_row(request, done)


@posted(WASTE, belongs_to="recommendations")
def draft(request: HttpRequest) -> HttpResponse:
    """A draft change set with the smaller quota, for administrators."""
    visitor = visitor_of(request)
    if not visitor.scope.is_admin:
        raise PermissionDenied("administrators")

    def done(row: RecommendationRow) -> HttpResponse:
        made = actions.draft_smaller_quota(
            row,
            actor=request.user,  # type: ignore[arg-type]  # signed in
            at=visitor.now,
        )
        return redirect("change", number=made.pk)

    return _with_row(request, done)


def _with_row(
    request: HttpRequest, done: Callable[[RecommendationRow], HttpResponse]
) -> HttpResponse:
    """Act on the row of the form; 404 for one that the visitor may not decide about."""
    visitor = visitor_of(request)
    token = request.POST.get("subject", "")
    row = next((one for one in _rows(visitor) if one.token == token), None)
    if row is None or not may_decide(visitor.scope, row):
        raise Http404("no such recommendation")
    try:
        return done(row)
    except (DecisionRefused, EditsRefused, LostUpdate) as error:
        text = str(error)
        messages.error(request, f"{text[:1].upper()}{text[1:]}.")
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("recommendations")


def _rows(visitor: Visitor, team: str = "") -> list[RecommendationRow]:
    return recommendation_rows(
        visitor.scope,
        minor_places(visitor.billing.currency),
        teams=[team] if team else (),
    )
