"""A change set and its steps as values, for pages and the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from scheduler_view.changes.models import StepState, is_token_wait

UNDER_WAY = ("draft", "planned", "approved", "scheduled", "applying")
"""States of change sets that may still have an effect."""


@dataclass(frozen=True, slots=True)
class OverlappingChange:
    """Another change set in progress that changes the same objects.

    Attributes:
        state_label: its state, for people.
        objects: what both change: `the quota of vision`, `tier high`, `ClusterQueue large`.
    """

    id: int
    author: str
    state_label: str
    objects: tuple[str, ...]

    @property
    def number(self) -> str:
        """Its displayed number."""
        return f"CS-{self.id}"


@dataclass(frozen=True, slots=True)
class StepRow:
    """One object of a plan.

    Attributes:
        changes: (field, before, after); None if missing.
        others: other managers, by field.
        blocked: why it cannot be changed; empty if it can.
        message: the server's message.
        former: what the object gets back, as stored; None if nothing.
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
    former: Mapping[str, Any] | None = None

    @property
    def title(self) -> str:
        """`ResourceQuota team-search/gpu-ledger`: also the value of its checkbox."""
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name}"


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One change set. `steps` is empty in a list; the counts are always set.

    Attributes:
        title: a summary, such as `Forecasting: 24 → 30 GPUs`.
        is_partial: it also changes other teams. The row has only the edits, objects and
            sentences about the person's teams; its reason and its error, which may mention
            others, are left out.
        overlaps: others in progress that change the same objects; empty in a list.
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
    overlaps: Sequence[OverlappingChange] = ()

    @property
    def number(self) -> str:
        """Its displayed number."""
        return f"CS-{self.id}"

    @property
    def name(self) -> str:
        """Its title, and the title of the change set that it undoes."""
        return f"Undo of CS-{self.undoes}: {self.title}" if self.undoes else self.title

    @property
    def is_planning(self) -> bool:
        """A plan is requested and not computed yet."""
        return self.plan_wanted_at is not None

    @property
    def waits_for_token(self) -> bool:
        """It began, and goes on when a token of the cluster is renewed."""
        return is_token_wait(self.state, self.error)

    @property
    def blocked(self) -> tuple[StepRow, ...]:
        """Its objects that cannot be changed."""
        return tuple(step for step in self.steps if step.blocked)

    @property
    def is_blocked(self) -> bool:
        """One of its objects cannot be changed."""
        return bool(self.blocked)

    @property
    def steps_applied(self) -> int:
        """Objects that were written."""
        return self.counts.get(StepState.APPLIED, 0)

    @property
    def steps_unchanged(self) -> int:
        """Objects that matched the desired state."""
        return self.counts.get(StepState.UNCHANGED, 0)

    @property
    def steps_refused(self) -> int:
        """Objects that the cluster refused."""
        return self.counts.get(StepState.REFUSED, 0)

    @property
    def steps_open(self) -> int:
        """Objects that wait, or whose outcome is not known yet."""
        return self.counts.get(StepState.WAITING, 0) + self.counts.get(
            StepState.SENT, 0
        )
