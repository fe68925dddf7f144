"""Nodes with GPUs that are not in order, as last observed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from accounting.access import Scope
from scheduler_view.domain.waits.details import note_text
from scheduler_view.models import ObservationRun
from scheduler_view.models.observation import WAITS
from scheduler_view.queries.namespaces import owners


@dataclass(frozen=True, slots=True)
class NodeNoteRow:
    """One note.

    Attributes:
        kind: `silent_nodes`, `setup_nodes`, `drains` or `zero_pods`.
        text: a sentence, without names that the person may not read.
        since: when it was first observed.
    """

    cluster: str
    node: str
    kind: str
    text: str
    since: datetime
    seen_at: datetime


def node_note_rows(
    scope: Scope, now: datetime, *, cluster: str = ""
) -> list[NodeNoteRow]:
    """Notes of all clusters, or of one; the oldest first. None for people without a team."""
    if not scope.sees_any:
        return []
    runs = ObservationRun.objects.filter(kind=WAITS).exclude(notes=[])
    if cluster:
        runs = runs.filter(cluster__name=cluster)
    found = [
        NodeNoteRow(
            run.cluster.name,
            note["node"],
            note["kind"],
            note_text(note),
            datetime.fromtimestamp(note["since_ms"] / 1000, UTC),
            run.seen_at,
        )
        for run in runs.select_related("cluster").order_by("cluster__name")
        if run.seen_at is not None
        for note in _shown(scope, run, now)
    ]
    return sorted(found, key=lambda row: row.since)


def _shown(scope: Scope, run: ObservationRun, now: datetime) -> list[Mapping[str, Any]]:
    """Without names of budgets and namespaces of teams that the person may not read."""
    if scope.sees_all:
        return list(run.notes)
    teams = owners(
        run.cluster_id, sorted({_place(one) for one in run.notes} - {""}), now
    )
    return [
        one if _may_read(scope, teams.get(_place(one))) else {**one, **_hidden(one)}
        for one in run.notes
    ]


def _may_read(scope: Scope, team: int | None) -> bool:
    return team is not None and scope.sees_team(team)


def _hidden(note: Mapping[str, Any]) -> dict[str, str]:
    return {name: "" for name in ("budget", "namespace") if name in note}


def _place(note: Mapping[str, Any]) -> str:
    found: str = note.get("namespace") or note.get("budget", "").partition("/")[0]
    return found
