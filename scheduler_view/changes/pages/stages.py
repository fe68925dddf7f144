"""The state of a change set as the six stages of its page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from accounting.access.scope import Scope
from scheduler_view.changes.actions.ending import NOT_BEGUN
from scheduler_view.changes.models import CAME_TO_NOTHING, ChangeState
from scheduler_view.changes.reads.change_row import ChangeRow
from scheduler_view.changes.reads.drafts import editors
from scheduler_view.changes.rights import may_act
from scheduler_view.changes.rules.approval import (
    Approval,
    is_expired,
    refusal_of_approval,
)

APPLIED = (ChangeState.APPLIED, ChangeState.PARTLY_APPLIED, ChangeState.UNDONE)
TONES = {
    ChangeState.DRAFT: "mute",
    ChangeState.PLANNED: "warn",
    ChangeState.APPROVED: "warn",
    ChangeState.SCHEDULED: "mute",
    ChangeState.APPLYING: "warn",
    ChangeState.APPLIED: "ok",
    ChangeState.PARTLY_APPLIED: "danger",
    ChangeState.REFUSED: "danger",
    ChangeState.EXPIRED: "mute",
    ChangeState.UNDONE: "mute",
    ChangeState.DECLINED: "danger",
    ChangeState.DISCARDED: "mute",
}
ENDED = (ChangeState.DECLINED, ChangeState.DISCARDED)


@dataclass(frozen=True, slots=True)
class ChangeSetActions:
    """What a person may do with a change set now, with its badge.

    Attributes:
        message, tone: of its badge.
        is_stale: its plan has expired.
        polls: its state may change without the person, so the page reloads.
    """

    change: ChangeRow
    message: str
    tone: str
    is_stale: bool
    polls: bool
    may_plan: bool
    may_edit: bool
    may_approve: bool
    may_apply: bool
    may_discard: bool
    may_decline: bool
    may_undo: bool
    may_retry: bool
    is_own: bool

    @property
    def is_planned(self) -> bool:
        """There is a plan to show."""
        return self.change.planned_at is not None and bool(self.change.summary)

    @property
    def may_end(self) -> bool:
        """They may discard or decline it."""
        return self.may_discard or self.may_decline

    @property
    def is_ended(self) -> bool:
        """It was discarded or declined, and nothing of it was applied."""
        return self.change.state in ENDED

    @property
    def is_over(self) -> bool:
        """It was sent, or refused."""
        return self.change.state in (*APPLIED, ChangeState.REFUSED)

    @property
    def stages(self) -> dict[str, str]:
        """`done`, `now`, `wait` or `bad` by stage."""
        order = ("plan", "review", "reason", "approve", "apply", "result")
        at = order.index(self._at())
        found = {
            name: "done" if i < at else "now" if i == at else "wait"
            for i, name in enumerate(order)
        }
        found["reason"] = "done"
        if self.change.state in ENDED:
            seen = "done" if self.is_planned else "wait"
            found |= {"plan": seen, "review": seen}
            is_no = self.change.state == ChangeState.DECLINED
            found["approve"] = "bad" if is_no else "wait"
        if self.change.state in (ChangeState.REFUSED, ChangeState.PARTLY_APPLIED):
            found["result"] = "bad"
        elif self.is_over:
            found["result"] = "done"
        if self.change.error and not self.is_over and not self.change.is_planning:
            found[self._at()] = "bad"
        return found

    def _at(self) -> str:
        state = self.change.state
        if state in (ChangeState.DRAFT, ChangeState.EXPIRED):
            return "plan"
        if state in ENDED:
            return "approve"
        if state == ChangeState.PLANNED:
            return "approve" if self.change.needs_second else "review"
        return "result" if self.is_over else "apply"


def standing(
    change: ChangeRow, scope: Scope, user: str, now: datetime
) -> ChangeSetActions:
    """What one person can do with a change set in its state."""
    state, admin = change.state, scope.is_admin
    is_open = state in (ChangeState.PLANNED, ChangeState.APPROVED)
    waits = change.apply_wanted_at is not None
    is_stale = _is_stale(change, now)
    fresh = is_open and not is_stale and not waits and not change.is_blocked
    own = change.author == user and not change.is_partial
    # also `edit` and `leave-out`: an author may take all three or none
    may_end = own and may_act("discard", scope, is_author=own, edits=change.edits)
    can_end = change.waits_for_token or (not waits and state in NOT_BEGUN)
    refused = refusal_of_approval(
        _approval(change), user, lambda: editors(change.id), now
    )
    may_approve = admin and not waits and not refused
    return ChangeSetActions(
        change=change,
        message=state_message(change, is_stale=is_stale),
        tone="mute" if is_stale else TONES[ChangeState(state)],
        is_stale=is_stale,
        polls=change.is_planning
        # a form of a page that reloads each second cannot be filled in
        or (state == ChangeState.APPLYING and not change.waits_for_token)
        or (waits and is_open),
        may_plan=admin
        and not change.is_planning
        and not waits
        and state
        in (
            ChangeState.DRAFT,
            ChangeState.PLANNED,
            ChangeState.APPROVED,
            ChangeState.EXPIRED,
        ),
        may_edit=(admin or may_end)
        and state in (ChangeState.DRAFT, ChangeState.PLANNED)
        and change.undoes is None,
        may_approve=may_approve and change.needs_second,
        may_apply=(may_approve and not change.needs_second)
        or (admin and fresh and state == ChangeState.APPROVED),
        may_discard=may_end and can_end,
        may_decline=admin and not own and can_end,
        may_undo=admin
        and state in (ChangeState.APPLIED, ChangeState.PARTLY_APPLIED)
        and change.undone_by is None,
        may_retry=admin and state in (ChangeState.PARTLY_APPLIED, ChangeState.REFUSED),
        is_own=own,
    )


def _is_stale(change: ChangeRow, now: datetime) -> bool:
    """True if its plan has expired, whether or not a worker has noticed."""
    is_open = change.state in (ChangeState.PLANNED, ChangeState.APPROVED)
    return change.state == ChangeState.EXPIRED or (
        is_open
        and change.apply_wanted_at is None
        and is_expired(change.plan_expires_at, now)
    )


def _approval(change: ChangeRow) -> Approval:
    return Approval(
        name=change.number,
        cluster=change.cluster,
        state=change.state_label,
        is_planned=change.state == ChangeState.PLANNED,
        expires_at=change.plan_expires_at,
        blocked=tuple(f"{one.title}: {one.blocked}" for one in change.blocked),
        needs_second=change.needs_second,
        author=change.author,
    )


def state_message(change: ChangeRow, *, is_stale: bool = False) -> str:
    """The state as text, for badges."""
    if change.is_planning:
        return "Planning"
    if is_stale:
        return "Plan expired"
    found = {
        ChangeState.DRAFT: "Planning failed"
        if change.error
        else "Waiting for an administrator",
        ChangeState.PLANNED: "Waiting for approval"
        if change.needs_second
        else "Planned",
        ChangeState.APPROVED: "Starting" if change.apply_wanted_at else "Approved",
        ChangeState.PARTLY_APPLIED: "Partly applied",
    }
    return found.get(ChangeState(change.state), change.state_label)


def stamp(change: ChangeRow) -> str:
    """A value that changes with everything that the page shows of it."""
    counts = "-".join(
        f"{name}.{count}" for name, count in sorted(change.counts.items())
    )
    return f"{change.version}-{counts}"


def is_slow(change: ChangeRow, now: datetime, patience_s: float = 30) -> bool:
    """True if a worker should have started by now."""
    is_over = change.state in (*APPLIED, *CAME_TO_NOTHING)
    since = None if is_over else change.plan_wanted_at or change.apply_wanted_at
    return since is not None and (now - since).total_seconds() > patience_s


class ChangeLine(NamedTuple):
    """A row of a table, with the text and the tone of its badge."""

    row: ChangeRow
    message: str
    tone: str


def states_of(rows: Sequence[ChangeRow], now: datetime) -> list[ChangeLine]:
    """Each row with the text and the tone of its badge."""
    found = []
    for row in rows:
        is_stale = _is_stale(row, now)
        tone = "mute" if is_stale else TONES[ChangeState(row.state)]
        if row.state == ChangeState.DRAFT and row.error and not row.is_planning:
            tone = "danger"
        found.append(ChangeLine(row, state_message(row, is_stale=is_stale), tone))
    return found
