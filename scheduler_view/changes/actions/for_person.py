"""What a worker does of a change set, in the audit log: for whom, and who requested it."""

from contextlib import AbstractContextManager

from accounting.kit.audit import act
from scheduler_view.changes.models import ChangeSet


def planning(change_set: ChangeSet, reason: str) -> AbstractContextManager[None]:
    """A worker plans it for who requested the plan; its author, if that was not recorded."""
    asked = change_set.plan_wanted_by
    return _for(change_set, asked or change_set.author_name, reason)


def applying(change_set: ChangeSet, reason: str = "") -> AbstractContextManager[None]:
    """A worker applies it for who requested that.

    One that starts at its time, and the return of a loan, is applied for who approved it.
    """
    asked = change_set.apply_wanted_by or change_set.approved_by
    return _for(change_set, asked or change_set.author_name, reason)


def _for(change_set: ChangeSet, name: str, reason: str) -> AbstractContextManager[None]:
    why = reason or change_set.reason
    return act(name, why, by_worker=True, requested_by=change_set.author_name)
