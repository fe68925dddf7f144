"""The audit log as text: names of object kinds and of objects.

The chain contains rows of tables. The page shows what was done to which object: lines of one
request are grouped, and ids of teams, people and clusters are shown as names.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model

from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster
from accounting.organization.pages.audit_words import (
    ACTIONS,
    OUTCOMES,
    STEPS,
    kind_label,
)
from accounting.organization.reads.audit_entries import AuditRow

LONGEST = 200  # characters of one value
MOST_LINES = 1_000  # of one group
SHOWN_LINES = 20  # of one group: others are on a page of their own
TOGETHER = timedelta(minutes=15)  # lines without a request, as those of a worker

_OF = frozenset(
    {"budget", "conversionrate", "person", "quotatarget", "signinrecord", "unitprice"}
)
_OWN_PAGE = frozenset({"changeset", "changestep"})
_NAMING = (
    *("name", "username", "account", "model", "glob", "label", "resource"),
    *("number", "title", "period", "department", "amount", "contest_id"),
    "subject",
)


@dataclass(frozen=True, slots=True)
class Names:
    """The names of objects by the ids in rows of the log."""

    teams: Mapping[int, str]
    people: Mapping[int, str]
    clusters: Mapping[int, str]

    def of(self, column: str, value: Any) -> str | None:
        """The name of a referenced object; None if the column is not a reference."""
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        if column == "team_id":
            return self.teams.get(value)
        if column in ("user_id", "author_id") or column.endswith("by_id"):
            return self.people.get(value)
        if column == "cluster_id":
            return self.clusters.get(value)
        if column in ("change_set_id", "undoes_id"):
            return f"CS-{value}"
        return None


def names_now() -> Names:
    """Names of all teams, people and clusters; three queries."""
    people = get_user_model().objects.values_list("pk", "username")
    return Names(
        dict(Team.objects.values_list("pk", "name")),
        dict(people),
        dict(Cluster.objects.values_list("pk", "name")),
    )


@dataclass(frozen=True, slots=True)
class FieldMove:
    """One column of one change, as text; None if there was no value."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One row of the log as text: `quota of Vision`, `changed`."""

    row: AuditRow
    kind: str
    object: str
    action: str
    moves: tuple[FieldMove, ...]

    @property
    def text(self) -> str:
        """`Quota of Vision changed`."""
        joint = " of " if self.row.what in _OF else " "
        text = f"{self.kind}{joint}{self.object}" if self.object else self.kind
        return f"{text[:1].upper()}{text[1:]} {self.action}"


@dataclass(frozen=True, slots=True)
class Group:
    """Lines of one request, or of one task, newest first.

    Attributes:
        change: number of their quota change; None for others.
    """

    lines: tuple[AuditLine, ...]
    change: int | None

    @property
    def newest(self) -> AuditRow:
        """Its last line, with actor, time and reason."""
        return self.lines[0].row

    @property
    def summary(self) -> tuple[str, ...]:
        """A summary: each object if there are few, else the number of each kind."""
        shown_lines = [one for one in self.lines if one.row.what not in _OWN_PAGE]
        found = Counter((one.row.what, one.action) for one in shown_lines)
        single = {key for key, number in found.items() if number == 1}
        text = [one.text for one in shown_lines if (one.row.what, one.action) in single]
        for (kind, action), number in found.items():
            if number > 1:
                text.append(f"{number:,} {kind_label(kind, number)} {action}")
        return tuple(text)

    @property
    def states(self) -> str:
        """`planned → applied`: the states of its quota change; empty for others."""
        moved = [
            move
            for one in reversed(self.lines)
            if one.row.what == "changeset"
            for move in one.moves
            if move.name == "state"
        ]
        if not moved:
            return ""
        first, last = moved[0].before, moved[-1].after
        return f"{first} → {last}" if first else f"{last}"

    @property
    def shown(self) -> tuple[AuditLine, ...]:
        """The lines that are listed."""
        return self.lines[:SHOWN_LINES]

    @property
    def rest(self) -> int:
        """The number of its lines that are not listed; they are before the last one listed."""
        return len(self.lines) - len(self.shown)

    @property
    def first(self) -> AuditRow:
        """Its oldest line."""
        return self.lines[-1].row


def grouped(rows: Iterable[AuditRow]) -> Iterator[tuple[AuditRow, ...]]:
    """Rows, newest first, by their request; a very long request is split."""
    found: list[AuditRow] = []
    change: int | None = None  # the key of the rows so far
    for row in rows:
        own = _change(row)
        fits = own is None or change is None or own == change
        is_full = len(found) >= MOST_LINES
        if found and (is_full or not _belongs(found[-1], row, fits=fits)):
            yield tuple(found)
            found, change = [], None
        found.append(row)
        change = change or own
    if found:
        yield tuple(found)


def _belongs(later: AuditRow, row: AuditRow, *, fits: bool) -> bool:
    if _who(later) != _who(row):
        return False
    if later.request_id or row.request_id:
        return later.request_id == row.request_id
    return fits and later.at - row.at <= TOGETHER


def _who(row: AuditRow) -> tuple[str, bool, str, str]:
    return row.actor, row.by_worker, row.requested_by, row.reason


def group_of(rows: Sequence[AuditRow], names: Names) -> Group:
    """Rows of one request as text."""
    lines = tuple(line_of(row, names) for row in rows)
    changes = {_change(row) for row in rows} - {None}
    return Group(lines, changes.pop() if len(changes) == 1 else None)


def _change(row: AuditRow) -> int | None:
    if row.what == "changeset":
        return row.object_id
    if row.what == "changestep":
        return row.row.get("change_set_id")
    return None


def line_of(row: AuditRow, names: Names) -> AuditLine:
    """One row as text."""
    moves = tuple(
        FieldMove(
            _column(name),
            _text(row.before, name, names),
            _text(row.after, name, names),
        )
        for name in {**row.before, **row.after}
    )
    action = ACTIONS.get(row.action, row.action)
    if row.what == "signinrecord":
        action = OUTCOMES.get(str(row.row.get("outcome")), action)
    kind = kind_label(row.what)
    if row.what == "conteststep" and row.action == "insert":
        kind, action = "contest", STEPS.get(str(row.row.get("act")), action)
    return AuditLine(row, kind, _object(row, names), action, moves)


def _object(row: AuditRow, names: Names) -> str:
    said = row.row
    if row.what == "membership":
        person, team = (
            names.of(name, said.get(name)) for name in ("user_id", "team_id")
        )
        return f"{person} in {team}" if person and team else ""
    if row.what == "conversionrate":
        return f"{said.get('from_currency')} to {said.get('to_currency')}"
    if row.what in _OWN_PAGE:
        return names.of("change_set_id", _change(row)) or ""
    for column in ("user_id", "team_id"):
        if row.what in ("budget", "person", "quotatarget") and said.get(column):
            return names.of(column, said[column]) or ""
    if row.what == "signinrecord" and not said.get("account"):
        return "an unknown account"
    found = next((str(said[name]) for name in _NAMING if said.get(name)), "")
    return found if len(found) <= LONGEST else f"{found[: LONGEST - 1]}…"


def _column(name: str) -> str:
    return name.removesuffix("_id").replace("_", " ")


def _text(values: Mapping[str, Any], name: str, names: Names) -> str | None:
    if name not in values:
        return None
    value = values[name]
    known = names.of(name, value)
    if known is not None:
        return known
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
