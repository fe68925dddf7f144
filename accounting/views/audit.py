"""The audit page: who changed what, when and why, from the sealed record."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.domain.calendar import midnight
from accounting.queries.audit import AuditRow, Wish, audit_rows, head, kinds
from accounting.rights import AUDIT
from accounting.views.download import csv_answer
from accounting.views.gate import Visitor, page, visitor_of
from accounting.views.pager import paged

SHOWN, ALL = 5_000, 1_000_000  # rows of the page, of a download
FILTERS = ("what", "actor", "object", "first", "last")
COLUMNS = (
    "id",
    "at",
    "actor",
    "action",
    "what",
    "object",
    "reason",
    "request_id",
    "address",
    "before",
    "after",
)

NAMES = {  # of kinds, where a person would not guess them
    "addedresource": "resource",
    "changeset": "change",
    "changestep": "step",
    "labelspelling": "label",
    "quotatarget": "quota",
    "unitprice": "price",
}


@dataclass(frozen=True, slots=True)
class FieldMove:
    """One column of one change; None where it was not there."""

    name: str
    before: str | None
    after: str | None


@page(AUDIT)
def audit(request: HttpRequest) -> HttpResponse:
    """Changes, newest first."""
    visitor, query = visitor_of(request), request.GET
    wish, note = _wish(visitor, query)
    if "csv" in query:
        return csv_answer(
            "audit", COLUMNS, [_line(row) for row in audit_rows(wish, ALL)]
        )
    rows = audit_rows(wish, SHOWN)
    page = paged(rows, query.dict())
    chosen = {name: query.get(name, "") for name in FILTERS}
    for name in ("first", "last"):  # a date field shows nothing else
        chosen[name] = _iso(chosen[name])
    csv = query.copy()
    csv["csv"] = "audit"
    context = {
        "page": page,
        "lines": [
            (row, moves(row), NAMES.get(row.what, row.what)) for row in page.lines
        ],
        "kinds": sorted((NAMES.get(kind, kind), kind) for kind in kinds()),
        "chosen": chosen,
        "is_filtered": any(chosen.values()),
        "is_cut": len(rows) == SHOWN,
        "note": note,
        "head": head(),
        "csv": f"?{csv.urlencode()}",
        "carry": "&".join(_kept(query)),
    }
    return render(request, "accounting/audit.html", context)


def moves(row: AuditRow) -> list[FieldMove]:
    """The columns that a change touched, as text."""
    return [
        FieldMove(name, _text(row.before, name), _text(row.after, name))
        for name in {**row.before, **row.after}
    ]


def _text(values: Mapping[str, Any], name: str) -> str | None:
    if name not in values:
        return None
    value = values[name]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:199]}…"


def _line(row: AuditRow) -> list[Any]:
    fields = row.fields()
    fields["before"] = json.dumps(fields["before"], ensure_ascii=False)
    fields["after"] = json.dumps(fields["after"], ensure_ascii=False)
    return [fields[name] for name in COLUMNS]


def _kept(query: Mapping[str, Any]) -> list[str]:
    found = query.copy()  # type: ignore[attr-defined]  # a QueryDict
    found.pop("page", None)
    text: str = found.urlencode()
    return [text] if text else []


def _wish(visitor: Visitor, query: Mapping[str, Any]) -> tuple[Wish, str]:
    """What the address asks for, and what of it could not be read."""
    notes = []
    number = query.get("object", "")
    if number and not (number.isdecimal() and len(number) < 19):
        notes.append("The object in the address is no number; it was left out.")
        number = ""
    start = _day(visitor, query.get("first", ""), notes)
    end = _day(visitor, query.get("last", ""), notes, after=1)
    what = query.get("what", "")
    if what and what not in kinds():
        notes.append("Nothing of that kind is on record; all kinds are shown.")
        what = ""
    actor = query.get("actor", "").replace("\0", "")
    return Wish(what, actor, int(number) if number else None, start, end), " ".join(
        notes
    )


def _iso(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return ""


def _day(
    visitor: Visitor, text: str, notes: list[str], after: int = 0
) -> datetime | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
        return midnight(day + timedelta(days=after), visitor.zone)
    except (ValueError, OverflowError):
        notes.append(f"{text[:20]} is no day; write 2026-10-31.")
        return None
