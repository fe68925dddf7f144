"""Recommendations: what could be saved, who decided what, and drafts of smaller quotas."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounting.access.rights import WASTE
from accounting.core.money import minor_places
from accounting.kit.outcomes import Refused
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import Visitor, page, posted, visitor_of
from accounting.kit.reads.selection import SelectionError
from scheduler_view.changes.rules.edit import EditsRefused
from scheduler_view.changes.tasks.base_versions import LostUpdate
from scheduler_view.savings import actions
from scheduler_view.savings.actions import may_decide
from scheduler_view.savings.models import RecommendationState
from scheduler_view.savings.pages.recommendation_lines import (
    LEAST,
    family_lines,
    saved,
    teams_of,
    totals,
)
from scheduler_view.savings.pages.waste import led_team
from scheduler_view.savings.reads.recommendation_row import RecommendationRow
from scheduler_view.savings.reads.recommendations import recommendation_rows

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
    everyones = _rows(visitor)
    rows = [row for row in everyones if ref is None or row.row.team == ref.slug]
    states = [chosen] if chosen else list(CURRENT)
    places = minor_places(visitor.billing.currency)
    every = family_lines(
        [row for row in everyones if chosen == ALL or row.state in states], places
    )
    found = [line for line in every if ref is None or line.one.row.team == ref.slug]
    rest = [line for line in found if not chosen and line.is_folded]
    largest = max((line.high or Decimal(0) for line in found), default=Decimal(0))
    lines = [
        {
            "row": line.one.row,
            "family": line,
            "one": line.one,
            "tone": TONES[line.one.state],
            "may_decide": may_decide(scope, line.one),
            "bar": line.parts(largest),
            "team_slot": line.one.row.team_slot,
        }
        for line in found
        if chosen or not line.is_folded
    ]
    context = {
        "chosen": chosen,
        "states": [*RecommendationState.choices, (ALL, "All")],
        "team": ref,
        "page": paged(lines, request.GET.dict()),
        "rest": rest,
        "least": LEAST,
        "currency": visitor.billing.currency,
        "count": 0 if found else len(family_lines(rows, places)),
        "totals": totals(found),
        "apart": sum(1 for line in found if line.high and not line.is_claimed),
        "saved": saved(rows),
        "done": sum(1 for row in rows if row.saved is not None),
        "of_teams": teams_of(every),
    }
    return render(request, "savings/recommendations.html", context)


@posted(WASTE, belongs_to="recommendations")
def decide(request: HttpRequest) -> HttpResponse:
    """Accept, dismiss, mark as done or open again: all work of a family together."""

    def done(rows: Sequence[RecommendationRow]) -> HttpResponse:
        with transaction.atomic():
            for row in rows:
                actions.decide(
                    row,
                    request.POST.get("state", ""),
                    reason=request.POST.get("reason", ""),
                    actor=request.user,  # type: ignore[arg-type]  # signed in
                    at=visitor_of(request).now,
                )
        one, state = rows[0].row, request.POST.get("state", "")
        name = one.family or one.workload or one.node
        word = "open again" if state == RecommendationState.OPEN else state
        messages.success(request, f"The recommendation about {name} is {word}.")
        return redirect(list_of(request))

    return _with_rows(request, done)


@posted(WASTE, belongs_to="recommendations")
def draft(request: HttpRequest) -> HttpResponse:
    """A draft change set with the smaller quota, for administrators."""
    visitor = visitor_of(request)
    if not visitor.scope.is_admin:
        raise PermissionDenied("administrators")

    def done(rows: Sequence[RecommendationRow]) -> HttpResponse:
        made = actions.draft_smaller_quota(
            rows[0],
            actor=request.user,  # type: ignore[arg-type]  # signed in
            at=visitor.now,
        )
        return redirect("change", number=made.pk)

    return _with_rows(request, done)


def _with_rows(
    request: HttpRequest, done: Callable[[Sequence[RecommendationRow]], HttpResponse]
) -> HttpResponse:
    """Act on the rows of the form; 404 with one that the visitor may not decide about."""
    visitor = visitor_of(request)
    known = {one.token: one for one in _rows(visitor)}
    rows = [known.get(token) for token in request.POST.getlist("subject")]
    found = [row for row in rows if row and may_decide(visitor.scope, row)]
    if not found or len(found) < len(rows):
        raise Http404("no such recommendation")
    try:
        return done(found)
    except (Refused, EditsRefused, LostUpdate) as error:
        text = str(error)
        messages.error(request, f"{text[:1].upper()}{text[1:]}.")
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect(list_of(request))


def list_of(request: HttpRequest) -> str:
    """The address of the list from which a form came: of one team, or of all."""
    team = request.GET.get("team", "")
    query = f"?{urlencode({'team': team})}" if team else ""
    return f"{reverse('recommendations')}{query}"


def _rows(visitor: Visitor) -> list[RecommendationRow]:
    return recommendation_rows(visitor.scope, minor_places(visitor.billing.currency))
