"""A change set and its steps as values, for pages and the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from accounting.kit.rows import column, listed, member
from scheduler_view.changes.models import StepState, is_token_wait

UNDER_WAY = ("draft", "planned", "approved", "scheduled", "applying")
"""States of change sets that may still have an effect."""


@listed("Overlap")
class OverlappingChange:
    """Another change set in progress that changes the same objects.

    Attributes:
        state_label: its state, for people.
    """

    id: int = column()
    author: str = column()
    state_label: str = column(name="state")
    objects: tuple[str, ...] = column("what both change")

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


@listed("ChangeRow")
class ChangeRow:
    """One change set in a list.

    Attributes:
        title: a summary, such as `Forecasting: 24 → 30 GPUs`.
        overlaps: others in progress that change the same objects; empty in a list.
    """

    id: int = column()

    @member("summary: `Vision: 24 → 30 GPUs`", name="title", head="Change")
    def name(self) -> str:
        """Its title, and the title of the change set that it undoes."""
        return f"Undo of CS-{self.undoes}: {self.title}" if self.undoes else self.title

    cluster: str = column()
    state: str = column()
    version: int = column("the ETag; pass it as If-Match")
    author: str = column(head="Requested by")
    reason: str = column()
    summary: str = column()
    error: str = column()

    @member()
    def is_planning(self) -> bool:
        """A plan is requested and not computed yet."""
        return self.plan_wanted_at is not None

    needs_second: bool = column()
    approved_by: str = column()
    made_at: datetime = column(head="When")
    planned_at: datetime | None = column()
    plan_expires_at: datetime | None = column()
    approved_at: datetime | None = column()
    starts_at: datetime | None = column()
    ends_at: datetime | None = column()
    applied_at: datetime | None = column()
    retry_at: datetime | None = column()
    ended_by: str = column("person who declined or discarded it")
    ended_at: datetime | None = column()
    ended_reason: str = column()
    undoes: int | None = column()
    undone_by: int | None = column()

    @member()
    def steps_applied(self) -> int:
        """Objects that were written."""
        return self.counts.get(StepState.APPLIED, 0)

    @member()
    def steps_unchanged(self) -> int:
        """Objects that matched the desired state."""
        return self.counts.get(StepState.UNCHANGED, 0)

    @member()
    def steps_refused(self) -> int:
        """Objects that the cluster refused."""
        return self.counts.get(StepState.REFUSED, 0)

    @member()
    def steps_open(self) -> int:
        """Objects that wait, or whose outcome is not known yet."""
        return self.counts.get(StepState.WAITING, 0) + self.counts.get(
            StepState.SENT, 0
        )

    is_partial: bool = column(
        "true if the change affects other teams: only the lines of your teams are shown, "
        "without the reason",
        default=False,
    )
    title: str
    state_label: str
    edits: Sequence[Mapping[str, Any]]
    effects: Sequence[Mapping[str, Any]]
    warnings: Sequence[Mapping[str, Any]]
    plan_wanted_at: datetime | None
    apply_wanted_at: datetime | None
    forced: Sequence[str]
    counts: Mapping[str, int]
    steps: tuple[StepRow, ...] = ()
    overlaps: Sequence[OverlappingChange] = ()

    @property
    def number(self) -> str:
        """Its displayed number."""
        return f"CS-{self.id}"

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
