"""Data health: samples by day, sources, issues, consistency checks, freshness."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.access.rights import DATA_ISSUES
from accounting.core.billing_calendar import DayRange
from accounting.core.interval import HOUR_MS, Interval, to_ms
from accounting.health.pages import chip_of
from accounting.health.reads.freshness import (
    LATE,
    SourceRow,
    gaps,
    last_runs,
    source_rows,
)
from accounting.health.reads.issues import issue_rows
from accounting.kit.cards import LateCard
from accounting.kit.charts import grids
from accounting.kit.pages.fragments import card_answer
from accounting.kit.pages.permissions import sees_all, signed_in
from accounting.kit.reads.selection import Selection
from accounting.metering.models.cluster import SourceKind
from accounting.metering.reads.data_health.kube_state_jobs import kube_state_job_rows
from accounting.months.reads.invariants.verify import verdicts
from accounting.usage.pages.page_state import PageState
from accounting.usage.pages.unobserved import unobserved
from accounting.usage.reads.coverage import DayCoverage, day_coverage, missing_days
from accounting.usage.reads.unobserved import held_by_day
from portal.shell.data_health_csv import health_csv

CALENDAR_DAYS = 84  # twelve weeks

LOW = 0.95  # a day with fewer of its samples is listed

PROOFS = LateCard(
    route="proofs",
    title="Consistency checks",
    id="proofs",
    template="portal/_proofs.html",
    page="data-health",
    label="Data health",
    css="s7",
    rows=8,
)
CALENDAR_LEGEND = (
    ("full", "99% and more"),
    ("most", "95% and more"),
    ("part", "50% and more"),
    ("low", "Less"),
    ("none", "No data"),
)


@signed_in
def freshness(request: HttpRequest) -> HttpResponse:
    """The badge at the top of the page, for reloading."""
    return render(request, "portal/_freshness.html", {"freshness": chip_of(request)})


@signed_in
def data_health(request: HttpRequest) -> HttpResponse:
    """Completeness of the data: sources, coverage, gaps, runs, issues."""
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
    """Days with data: samples of all GPUs, and how much held time was observed."""
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
    """The state of a source in one word."""
    if not row.is_active:
        return "off"
    if row.last_error:
        return "failing"
    if row.last_read_at is None:
        return "unread"
    if row.kind == SourceKind.OPENMETRICS:
        return "answers"  # files have no schedule
    return "late" if now - row.last_read_at > LATE else "answers"


def _has_begun(day: date, state: PageState) -> bool:
    first, last = state.data_days
    return first is not None and last is not None and first <= day <= last


@sees_all
def proofs(request: HttpRequest) -> HttpResponse:
    """The invariants over the newest full hour: a separate request, because it takes longer."""
    until = chip_of(request).until
    context: dict[str, object] = {"verdicts": [], "state": None}
    if until is not None:
        end_ms = to_ms(until) - to_ms(until) % HOUR_MS
        period = Interval(end_ms - HOUR_MS, end_ms)
        context |= {"verdicts": verdicts(period), "period": period}
    return card_answer(request, PROOFS, context)
