"""The statement of one team and month: a page, and the same on paper (money.md M33)."""

from datetime import date
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounting.access.models.teams import Team
from accounting.access.scope import Scope
from accounting.core.billing_calendar import months_later
from accounting.core.charge_lines import PLATFORM
from accounting.core.unmapped import UNMAPPED
from accounting.kit.pages.permissions import leads, visitor_of
from accounting.months.reads.contests import contests_of
from accounting.months.reads.entries import waiting_of_statements
from accounting.months.reads.lines import Booking, BookingError, booking_of
from accounting.months.reads.method_text import method_sentences
from accounting.months.reads.periods import data_since, overrides_of
from accounting.months.reads.statement_document import document
from accounting.months.reads.statement_table import parts_table
from accounting.months.reads.statements import StatementRow, statement_row
from accounting.months.rules.contest_words import TONES
from accounting.months.tasks.periods import previous_period

RESERVED = (PLATFORM, UNMAPPED)


@leads
def statement(request: HttpRequest, team: str, period: str) -> HttpResponse:
    """What a team pays for a month, by what, and how it was computed."""
    visitor = visitor_of(request)
    booking = _booking(period, request.GET.get("revision", ""))
    row = statement_row(booking, visitor.scope, team) if booking else None
    if booking is None or row is None:
        raise Http404("no such statement")
    before = _booking(previous_period(period), "")
    then = statement_row(before, visitor.scope, team) if before else None
    found = document(booking, row)
    others = [found.other_workloads] if found.other_workloads else []
    context = {
        "booking": booking,
        "row": row,
        "document": found,
        "days": parts_table(found.days, row),
        "workloads": parts_table([*found.workloads, *others], row),
        "data_since": data_since(booking),
        "before": then,
        "number": f"{period}-{team}-r{booking.revision}" if booking.is_closed else "",
        "first": date.fromisoformat(f"{period}-01"),
        "is_platform": team == PLATFORM,
        "method": method_sentences(booking.method),
        "contests": [
            (one, TONES[one.state], one.state_label)
            for one in contests_of(visitor.scope, team, period)
        ],
        "may_contest": Team.objects.filter(
            slug=team, pk__in=visitor.scope.lead_of
        ).exists(),
        "evidence": _evidence(booking, row, visitor.scope),
        "families_url": _families_url(booking, row),
        "overrides": overrides_of(booking),
        "waiting": waiting_of_statements(booking, [team]),
        "may_read_twins": visitor.scope.sees_all,
    }
    return render(request, "months/statement.html", context)


def _booking(period: str, revision: str) -> Booking | None:
    if revision and not revision.isdecimal():
        return None
    try:
        return booking_of(period, int(revision) if revision else None)
    except BookingError:
        return None


def _days(booking: Booking) -> dict[str, str]:
    first = date.fromisoformat(f"{booking.period}-01")
    return {"from": first.isoformat(), "to": months_later(first, 1).isoformat()}


def _families_url(booking: Booking, row: StatementRow) -> str:
    """The families of the month; "" for a statement of no team."""
    if row.team in RESERVED:
        return ""
    url = reverse("team-workloads", args=[row.team])
    return f"{url}?{urlencode(_days(booking))}"


def _evidence(
    booking: Booking, row: StatementRow, scope: Scope
) -> list[tuple[str, str]]:
    """Pages behind the amounts: each link has its words and its address."""
    days = _days(booking)
    charges = {"period": booking.period, "team": row.team, "by": "workload"}
    found: list[tuple[str, str, dict[str, str]]] = [
        ("Charges by workload", reverse("charges"), charges)
    ]
    if row.team not in RESERVED:
        found += [
            ("Families of workloads and their use", _families_url(booking, row), {}),
            (
                "Rules that give time to the team",
                reverse("team-rules", args=[row.team]),
                {},
            ),
            (
                "Where the charge comes from",
                reverse("explain"),
                {"what": "charge", "team": row.team, **days},
            ),
        ]
    elif scope.sees_all:
        found.append(("Rules that give time to teams", reverse("attribution"), {}))
    found.append(("Prices", reverse("prices"), {}))
    found.append(("How complete the data is", reverse("data-health"), {}))
    return [
        (words, f"{url}?{urlencode(query)}" if query else url)
        for words, url, query in found
    ]
