"""Who may approve a plan, and when: one rule for the action, its page and the list."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Approval:
    """The inputs of the rule.

    Attributes:
        name: `CS-7`, for messages.
        cluster: its name, for messages.
        state: as shown in messages.
        is_planned: it has a plan that waits for approval.
        expires_at: when the plan is no longer valid.
        blocked: objects that cannot be changed, each with the reason.
        needs_second: it exceeds its cluster's limit for one administrator.
        author: the username.
    """

    name: str
    cluster: str
    state: str
    is_planned: bool
    expires_at: datetime | None
    blocked: tuple[str, ...]
    needs_second: bool
    author: str


def is_expired(expires_at: datetime | None, at: datetime) -> bool:
    """True if a plan is no longer valid."""
    return expires_at is not None and expires_at <= at


def refusal_of_approval(
    asked: Approval, person: str, writers: Callable[[], Collection[str]], at: datetime
) -> str:
    """Why an administrator cannot approve a plan; "" if they can.

    Args:
        asked: the change set.
        person: the username of the administrator.
        writers: returns the authors of its edits; called only if a second person is needed.
        at: the current time.
    """
    if not asked.is_planned:
        return f"{asked.name} is {asked.state}; only a planned one can be approved"
    if is_expired(asked.expires_at, at):
        return expiry_message(asked.name, asked.expires_at)
    if asked.blocked:
        return (
            f"{len(asked.blocked)} of its objects cannot be changed, first "
            f"{asked.blocked[0]}"
        )
    if asked.needs_second and (person == asked.author or person in writers()):
        return (
            f"{asked.name} is above the limit of {asked.cluster}: another administrator "
            "must approve it, not its author or a person who edited it"
        )
    return ""


def expiry_message(name: str, expires_at: datetime | None) -> str:
    """The message that a plan is no longer valid."""
    return f"the plan of {name} was valid until {expires_at:%H:%M:%S} UTC: plan again"
