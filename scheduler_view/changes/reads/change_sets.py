"""Change sets as rows: in a list, and one with all its steps."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Prefetch, Q, QuerySet

from accounting.access.models.teams import Team
from accounting.access.scope import Scope
from accounting.kit.reads.paging import Key, Seek, seek_rows
from scheduler_view.changes.models import (
    CAME_TO_NOTHING,
    ChangeSet,
    ChangeState,
    ChangeStep,
)
from scheduler_view.changes.reads.change_row import ChangeRow, StepRow
from scheduler_view.changes.reads.headlines import moves_of
from scheduler_view.changes.reads.overlaps import overlaps_of
from scheduler_view.changes.rules.headline import Move, summary, title
from scheduler_view.changes.rules.steps import Action


def change_rows(
    scope: Scope,
    *,
    cluster: str = "",
    state: str = "",
    team: str = "",
    any_state: Collection[str] = (),
    limit: int = 1000,
) -> list[ChangeRow]:
    """Change sets that the person may read, newest first.

    A change set that also changes other teams has only the lines of the person's teams.
    """
    rows = ChangeSet.objects.order_by("-id")
    if cluster:
        rows = rows.filter(cluster__name=cluster)
    if state:
        rows = rows.filter(state=state)
    if any_state:
        rows = rows.filter(state__in=any_state)
    if team:
        rows = rows.filter(edits__contains=[{"team": team}])
    return rows_of(rows, scope, limit)


def change_key(row: ChangeRow) -> Key:
    """The position of a change set in `changes_of`."""
    return (row.id,)


def changes_of(
    scope: Scope,
    *,
    clusters: Collection[str] | None,
    teams: Collection[str] | None,
    state: str,
    seek: Seek,
) -> list[ChangeRow]:
    """The rows of `change_rows` for a page of REST.

    Args:
        scope: of the person.
        clusters, teams: only these; None for all.
        state: only in this state; "" for all.
        seek: the page, by `change_key`.
    """
    rows = ChangeSet.objects.all()
    if clusters is not None:
        rows = rows.filter(cluster__name__in=clusters)
    if teams is not None:
        rows = rows.filter(about(teams))
    if state:
        rows = rows.filter(state=state)
    own = _own_slugs(scope)
    if own is not None:
        rows = rows.filter(about(own))
    return _read(seek_rows(rows, ("-id",), seek), own)


def rows_of(
    rows: QuerySet[ChangeSet], scope: Scope, limit: int = 1000
) -> list[ChangeRow]:
    """Rows of change sets in the given order, limited to what the person may read."""
    own = _own_slugs(scope)
    if own is not None:
        rows = rows.filter(about(own))
    return _read(rows[:limit], own)


def _read(rows: QuerySet[ChangeSet], own: Collection[str] | None) -> list[ChangeRow]:
    steps = ChangeStep.objects.only("change_set_id", "state", "action", "namespace")
    rows = rows.select_related("cluster")
    found = list(rows.prefetch_related(Prefetch("steps", steps), "undos"))
    moves = moves_of(found)
    return [_row(row, own, moves[row.pk]) for row in found]


def change_row(scope: Scope, number: int) -> ChangeRow | None:
    """One change set with its steps; None if it does not exist or the person may not read it."""
    rows = ChangeSet.objects.filter(pk=number).select_related("cluster")
    own = _own_slugs(scope)
    if own is not None:
        rows = rows.filter(about(own))
    row = rows.prefetch_related("steps", "undos").first()
    if row is None:
        return None
    found = _row(row, own, moves_of([row])[row.pk], with_steps=True)
    readable = Q() if own is None else about(own)
    return replace(found, overlaps=overlaps_of(row, found.edits, readable))


def states() -> list[str]:
    """Every state, for filters."""
    return list(ChangeState.values)


def _own_slugs(scope: Scope) -> set[str] | None:
    if scope.team_ids is None:
        return None
    return set(
        Team.objects.filter(pk__in=scope.team_ids).values_list("slug", flat=True)
    )


def about(own: Collection[str]) -> Q:
    """Change sets with an edit of one of these teams; none without teams."""
    found = Q(pk__in=())
    for slug in own:
        found |= Q(edits__contains=[{"team": slug}])
    return found


def _row(
    row: ChangeSet,
    own: Collection[str] | None,
    moves: Sequence[Move],
    *,
    with_steps: bool = False,
) -> ChangeRow:
    """A change set, limited to the person's teams if it also changes others.

    Other parts are removed before anything is counted or summed. Sentences about the whole cluster
    are removed too: they include quotas of other teams.
    """
    steps, plan = list(row.steps.all()), row.plan
    is_partial = own is not None and any(e.get("team") not in own for e in row.edits)
    if own is not None and is_partial:
        places = {name for name, team in _teams(plan).items() if team in own}
        chosen = [e.get("team") in own for e in row.edits]
        moves = [move for move, is_own in zip(moves, chosen, strict=True) if is_own]
        steps = [step for step in steps if step.namespace in places]
    else:
        places = set()
    found = _whole(row, steps, moves)
    if with_steps:
        found = replace(found, steps=tuple(_step(step) for step in steps))
    if own is None or not is_partial:
        return found
    titles = {str(step) for step in steps}
    return replace(
        found,
        is_partial=True,
        reason="",
        error="",
        ended_reason="",
        edits=[edit for edit in row.edits if edit.get("team") in own],
        effects=[one for one in found.effects if one.get("team") in own],
        warnings=[one for one in found.warnings if one.get("namespace") in places],
        forced=[name for name in row.forced if name in titles],
        undone_by=_undo(row, own),
    )


def _teams(plan: Mapping[str, Any]) -> dict[str, str]:
    """The team of each namespace of a plan; shared namespaces are left out."""
    if "teams" in plan:
        return dict(plan["teams"])
    found: dict[str, set[str]] = {}  # for plans that were stored without teams
    for team, _, _, split in plan.get("splits", ()):
        for namespace in split:
            found.setdefault(namespace, set()).add(team)
    return {name: min(teams) for name, teams in found.items() if len(teams) == 1}


def _undo(row: ChangeSet, own: Collection[str] | None) -> int | None:
    """The change set that undoes it, if the person may read it."""
    return next(
        (
            undo.pk
            for undo in row.undos.all()
            if undo.state not in CAME_TO_NOTHING
            and (own is None or any(e.get("team") in own for e in undo.edits))
        ),
        None,
    )


def _whole(
    row: ChangeSet, steps: Sequence[ChangeStep], moves: Sequence[Move]
) -> ChangeRow:
    counts: dict[str, int] = {}
    for step in steps:
        counts[step.state] = counts.get(step.state, 0) + 1
    actions = [Action(step.action) for step in steps]
    return ChangeRow(
        id=row.pk,
        title=title(moves),
        cluster=row.cluster.name,
        state=row.state,
        state_label=row.get_state_display(),
        version=row.version,
        author=row.author_name,
        reason=row.reason,
        edits=row.edits,
        summary=summary(moves, actions) if row.plan else "",
        effects=row.plan.get("effects", []),
        warnings=row.plan.get("warnings", []),
        error=row.error,
        ended_by=row.ended_by,
        ended_at=row.ended_at,
        ended_reason=row.ended_reason,
        plan_wanted_at=row.plan_wanted_at,
        apply_wanted_at=row.apply_wanted_at,
        forced=row.forced,
        needs_second=row.needs_second,
        approved_by=row.approved_by,
        made_at=row.made_at,
        planned_at=row.planned_at,
        plan_expires_at=row.plan_expires_at,
        approved_at=row.approved_at,
        starts_at=row.starts_at,
        ends_at=row.ends_at,
        applied_at=row.applied_at,
        retry_at=row.retry_at,
        undoes=row.undoes_id,
        undone_by=_undo(row, None),
        counts=counts,
    )


def _step(row: ChangeStep) -> StepRow:
    return StepRow(
        kind=row.kind,
        namespace=row.namespace,
        name=row.name,
        action=row.action,
        changes=tuple((name, before, after) for name, before, after in row.changes),
        others=row.others,
        blocked=row.blocked,
        note=row.note,
        force=row.force,
        state=row.state,
        code=row.code,
        message=row.message,
        done_at=row.done_at,
        body=row.body,
        before=row.before,
        former=row.former,
    )
