"""Nodes with GPUs that are not in order, as last observed."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from accounting.access.scope import Scope
from accounting.kit.rows import column, listed
from scheduler_view.clusters.models import WAITS, ObservationRun
from scheduler_view.quotas.reads.namespaces import owners
from scheduler_view.waits.rules.details import note_text


@listed("NodeNoteRow")
class NodeNoteRow:
    """One node with GPUs that is not in order.

    Attributes:
        kind: `silent_nodes`, `setup_nodes`, `drains` or `zero_pods`.
        text: a sentence, without names that the person may not read.
        since: when it was first observed.
    """

    cluster: str = column()
    node: str = column()
    kind: str = column(
        "`silent_nodes`: its device plugin reports nothing; `setup_nodes`: it is not "
        "set up, or is being removed; `drains`: a disruption budget keeps pods on it "
        "while it is cordoned; `zero_pods`: pods that request 0 GPUs wait for it"
    )
    text: str = column(head="What is seen")
    since: datetime = column("when it was first observed")
    seen_at: datetime = column()


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
            cluster=run.cluster.name,
            node=note["node"],
            kind=note["kind"],
            text=note_text(note),
            since=datetime.fromtimestamp(note["since_ms"] / 1000, UTC),
            seen_at=run.seen_at,
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
