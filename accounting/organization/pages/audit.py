"""The audit page: who changed what, when and why, from the sealed audit log."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponseBase, QueryDict
from django.shortcuts import render

from accounting.access.rights import AUDIT
from accounting.core.billing_calendar import midnight
from accounting.kit.pages.downloads import csv_streamed
from accounting.kit.pages.paging import size_of
from accounting.kit.pages.permissions import Visitor, page, visitor_of
from accounting.kit.serializers.declared import serializer_of
from accounting.organization.pages.audit_text import (
    SHOWN_LINES,
    group_of,
    grouped,
    names_now,
)
from accounting.organization.pages.audit_words import kind_label
from accounting.organization.reads.audit_entries import (
    AUDIT_COLUMNS,
    AuditFilter,
    AuditRow,
    audit_rows,
    head,
    kinds,
)

CHUNK = 200  # lines read at a time: about one page of groups
MOST_SHOWN = 200  # entries of a page, those of its last group aside
FILTERS = ("what", "actor", "object", "first", "last")


@page(AUDIT)
def audit(request: HttpRequest) -> HttpResponseBase:
    """Changes, newest first, page by page back to the first one."""
    visitor, query = visitor_of(request), request.GET
    audit_filter, note = _filter_of(visitor, query)
    if "csv" in query:
        every = replace(audit_filter, before=None)
        rows = serializer_of(AuditRow).each(audit_rows(every))
        return csv_streamed("audit-log", AUDIT_COLUMNS, rows)
    found, older = _groups(audit_filter, size_of(query.dict()))
    names = names_now()
    groups = [group_of(one, names) for one in found]
    chosen = {name: query.get(name, "") for name in FILTERS}
    for name in ("first", "last"):  # a date field accepts nothing else
        chosen[name] = _iso(chosen[name])
    csv = query.copy()
    csv["csv"] = "audit"
    context = {
        "groups": groups,
        "changes": [one.change for one in groups if one.change],
        "newest": _address(query) if audit_filter.before is not None else "",
        "older": _address(query, older) if older is not None else "",
        "kinds": sorted((kind_label(kind, 2), kind) for kind in kinds()),
        "chosen": chosen,
        "is_filtered": any(chosen.values()),
        "note": note,
        "head": head(),
        "csv": f"?{csv.urlencode()}",
    }
    return render(request, "organization/audit.html", context)


def _groups(
    audit_filter: AuditFilter, limit: int
) -> tuple[list[tuple[AuditRow, ...]], int | None]:
    """Some groups, and the `before` of the next page; None at the end.

    A page ends with a complete group, so that no group is on two pages. Groups of many entries
    make it shorter.
    """
    found: list[tuple[AuditRow, ...]] = []
    shown = 0
    for rows in grouped(audit_rows(audit_filter, CHUNK)):
        if len(found) == limit or shown >= MOST_SHOWN:
            return found, found[-1][-1].id
        found.append(rows)
        shown += min(len(rows), SHOWN_LINES)
    return found, None


def _address(query: QueryDict, before: int | None = None) -> str:
    """This list from another change on; the newest ones without `before`."""
    found = query.copy()
    found.pop("before", None)
    if before is not None:
        found["before"] = str(before)
    return f"?{found.urlencode()}"


def _filter_of(visitor: Visitor, query: Mapping[str, Any]) -> tuple[AuditFilter, str]:
    """The filter of the address, and its parameters that are not valid."""
    notes: list[str] = []
    number = _number(query, "object", notes)
    before = _number(query, "before", notes)
    start = _day(visitor, query.get("first", ""), notes)
    end = _day(visitor, query.get("last", ""), notes, after=1)
    what = query.get("what", "")
    if what and what not in kinds():
        notes.append("There are no entries of this kind. All kinds are shown.")
        what = ""
    audit_filter = AuditFilter(what, query.get("actor", ""), number, start, end, before)
    return audit_filter, " ".join(notes)


def _number(query: Mapping[str, Any], name: str, notes: list[str]) -> int | None:
    text = query.get(name, "")
    if text and not (text.isdecimal() and len(text) < 19):
        notes.append(f"'{name}' in the address is not a number and was ignored.")
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
        notes.append(f"{text[:20]} is not a date. Write it as 2026-10-31.")
        return None
