"""Change sets as rows: in a list, and one with all its steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Prefetch

from accounting.access import Scope
from accounting.models import Team
from scheduler_view.models import ChangeSet, ChangeState, ChangeStep, StepState


@dataclass(frozen=True, slots=True)
class StepRow:
    """One object of a plan.

    Attributes:
        changes: (field, before, after); None where it is absent.
        others: managers beside us, by field.
        blocked: why it cannot be changed; empty when it can.
        message: the server's own words.
    """

    kind: str
    namespace: str
    name: str
    action: str
    changes: tuple[tuple[str, str | None, str | None], ...]
    others: Mapping[str, Sequence[str]]
    blocked: str
    note: str
    force: bool
    state: str
    code: int | None
    message: str
    done_at: datetime | None
    body: Mapping[str, Any] | None
    before: Mapping[str, Any] | None

    @property
    def title(self) -> str:
        """`ResourceQuota team-search/gpu-ledger`: also what a person ticks."""
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name}"

    def fields(self) -> dict[str, Any]:
        """As the API prints it."""
        return {
            "object": self.title,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "action": self.action,
            "changes": [
                {"field": name, "before": before, "after": after}
                for name, before, after in self.changes
            ],
            "others": {name: list(found) for name, found in self.others.items()},
            "blocked": self.blocked,
            "note": self.note,
            "force": self.force,
            "state": self.state,
            "code": self.code,
            "message": self.message,
            "done_at": _text(self.done_at),
            "body": self.body,
        }


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One change set. `steps` is empty in a list; the counts are always there."""

    id: int
    cluster: str
    state: str
    state_words: str
    version: int
    author: str
    reason: str
    edits: Sequence[Mapping[str, Any]]
    summary: str
    effects: Sequence[Mapping[str, Any]]
    warnings: Sequence[Mapping[str, Any]]
    error: str
    plan_wanted_at: datetime | None
    apply_wanted_at: datetime | None
    forced: Sequence[str]
    needs_second: bool
    approved_by: str
    made_at: datetime
    planned_at: datetime | None
    plan_expires_at: datetime | None
    approved_at: datetime | None
    starts_at: datetime | None
    ends_at: datetime | None
    applied_at: datetime | None
    retry_at: datetime | None
    undoes: int | None
    undone_by: int | None
    counts: Mapping[str, int]
    steps: tuple[StepRow, ...] = ()

    @property
    def number(self) -> str:
        """As people say it."""
        return f"CS-{self.id}"

    @property
    def is_planning(self) -> bool:
        """A worker was asked for a plan, and has not answered."""
        return self.plan_wanted_at is not None

    @property
    def is_blocked(self) -> bool:
        """One of its objects cannot be changed."""
        return any(step.blocked for step in self.steps)

    def fields(self) -> dict[str, Any]:
        """As the API prints it in a list."""
        return {
            "id": self.id,
            "cluster": self.cluster,
            "state": self.state,
            "version": self.version,
            "author": self.author,
            "reason": self.reason,
            "summary": self.summary,
            "error": self.error,
            "is_planning": self.is_planning,
            "needs_second": self.needs_second,
            "approved_by": self.approved_by,
            "made_at": _text(self.made_at),
            "planned_at": _text(self.planned_at),
            "plan_expires_at": _text(self.plan_expires_at),
            "approved_at": _text(self.approved_at),
            "starts_at": _text(self.starts_at),
            "ends_at": _text(self.ends_at),
            "applied_at": _text(self.applied_at),
            "retry_at": _text(self.retry_at),
            "undoes": self.undoes,
            "undone_by": self.undone_by,
            "steps_applied": self.counts.get(StepState.APPLIED, 0),
            "steps_unchanged": self.counts.get(StepState.UNCHANGED, 0),
            "steps_refused": self.counts.get(StepState.REFUSED, 0),
            "steps_open": self.counts.get(StepState.WAITING, 0)
            + self.counts.get(StepState.SENT, 0),
        }

    def detail(self) -> dict[str, Any]:
        """As the API prints it alone."""
        return self.fields() | {
            "edits": [dict(edit) for edit in self.edits],
            "effects": [dict(effect) for effect in self.effects],
            "warnings": [dict(warning) for warning in self.warnings],
            "steps": [step.fields() for step in self.steps],
        }


def change_rows(
    scope: Scope,
    *,
    cluster: str = "",
    state: str = "",
    team: str = "",
    limit: int = 1000,
) -> list[ChangeRow]:
    """Change sets that the asker may read, newest first."""
    rows = ChangeSet.objects.order_by("-id").select_related("cluster")
    if cluster:
        rows = rows.filter(cluster__name=cluster)
    if state:
        rows = rows.filter(state=state)
    if team:
        rows = rows.filter(edits__contains=[{"team": team}])
    steps = ChangeStep.objects.only("change_set_id", "state")
    own = _own_slugs(scope)
    found = rows.prefetch_related(Prefetch("steps", steps), "undos")[:limit]
    return [_row(row) for row in found if _may_read(row, own)]


def change_row(scope: Scope, number: int) -> ChangeRow | None:
    """One change set with its steps; None where there is none or it is not theirs."""
    row = (
        ChangeSet.objects.filter(pk=number)
        .select_related("cluster")
        .prefetch_related("steps", "undos")
        .first()
    )
    if row is None or not _may_read(row, _own_slugs(scope)):
        return None
    return _row(row, with_steps=True)


def states() -> list[str]:
    """Every state, for filters."""
    return list(ChangeState.values)


def _own_slugs(scope: Scope) -> set[str] | None:
    if scope.team_ids is None:
        return None
    return set(
        Team.objects.filter(pk__in=scope.team_ids).values_list("slug", flat=True)
    )


def _may_read(row: ChangeSet, own: set[str] | None) -> bool:
    """Those who do not see all teams see what is about their own teams only."""
    return own is None or all(edit.get("team") in own for edit in row.edits)


def _row(row: ChangeSet, *, with_steps: bool = False) -> ChangeRow:
    steps = list(row.steps.all())
    counts: dict[str, int] = {}
    for step in steps:
        counts[step.state] = counts.get(step.state, 0) + 1
    undos = [
        undo.pk
        for undo in row.undos.all()
        if undo.state not in (ChangeState.EXPIRED, ChangeState.REFUSED)
    ]
    return ChangeRow(
        id=row.pk,
        cluster=row.cluster.name,
        state=row.state,
        state_words=row.get_state_display(),
        version=row.version,
        author=row.author_name,
        reason=row.reason,
        edits=row.edits,
        summary=row.plan.get("summary", ""),
        effects=row.plan.get("effects", []),
        warnings=row.plan.get("warnings", []),
        error=row.error,
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
        undone_by=undos[0] if undos else None,
        counts=counts,
        steps=tuple(_step(step) for step in steps) if with_steps else (),
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
    )


def _text(instant: datetime | None) -> str | None:
    if instant is None:
        return None
    return instant.isoformat(timespec="seconds").replace("+00:00", "Z")
