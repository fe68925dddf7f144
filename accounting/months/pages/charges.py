"""Charges of a booked month, divided by fields of its lines (money.md M5), and its files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from accounting.core.charge_lines import KIND_TITLES, PLATFORM
from accounting.core.money import minor_places
from accounting.core.rounding import split_money
from accounting.exports.pages.export_files import stream_answer
from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.request import (
    MOST_STREAMED,
    ExportError,
    ExportRequest,
    Format,
)
from accounting.exports.tasks.stream import stream
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import leads, visitor_of
from accounting.kit.reads.selection import SelectionError
from accounting.kit.tags.pages import revision_title
from accounting.kit.tags.units import day
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.charges import ChargeRow, charge_rows
from accounting.months.reads.entries import waiting_of_statements
from accounting.months.reads.lines import Booking, BookingError, booking_of
from accounting.months.reads.payers import (
    Payer,
    payer_of,
    payers_of_booking,
    readable_payers,
)
from accounting.months.reads.periods import period_row


@dataclass(frozen=True, slots=True)
class Split:
    """A way to divide a month: its label, and the fields of a row."""

    label: str
    fields: tuple[str, ...]


SPLITS = {
    "team": Split("Team", ("team",)),
    "model": Split("GPU model", ("model", "lifecycle")),
    "tier": Split("Tier", ("tier",)),
    "namespace": Split("Namespace", ("cluster", "namespace")),
    "workload": Split("Workload", ("team", "namespace", "workload_kind", "workload")),
    "day": Split("Day", ("day",)),
    "state": Split("Kind and state", ("kind", "state")),
    "correction": Split("Corrected month", ("corrects", "team", "kind")),
}
HEADS = {
    "workload_kind": "Kind of workload",
    "corrects": "Corrected month",
    "model": "GPU model",
    "day": "Billing day",
}


@leads
def charge_list(request: HttpRequest) -> HttpResponse:
    """The charges of a month; every way to divide it has the same total."""
    visitor = visitor_of(request)
    periods = list(
        PeriodRevision.objects.filter(reopened_at=None)
        .order_by("-period")
        .values_list("period", flat=True)
    )
    asked = request.GET.get("period", "")
    booking = _booking(asked or next(iter(periods), ""), visitor.now)
    teams = readable_payers(visitor.scope)
    team = request.GET.get("team", "")
    if team and team not in teams:
        raise Http404("no such team")
    by = request.GET.get("by", "team")
    if by not in SPLITS:
        raise SelectionError(f"by={by!r} is not one of {', '.join(SPLITS)}")
    filters = {"team": [team] if team else list(teams)}
    rows = charge_rows(booking, SPLITS[by].fields, filters) if booking else []
    names = payers_of_booking(booking) if booking else {}
    charges = _rounded(rows, booking.currency if booking else "")
    context = {
        "booking": booking,
        "asked": asked,
        "periods": periods,
        "splits": [(name, one.label) for name, one in SPLITS.items()],
        "by": by,
        "team": team,
        "teams": teams,
        "only": next(iter(teams)) if len(teams) == 1 and rows else team if rows else "",
        "heads": [_head(name) for name in SPLITS[by].fields],
        "page": paged(
            list(zip(rows, charges.values(), strict=True)), request.GET
        ).drawn(lambda line: _line(line[0], names, line[1])),
        "may_lack_workload": by in {"namespace", "workload"},
        "total": {"ms": sum(row.ms for row in rows), "charge": sum(charges.values())},
        "sees_all": visitor.scope.sees_all,
        "waiting": waiting_of_statements(booking, filters["team"]) if booking else [],
    }
    return render(request, "months/charges.html", context)


def _booking(period: str, now: datetime) -> Booking | None:
    """The booking of a month; None where none was made yet."""
    if not period:
        return None
    try:
        return booking_of(period)
    except BookingError:
        if period_row(period, now) is None:
            raise Http404("no such month") from None
        return None


def _head(name: str) -> str:
    return HEADS.get(name, name.replace("_", " ").capitalize())


def _rounded(rows: Sequence[ChargeRow], currency: str) -> dict[int, Decimal]:
    """The amount of each row in the units of its currency; they add up to the total."""
    cells = {number: row.charge for number, row in enumerate(rows)}
    return split_money(cells, minor_places(currency))


def _line(
    row: ChargeRow, names: dict[str, Payer], charge: Decimal
) -> dict[str, object]:
    fields = [_text(names, name, value) for name, value in row.fields.items()]
    return {
        "fields": fields,
        "rest": " · ".join(one for one in fields[1:] if one),  # on a phone
        "ms": row.ms,
        "charge": charge,
        "without_money_ms": row.without_money_ms,
    }


_WORDS: dict[str, Callable[[Any], str]] = {
    "kind": lambda kind: KIND_TITLES.get(kind, kind),
    "state": str.capitalize,
    "corrects": revision_title,
    "day": day,
}


def _text(names: dict[str, Payer], name: str, value: object) -> str:
    if value is None or value == "":
        return ""
    if name == "team":
        return payer_of(names, str(value)).name
    return _WORDS.get(name, str)(value)


@leads
def period_file(request: HttpRequest, period: str, what: str) -> HttpResponseBase:
    """A file of a month: FOCUS rows, charges or statements; of one team for its leads."""
    teams = readable_payers(visitor_of(request).scope)
    team = request.GET.get("team") or None
    if what not in [*What] or (team is None and PLATFORM not in teams):
        raise Http404("no such file")
    if team is not None and team not in teams:
        raise Http404("no such team")
    form = request.GET.get("format", Format.CSV)
    if form not in [*Format]:
        raise SelectionError(f"format={form!r} is not one of {', '.join(Format)}")
    profile = request.GET.get("profile", "focus-1.4")
    revision = _revision(request.GET.get("revision", ""))
    try:
        found = stream(
            ExportRequest(What(what), period, profile, team, Format(form), revision)
        )
    except (BookingError, ExportError) as error:
        raise SelectionError(str(error)) from None
    if found.row_count > MOST_STREAMED:
        raise SelectionError(
            f"the file has {found.row_count:,} rows; more than {MOST_STREAMED:,} are written in the"
            f" background: request it at {reverse('exports')}"
        )
    return stream_answer(found)


def _revision(text: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or len(text) > 6:
        raise SelectionError(f"revision={text!r} is not a number, like 1")
    return int(text)
