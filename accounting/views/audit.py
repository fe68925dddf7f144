"""The audit page: who changed what, when and why, from the sealed record."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponseBase, QueryDict
from django.shortcuts import render

from accounting.domain.calendar import midnight
from accounting.queries.audit import (
    COLUMNS,
    AuditRow,
    Wish,
    audit_page,
    audit_rows,
    head,
    kinds,
)
from accounting.rights import AUDIT
from accounting.views.download import csv_streamed
from accounting.views.gate import Visitor, page, visitor_of
from accounting.views.pager import size_of

FILTERS = ("what", "actor", "object", "first", "last")

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
def audit(request: HttpRequest) -> HttpResponseBase:
    """Changes, newest first, page by page to the first one on record."""
    visitor, query = visitor_of(request), request.GET
    wish, note = _wish(visitor, query)
    if "csv" in query:
        every = replace(wish, before=None)
        return csv_streamed(
            "audit-log", COLUMNS, (r.fields() for r in audit_rows(every))
        )
    found = audit_page(wish, size_of(query.dict()))
    chosen = {name: query.get(name, "") for name in FILTERS}
    for name in ("first", "last"):  # a date field shows nothing else
        chosen[name] = _iso(chosen[name])
    csv = query.copy()
    csv["csv"] = "audit"
    context = {
        "lines": [
            (row, moves(row), NAMES.get(row.what, row.what)) for row in found.rows
        ],
        "newest": _address(query) if wish.before is not None else "",
        "older": _address(query, found.next) if found.next is not None else "",
        "kinds": sorted((NAMES.get(kind, kind), kind) for kind in kinds()),
        "chosen": chosen,
        "is_filtered": any(chosen.values()),
        "note": note,
        "head": head(),
        "csv": f"?{csv.urlencode()}",
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


def _address(query: QueryDict, before: int | None = None) -> str:
    """This list from another change on; the newest ones without `before`."""
    found = query.copy()
    found.pop("before", None)
    if before is not None:
        found["before"] = str(before)
    return f"?{found.urlencode()}"


def _wish(visitor: Visitor, query: Mapping[str, Any]) -> tuple[Wish, str]:
    """What the address asks for, and what of it could not be read."""
    notes: list[str] = []
    number = _number(query, "object", notes)
    before = _number(query, "before", notes)
    start = _day(visitor, query.get("first", ""), notes)
    end = _day(visitor, query.get("last", ""), notes, after=1)
    what = query.get("what", "")
    if what and what not in kinds():
        notes.append("Nothing of that kind is on record; all kinds are shown.")
        what = ""
    wish = Wish(what, query.get("actor", ""), number, start, end, before)
    return wish, " ".join(notes)


def _number(query: Mapping[str, Any], name: str, notes: list[str]) -> int | None:
    text = query.get(name, "")
    if text and not (text.isdecimal() and len(text) < 19):
        notes.append(f"'{name}' in the address is not a number; it was left out.")
        return None
    return int(text) if text else None


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
