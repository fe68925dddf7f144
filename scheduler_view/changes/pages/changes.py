"""Change sets: the list, and one with its stages from plan to result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.access.reads.teams import visible_teams
from accounting.kit.pages.downloads import csv_answer
from accounting.kit.pages.fragments import is_fragment
from accounting.kit.pages.paging import page_of, paged
from accounting.kit.pages.permissions import Visitor, signed_in, visitor_of
from accounting.kit.serializers.declared import serializer_of
from scheduler_view.changes.models import ChangeState, StepState
from scheduler_view.changes.pages import diffs
from scheduler_view.changes.pages.stages import is_slow, stamp, standing, states_of
from scheduler_view.changes.reads.change_row import ChangeRow, StepRow
from scheduler_view.changes.reads.change_sets import change_row, change_rows, states
from scheduler_view.changes.reads.drafts import asked_before
from scheduler_view.changes.reads.waiting_approvals import pending_rows
from scheduler_view.changes.rules.edit import stored_edit
from scheduler_view.changes.rules.steps import Action
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS

COLUMNS = (
    "id",
    "title",
    "cluster",
    "state",
    "author",
    "reason",
    "summary",
    "steps_applied",
    "steps_unchanged",
    "steps_refused",
    "steps_open",
    "approved_by",
    "made_at",
    "planned_at",
    "approved_at",
    "applied_at",
    "undoes",
    "undone_by",
    "ended_by",
    "ended_at",
    "ended_reason",
)
NOTHING_NEW = 204  # htmx does not change the page
FEW = 10  # objects whose YAML is part of the page; of more on request
AT_ONCE = 50  # lines of a list: a page of 500 objects stays below 300 kB


@dataclass(frozen=True, slots=True)
class PlanStepLine:
    """One object of a plan with its differences."""

    row: StepRow
    diff: list[diffs.DiffLine]
    patch: str

    @property
    def changes(self) -> Sequence[tuple[str, str | None, str | None]]:
        """Fields with before and after; one without a name if none differs."""
        differing = [
            (field, _spelt(before), _spelt(after))
            for field, before, after in self.row.changes
            if (before or "") != (after or "")
        ]
        return differing or [("", None, None)]

    @property
    def span(self) -> int:
        """Rows of the table that the object takes."""
        return len(self.changes)


def _spelt(value: str | None) -> str | None:
    """A value as YAML."""
    return value.lower() if value in ("True", "False") else value


@dataclass(frozen=True, slots=True)
class AskedLine:
    """One edit of a change set by its position, and the edit that it replaced; None if none."""

    index: int
    edit: Mapping[str, Any]
    before: Mapping[str, Any] | None


@signed_in
def change_list(request: HttpRequest) -> HttpResponse:
    """Every change set that the visitor may read, newest first."""
    visitor, query = visitor_of(request), request.GET
    rows = change_rows(
        visitor.scope,
        cluster=query.get("cluster", ""),
        state=query.get("state", ""),
        team=query.get("team", ""),
    )
    if "csv" in query:
        lines = [
            [row[name] for name in COLUMNS]
            for row in serializer_of(ChangeRow).each(rows)
        ]
        return csv_answer("quota-changes", COLUMNS, lines)
    chosen = {name: query.get(name, "") for name in ("cluster", "state", "team")}
    context = {
        "page": paged(states_of(rows, visitor.now), query.dict()),
        "chosen": chosen,
        "is_filtered": any(chosen.values()),
        "states": [(name, ChangeState(name).label.capitalize()) for name in states()],
        "teams": visible_teams(visitor.scope),
        "is_admin": visitor.scope.is_admin,
        "waiting": states_of(
            pending_rows(visitor.scope, request.user.get_username(), visitor.now),
            visitor.now,
        ),
        "csv": _with(query, csv="changes"),
    }
    return render(request, "changes/changes.html", context)


def _with(query: Any, **changes: str) -> str:
    found = query.copy()
    found.update(changes)
    return f"?{found.urlencode()}"


@signed_in
def change(request: HttpRequest, number: int) -> HttpResponse:
    """One change set. The page reloads while a worker processes it."""
    visitor = visitor_of(request)
    row = _row(visitor, number)
    slow = is_slow(row, visitor.now)
    seen = f"{stamp(row)}{'-slow' if slow else ''}"
    if is_fragment(request) and request.GET.get("seen") == seen:
        return HttpResponse(status=NOTHING_NEW)
    query = request.GET.dict()
    before = asked_before(row.id)
    asked = [
        AskedLine(i, e, before.get(stored_edit(e).key)) for i, e in enumerate(row.edits)
    ]
    steps = page_of(sorted(row.steps, key=_is_done), query.get("page", ""), AT_ONCE)
    form = _form_of(query.get("diff", ""), steps.count)
    done = row.counts.get(StepState.APPLIED, 0) + row.counts.get(StepState.UNCHANGED, 0)
    context = {
        "change": row,
        "at": standing(row, visitor.scope, request.user.get_username(), visitor.now),
        "asked": page_of(asked, query.get("edits", ""), AT_ONCE),
        "effects": row.effects[:AT_ONCE],
        "more_effects": row.effects[AT_ONCE:],
        "warnings": warning_texts(row.warnings),
        "page": steps,
        "steps": [_line(step, row, form) for step in steps.lines],
        "tickable": [
            (step.title, step.title in row.forced)
            for step in row.steps
            if _may_tick(step, row)
        ],
        "may_leave_out": row.is_blocked and len(row.edits) > 1,
        "moving": sum(step.action != Action.KEEP for step in row.steps),
        "done": done,
        "progress": round(100 * done / max(steps.count, 1)),
        "result": _result(row),
        "diff": form,
        "poll": _with(request.GET, seen=seen),
        "is_admin": visitor.scope.is_admin,
        "is_slow": slow,
        "teams": visible_teams(visitor.scope),
    }
    name = "changes/_change.html" if is_fragment(request) else "changes/change.html"
    return render(request, name, context)


def warning_texts(warnings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each warning once; a warning for several namespaces names all of them."""
    places: dict[str, list[str]] = {}
    for one in warnings:
        about, text = str(one["about"]), str(one["text"])
        mark = f" in {about}:"
        is_alike = bool(about) and text.count(mark) == 1
        form = text.replace(mark, " in {}:") if is_alike else text
        places.setdefault(form, []).append(about)
    return [
        form.replace(" in {}:", f" in {', '.join(dict.fromkeys(found))}:")
        for form, found in places.items()
    ]


def _result(row: ChangeRow) -> str:
    """`3 applied, 1 refused`."""
    named = ((StepState.APPLIED, "applied"), (StepState.UNCHANGED, "unchanged"))
    parts = [
        f"{row.counts[state]} {word}"
        for state, word in (*named, (StepState.REFUSED, "refused"))
        if row.counts.get(state)
    ]
    return ", ".join(parts)


def _row(visitor: Visitor, number: int) -> ChangeRow:
    row = change_row(visitor.scope, number)
    if row is None:
        raise Http404("no such change")
    return row


def _is_done(step: StepRow) -> bool:
    """False for what needs a person, which is listed first."""
    return not step.blocked and step.state != StepState.REFUSED


def _form_of(asked: str, count: int) -> str:
    """How the YAML is shown: `unified`, `side`, or empty if it is not part of the page."""
    if asked in _DIFFS:
        return asked
    return "unified" if count <= FEW else ""


_DIFFS = {"unified": diffs.unified, "side": diffs.side_by_side}


def _may_tick(step: StepRow, change: ChangeRow) -> bool:
    """Only a conflict over fields can be forced; a missing namespace cannot.

    A list of a queue that another manager applies is never taken over.
    """
    if step.title in change.forced:
        return True
    if step.kind in QUEUE_FIELDS:
        return bool(step.blocked) and bool(step.others.keys() & _fields(step))
    can_force = step.others or step.former or step.before is not None
    return bool(step.blocked) and bool(can_force)


def _fields(step: StepRow) -> set[str]:
    return {field for field, _, _ in step.changes}


def _line(step: StepRow, change: ChangeRow, form: str) -> PlanStepLine:
    patch = diffs.after_text(step) if step.blocked or step.message else ""
    return PlanStepLine(step, _DIFFS[form](step) if form else [], patch)
