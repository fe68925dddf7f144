"""Finds work that waits or runs, and change sets: by number, team or namespace, in a scope."""

import re
from datetime import datetime

from django.db.models import F, Q, QuerySet

from accounting.access.models.teams import Team
from accounting.access.scope import Scope
from accounting.explain.reads.search import MOST, Hit
from scheduler_view.changes.models import ChangeSet, ChangeStep
from scheduler_view.changes.reads.change_row import ChangeRow
from scheduler_view.changes.reads.change_sets import about, change_row, rows_of
from scheduler_view.quotas.reads.namespaces import owners
from scheduler_view.waits.models import WaitRecord
from scheduler_view.waits.rules.cause import Stage

_CHANGE = re.compile(r"(?:CS-?)?(\d{1,9})", re.IGNORECASE)


def find_work(scope: Scope, now: datetime, words: str) -> list[Hit]:
    """Units that exist now, those that wait first; at most `MOST`, none for one character."""
    if len(words) < 2 or not scope.sees_any:
        return []
    found = WaitRecord.objects.filter(ended_at=None, name__icontains=words)
    if not scope.sees_all:
        found = found.filter(_own(scope, found, now))
    found = found.order_by(F("bound_at").asc(nulls_first=True), "name", "pk")
    return [
        Hit("unit", str(row.pk), row.name, f"{row.namespace}, {_state(row)}")
        for row in found[:MOST]
    ]


def _own(
    scope: Scope,
    found: QuerySet[WaitRecord] | QuerySet[ChangeStep],
    now: datetime,
    path: str = "cluster_id",
) -> Q:
    """The namespaces of rows that belong to teams of a scope, by cluster at `path`."""
    names: dict[int, set[str]] = {}
    for cluster, name in found.values_list(path, "namespace").distinct():
        names.setdefault(cluster, set()).add(name)
    own = Q(pk=None)  # none
    for cluster, there in names.items():
        owner = owners(cluster, there, now)
        mine = [n for n in there if n in owner and scope.sees_team(owner[n])]
        own |= Q(**{path: cluster}, namespace__in=mine)
    return own


def _state(row: WaitRecord) -> str:
    if row.stage == Stage.STARTING:
        return "starting"
    return "pending" if row.stage else "running"


def find_change(scope: Scope, words: str) -> list[Hit]:
    """The change set with a number such as `CS-2` or `2`."""
    number = _CHANGE.fullmatch(words)
    row = change_row(scope, int(number[1])) if number else None
    return [] if row is None else [_hit(row)]


def find_changes(scope: Scope, now: datetime, words: str) -> list[Hit]:
    """Change sets of a team or namespace, newest first; at most `MOST`."""
    if len(words) < 2 or not scope.sees_any or _CHANGE.fullmatch(words):
        return []
    return [_hit(row) for row in rows_of(_of_places(scope, now, words), scope, MOST)]


def _hit(row: ChangeRow) -> Hit:
    return Hit("change", str(row.id), f"CS-{row.id} {row.title}", row.state)


def _of_places(scope: Scope, now: datetime, words: str) -> QuerySet[ChangeSet]:
    teams = Team.objects.filter(Q(name__icontains=words) | Q(slug__icontains=words))
    if scope.team_ids is not None:  # a change of several teams does not name the others
        teams = teams.filter(pk__in=scope.team_ids)
    steps = ChangeStep.objects.filter(namespace__icontains=words)
    if not scope.sees_all:
        steps = steps.filter(_own(scope, steps, now, "change_set__cluster_id"))
    slugs = list(teams.values_list("slug", flat=True)[:MOST])
    found = about(slugs) | Q(pk__in=steps.values("change_set"))
    return ChangeSet.objects.filter(found).order_by("-pk")
