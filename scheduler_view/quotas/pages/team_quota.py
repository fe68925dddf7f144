"""A team's quotas: limits, their changes, and a request for another one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.access.reads.teams import TeamRef, visible_teams
from accounting.kit.pages.permissions import signed_in_form, visitor_of
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.forms import RequestForm
from scheduler_view.changes.pages.requests import ask, request_form
from scheduler_view.changes.pages.stages import states_of
from scheduler_view.changes.reads.change_sets import change_rows
from scheduler_view.quotas.reads.history import QuotaMoment, quota_history
from scheduler_view.quotas.reads.limits.rows import (
    limit_rows,
    observed_clusters,
    unmanaged,
)
from scheduler_view.quotas.reads.quotas import QuotaRow, quota_rows
from scheduler_view.waits.reads.preempted import preempted_rows
from scheduler_view.waits.reads.waiting_units import waiting_rows

WIDTH, HEIGHT, LEFT, TOP = 640, 120, 56, 14  # of the step line's drawing, in units

APART = 24  # between two labels: on a phone they have twice the size of the drawing


@dataclass(frozen=True, slots=True)
class Mark:
    """One change on a step line."""

    x: float
    y: float
    moment: QuotaMoment


@dataclass(frozen=True, slots=True)
class QuotaStepLine:
    """The history of a quota as a step line.

    Attributes:
        path: of an SVG.
        levels: (y, GPUs) to label.
        sentence: the same as text.
    """

    row: QuotaRow | None
    cluster: str
    resource: str
    tier: str
    path: str
    marks: Sequence[Mark]
    levels: Sequence[tuple[float, int]]
    since: datetime
    sentence: str


@signed_in_form
def team_quota(request: HttpRequest, slug: str) -> HttpResponse:
    """Quotas of a team. Its leads may request others; administrators decide."""
    visitor = visitor_of(request)
    team = visible_teams(visitor.scope).get(slug)
    if team is None:
        raise Http404("no such team")
    visitor = visitor_of(request)
    rows = quota_rows(visitor.scope, visitor.now, team=team.slug)
    clusters = list(Cluster.objects.order_by("name"))
    if request.method != "POST":
        return _page(request, team, rows, request_form(rows, None, clusters))
    form = request_form(rows, request.POST, clusters)
    return ask(request, team, form) or _page(request, team, rows, form)


def _page(
    request: HttpRequest, team: TeamRef, rows: Sequence[QuotaRow], form: RequestForm
) -> HttpResponse:
    visitor = visitor_of(request)
    scope = visitor.scope
    moments = quota_history(scope, team.id)
    context = {
        "state": None,
        "team": team,
        "rows": rows,
        "others": [
            one
            for one in unmanaged(limit_rows(scope, visitor.now))
            if one.team == team.slug
        ],
        "is_observed": bool(observed_clusters()),
        "lines": step_lines(rows, moments, visitor.now),
        "moments": moments[::-1],
        "held_up": waiting_rows(visitor.scope, visitor.now, team=team.slug),
        "preempted": preempted_rows(team.id, visitor.now),
        "changes": states_of(change_rows(scope, team=team.slug, limit=20), visitor.now),
        "is_admin": scope.is_admin,
        "may_ask": team.id in scope.lead_of and not scope.is_admin,
        "form": form,
    }
    status = 422 if form.errors else 200
    return render(request, "quotas/team_quota.html", context, status=status)


def step_lines(
    rows: Sequence[QuotaRow], moments: Sequence[QuotaMoment], now: datetime
) -> list[QuotaStepLine]:
    """A line for each quota that ever existed."""
    found: dict[tuple[str, str, str], list[QuotaMoment]] = {}
    for moment in moments:
        key = (moment.cluster, moment.resource, moment.tier)
        found.setdefault(key, []).append(moment)
    current = {(row.cluster, row.resource, row.tier): row for row in rows}
    return [
        _step_line(current.get(key), key, of_key, now)
        for key, of_key in sorted(found.items())
    ]


def _step_line(
    row: QuotaRow | None,
    key: tuple[str, str, str],
    moments: Sequence[QuotaMoment],
    now: datetime,
) -> QuotaStepLine:
    since = moments[0].at
    length = max((now - since).total_seconds(), 1.0)
    most = max((m.gpus or 0 for m in moments), default=0)
    most = max(most, row.peak if row else 0, 1)

    def x_of(at: datetime) -> float:
        part = (at - since).total_seconds() / length
        return round(LEFT + min(max(part, 0.0), 1.0) * (WIDTH - LEFT - 8), 1)

    def y_of(gpus: int) -> float:
        return round(TOP + (1 - gpus / most) * (HEIGHT - TOP - 4), 1)

    marks = [Mark(x_of(m.at), y_of(m.gpus or 0), m) for m in moments]
    pieces = []
    for i, mark in enumerate(marks):
        pieces.append(f"{'V' if i else 'M'}{'' if i else f'{mark.x} '}{mark.y}")
        end = marks[i + 1].x if i + 1 < len(marks) else x_of(now)
        pieces.append(f"H{end}")
    levels = sorted(
        {(mark.y, mark.moment.gpus or 0) for mark in marks} | {(y_of(0), 0)}
    )
    return QuotaStepLine(
        row,
        *key,
        " ".join(pieces),
        marks,
        _apart(levels),
        since,
        _sentence(key, moments),
    )


def _apart(levels: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """Labels, moved so that they do not overlap."""
    found: list[tuple[float, int]] = []
    for level in levels:
        if not found or level[0] - found[-1][0] >= APART:
            found.append(level)
    return found


def _sentence(key: tuple[str, str, str], moments: Sequence[QuotaMoment]) -> str:
    amounts = ["none" if m.gpus is None else str(m.gpus) for m in moments]
    first = f"{moments[0].at:%d %b %Y}"
    if len(amounts) == 1:
        return f"{amounts[0]} of {key[1]} since {first}."
    return f"{amounts[0]} of {key[1]} on {first}, then {', '.join(amounts[1:])}."
