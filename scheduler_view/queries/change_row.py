"""A change set and its steps as values: what pages show and the API prints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from scheduler_view.models import StepState


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
    """One change set. `steps` is empty in a list; the counts are always there.

    Attributes:
        title: what it does, in a line: `Forecasting: 24 → 30 GPUs`.
        is_partial: it is about other teams as well. Only the edits, objects and words
            about the asker's teams are in the row; its reason and its error, which may
            speak of others, are left out.
    """

    id: int
    title: str
    cluster: str
    state: str
    state_label: str
    version: int
    author: str
    reason: str
    edits: Sequence[Mapping[str, Any]]
    summary: str
    effects: Sequence[Mapping[str, Any]]
    warnings: Sequence[Mapping[str, Any]]
    error: str
    ended_by: str
    ended_at: datetime | None
    ended_reason: str
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
    is_partial: bool = False

    @property
    def number(self) -> str:
        """As people say it."""
        return f"CS-{self.id}"

    @property
    def name(self) -> str:
        """Its title, with what it undoes."""
        return f"Undo of CS-{self.undoes}: {self.title}" if self.undoes else self.title

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
            "title": self.name,
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
            "ended_by": self.ended_by,
            "ended_at": _text(self.ended_at),
            "ended_reason": self.ended_reason,
            "undoes": self.undoes,
            "undone_by": self.undone_by,
            "steps_applied": self.counts.get(StepState.APPLIED, 0),
            "steps_unchanged": self.counts.get(StepState.UNCHANGED, 0),
            "steps_refused": self.counts.get(StepState.REFUSED, 0),
            "steps_open": self.counts.get(StepState.WAITING, 0)
            + self.counts.get(StepState.SENT, 0),
            "is_partial": self.is_partial,
        }

    def detail(self) -> dict[str, Any]:
        """As the API prints it alone."""
        return self.fields() | {
            "edits": [dict(edit) for edit in self.edits],
            "effects": [dict(effect) for effect in self.effects],
            "warnings": [dict(warning) for warning in self.warnings],
            "steps": [step.fields() for step in self.steps],
        }


def _text(instant: datetime | None) -> str | None:
    if instant is None:
        return None
    return instant.isoformat(timespec="seconds").replace("+00:00", "Z")
