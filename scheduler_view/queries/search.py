"""Finds work that waits or runs, and change sets by their number, within a scope."""

import re
from datetime import datetime

from django.db.models import F, Q, QuerySet

from accounting.access import Scope
from accounting.queries.search import MOST, Hit
from scheduler_view.domain.waits.cause import Stage
from scheduler_view.models import WaitRecord
from scheduler_view.queries.changes.change_sets import change_row
from scheduler_view.queries.namespaces import owners

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


def _own(scope: Scope, found: QuerySet[WaitRecord], now: datetime) -> Q:
    """The namespaces of units that belong to teams of a scope, by cluster."""
    names: dict[int, set[str]] = {}
    for cluster, name in found.values_list("cluster_id", "namespace").distinct():
        names.setdefault(cluster, set()).add(name)
    own = Q(pk=None)  # none
    for cluster, there in names.items():
        owner = owners(cluster, there, now)
        mine = [n for n in there if n in owner and scope.sees_team(owner[n])]
        own |= Q(cluster_id=cluster, namespace__in=mine)
    return own


def _state(row: WaitRecord) -> str:
    if row.stage == Stage.STARTING:
        return "starting"
    return "pending" if row.stage else "running"


def find_change(scope: Scope, words: str) -> list[Hit]:
    """The change set with a number such as `CS-2` or `2`."""
    number = _CHANGE.fullmatch(words)
    row = change_row(scope, int(number[1])) if number else None
    if row is None:
        return []
    return [Hit("change", str(row.id), f"CS-{row.id} {row.title}", row.state)]
