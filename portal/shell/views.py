"""The pages that join everything: overview, search, data health, setup."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from urllib.parse import urlencode

import structlog
from django.contrib import messages
from django.contrib.auth.views import LogoutView
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse

from accounting.charts import grids
from accounting.domain.core.billing_calendar import DayRange
from accounting.domain.core.interval import HOUR_MS, Interval, to_ms
from accounting.models import SourceKind
from accounting.queries.audit.verify import verdicts
from accounting.queries.data_health.freshness import (
    LATE,
    SourceRow,
    gaps,
    last_runs,
    source_rows,
)
from accounting.queries.data_health.issues import issue_rows
from accounting.queries.data_health.kube_state_jobs import kube_state_job_rows
from accounting.queries.data_health.unobserved import held_by_day
from accounting.queries.dimensions import LEDGER_DIMENSIONS
from accounting.queries.file_names import period_part
from accounting.queries.search import Hit, find
from accounting.queries.selection import Selection
from accounting.queries.setup.steps import is_complete, setup_steps
from accounting.queries.teams.teams import TeamRef, visible_teams
from accounting.queries.usage.breakdown import breakdown
from accounting.queries.usage.coverage import (
    DayCoverage,
    covered_length_ms,
    day_coverage,
    missing_days,
)
from accounting.queries.usage.ledger import ledger_rows, ledger_total
from accounting.queries.usage.ranking import largest, moved_most
from accounting.rights import DATA_ISSUES, SIGNED_IN
from accounting.views.unobserved import unobserved
from accounting.web import figures, shapes, tables
from accounting.web.downloads import csv_answer
from accounting.web.filters import LABELS
from accounting.web.foreign_teams import foreign_note, foreign_teams, leave_out_foreign
from accounting.web.freshness_badge import chip_of
from accounting.web.page_state import PageState
from accounting.web.permissions import admins, posted, sees_all, signed_in, visitor_of
from accounting.web.splits import filtering, split_of
from accounting.web.steps import FREQUENCY, ChartStep, steps_of
from portal.http.refusals import API, failure
from portal.shell.data_health_csv import health_csv
from portal.shell.navigation import NAVIGATION

ALL = 1_000_000  # rows of a download
LISTED = 8  # workloads in a list of the overview
CALENDAR_DAYS = 84  # twelve weeks
LOW = 0.95  # a day with fewer of its samples is named
CALENDAR_LEGEND = (
    ("full", "99% and more"),
    ("most", "95% and more"),
    ("part", "50% and more"),
    ("low", "Less"),
    ("none", "No data"),
)


@signed_in
def overview(request: HttpRequest) -> HttpResponse:
    """Where the GPU-hours and the money went; a person with one team lands on it."""
    state = PageState(request, filters=LABELS)
    teams = visible_teams(state.visitor.scope)
    if "csv" in state.query:
        return _changes_csv(state)
    if not state.visitor.scope.sees_all and len(teams) == 1:
        return _only_team(request, state, next(iter(teams.values())))
    leave_out_foreign(state, teams, "Your teams are shown instead." if teams else "")
    selection = state.selection()
    coverage = day_coverage(state.days, state.zone, state.cluster)
    length = covered_length_ms(coverage)
    sides = state.sides(length)
    places = figures.places_of(state.currency)
    found = breakdown(
        selection,
        "team",
        sides=sides,
        length_ms=length,
        places=places,
        step=state.step,
    )
    missing = missing_days(coverage, *state.data_days)
    steps = steps_of(state, missing)
    lines = tables.team_lines(found, teams, sides, length)
    idle = largest(selection, ("team", "workload"), "idle", LISTED, places)
    names = {
        line.key: figures.Key(
            line.name, line.slot, "busy", state.with_filter("team", line.key)
        )
        for line in lines
    }
    context = {
        "state": state,
        "breakdown": found,
        "missing_days": missing,
        "frequency": FREQUENCY[state.step],
        "sparks": figures.sparks(found, steps),
        "spend": figures.spend_chart(found, steps, names, state),
        "bars": sorted(lines, key=lambda line: -line.row.allocated_ms),
        "teams": tables.team_table(lines, found, state.sort),
        "idle": tables.workload_lines(tables.idle_only(idle.rows), teams),
        "movers": [],
        "split": split_of(state, selection, teams, places),
        **filtering(state, teams),
    }
    if state.before_period is not None and found.has_before:
        movers = moved_most(selection, state.before_period, LISTED, places)
        context["movers"] = tables.mover_lines(movers, teams)
    if state.visitor.scope.sees_all and not set(state.filters).difference(
        LEDGER_DIMENSIONS
    ):
        context |= _capacity(state, steps, length, places)
    return render(request, "portal/overview.html", context)


def _only_team(request: HttpRequest, state: PageState, team: TeamRef) -> HttpResponse:
    """Redirect to the visitor's only team, with a warning where the link names another."""
    if foreign := foreign_teams(state, {team.slug}):
        messages.warning(
            request, foreign_note(foreign, f"{team.name} is shown instead.")
        )
    leave_out_foreign(state, {team.slug}, "")
    return redirect(state.link(tables.team_url(team), team=""))


def _changes_csv(state: PageState) -> HttpResponse:
    """Every workload whose charge moved, and by how much."""
    columns = ("team", "namespace", "workload", "before", "after", "change", "currency")
    found = []
    if state.before_period is not None:
        places = figures.places_of(state.currency)
        found = moved_most(state.selection(), state.before_period, ALL, places)
    rows = [
        (
            one.team,
            one.namespace,
            one.workload,
            one.change.before,
            one.change.after,
            one.change.difference,
            state.currency,
        )
        for one in found
    ]
    period = period_part(state.exact["from"], state.exact["to"])
    return csv_answer("spend-changes", columns, rows, period=period)


def _capacity(
    state: PageState, steps: Sequence[ChartStep], length_ms: int, places: int
) -> dict[str, object]:
    """The whole fleet: only for those who see every team."""
    selection = state.selection()
    row = ledger_total(selection)
    if not row.wall_ms:
        return {}
    rows = ledger_rows(selection, (state.step_dimension,))
    return {
        "ledger": shapes.capacity(row, length_ms, places),
        "ledger_spark": figures.ledger_spark(rows, steps, state),
    }


@signed_in
def freshness(request: HttpRequest) -> HttpResponse:
    """The chip at the top, for the page to ask again."""
    return render(request, "portal/_freshness.html", {"freshness": chip_of(request)})


@signed_in
def find_anything(request: HttpRequest) -> HttpResponse:
    """Pages, teams, workloads and GPUs by a part of their name."""
    words = request.GET.get("q", "").strip()
    visitor = visitor_of(request)
    pages = [
        (item.label, reverse(item.route))
        for item in NAVIGATION
        if item.is_for(visitor.scope) and words.lower() in item.label.lower()
    ]
    hits = [(hit, _hit_url(hit)) for hit in find(visitor.scope, words)]
    context = {"words": words, "pages": pages, "hits": hits}
    is_fragment = request.headers.get("HX-Request") == "true"
    name = "portal/_found.html" if is_fragment else "portal/find.html"
    return render(request, name, context)


def _hit_url(hit: Hit) -> str:
    if hit.kind == "gpu":
        return reverse("gpu", args=[hit.key])
    if hit.kind == "team":
        return reverse("team", args=[hit.key])
    return f"{reverse('team-workloads', args=[hit.team])}?{urlencode({'q': hit.name})}"


@signed_in
def data_health(request: HttpRequest) -> HttpResponse:
    """Whether the numbers can be trusted: sources, coverage, gaps, runs, issues."""
    state = PageState(request, compares=False)
    scope = state.visitor.scope
    last = state.today
    span = DayRange(last - timedelta(days=CALENDAR_DAYS - 1), last + timedelta(days=1))
    coverage = day_coverage(span, state.zone, state.cluster)
    known = {day: one.ratio for day, one in coverage.items() if _has_begun(day, state)}
    if wanted := state.query.get("csv"):
        return health_csv(wanted, scope, [coverage[day] for day in sorted(known)])
    sees_all = DATA_ISSUES.allows(scope)
    issues = issue_rows(Selection(scope), "all")
    context = {
        "state": None,
        "chip": state.chip,
        **_calendar(state, span, [coverage[day] for day in sorted(known)]),
        "missing": missing_days(coverage, *state.data_days),
        "sources": [
            (row, _source_state(row, state.visitor.now)) for row in source_rows(scope)
        ],
        "runs": last_runs(scope, 50),
        "gaps": gaps(scope, 50),
        "issues": [row for row in issues if row.resolved_at is None],
        "currency": state.currency,
        "resolved": [row for row in issues if row.resolved_at is not None],
        "sees_all": sees_all,
        "kube_jobs": kube_state_job_rows(scope),
        "can_edit": scope.is_admin,
        "own": None if sees_all else unobserved(state, span),
    }
    return render(request, "portal/data_health.html", context)


def _calendar(
    state: PageState, span: DayRange, days: Sequence[DayCoverage]
) -> dict[str, object]:
    """Days with data: their samples of all GPUs, and how much held time was observed."""
    held = held_by_day(state.unfiltered(), span.period(state.zone))
    return {
        "calendar": grids.coverage_calendar({one.day: one.ratio for one in days}),
        "legend": CALENDAR_LEGEND,
        "held": held,
        "coverage": [(one, held.get(one.day)) for one in reversed(days)],
        "low": [
            one for one in reversed(days) if one.ratio is not None and one.ratio < LOW
        ],
    }


def _source_state(row: SourceRow, now: datetime) -> str:
    """One word for how a source does."""
    if not row.is_active:
        return "off"
    if row.last_error:
        return "failing"
    if row.last_read_at is None:
        return "unread"
    if row.kind == SourceKind.OPENMETRICS:
        return "answers"  # files come when somebody brings them
    return "late" if now - row.last_read_at > LATE else "answers"


def _has_begun(day: date, state: PageState) -> bool:
    first, last = state.data_days
    return first is not None and last is not None and first <= day <= last


@sees_all
def proofs(request: HttpRequest) -> HttpResponse:
    """The invariants over the newest whole hour: asked for apart, because it takes longer."""
    until = chip_of(request).until
    context: dict[str, object] = {"verdicts": [], "state": None}
    if until is not None:
        end_ms = to_ms(until) - to_ms(until) % HOUR_MS
        period = Interval(end_ms - HOUR_MS, end_ms)
        context |= {"verdicts": verdicts(period), "period": period}
    is_fragment = request.headers.get("HX-Request") == "true"
    name = "portal/_proofs.html" if is_fragment else "portal/proofs.html"
    return render(request, name, context)


@admins
def setup(request: HttpRequest) -> HttpResponse:
    """The steps of a setup, which check themselves."""
    steps = setup_steps()
    context = {
        "steps": steps,
        "done": sum(step.state == "done" for step in steps),
        "is_complete": is_complete(steps),
    }
    is_fragment = request.headers.get("HX-Request") == "true"
    name = "portal/_steps.html" if is_fragment else "portal/setup.html"
    return render(request, name, context)


def failed(request: HttpRequest) -> HttpResponse:
    """500: a page that asks nothing of the database, or a problem document for programs."""
    if request.path.startswith(API):
        return failure(request)
    context = {
        "request_id": structlog.contextvars.get_contextvars().get("request_id", ""),
        "address": request.get_full_path(),
        "can_repeat": request.method in {"GET", "HEAD"},
    }
    return HttpResponse(render_to_string("500.html", context), status=500)


@posted(SIGNED_IN, belongs_to="overview")
def sign_out(request: HttpRequest) -> HttpResponseBase:
    """End the session; the sign-in page follows."""
    return LogoutView.as_view()(request)


def refused(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: says who may open it and whom to ask."""
    who = str(exception) or "administrators"
    return render(request, "403.html", {"who": who}, status=403)
