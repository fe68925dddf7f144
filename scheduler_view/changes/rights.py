"""Who may take which step of a change set; used by its page and by REST."""

from collections.abc import Iterable, Mapping
from typing import Any

from accounting.access.models.teams import Team
from accounting.access.scope import Scope
from scheduler_view.changes.rules.edit import QuotaEdit, stored_edit

OF_AUTHORS = frozenset({"edit", "leave-out", "discard"})
"""What leads may do with their own requests. Everything else affects the cluster, also a plan
(a dry run with the account that writes), and is for administrators.
"""


def may_act(
    verb: str, scope: Scope, *, is_author: bool, edits: Iterable[Mapping[str, Any]]
) -> bool:
    """True if a person may take this step.

    Args:
        verb: `edit`, `leave-out`, `discard`, `plan`, `approve`, `apply`, `undo`, ...
        scope: the person's.
        is_author: the change set is theirs.
        edits: of the change set, as stored. An author must still lead all of their teams.
    """
    if scope.is_admin:
        return True
    return is_author and verb in OF_AUTHORS and leads_all(scope, edits)


def leads_all(scope: Scope, edits: Iterable[Mapping[str, Any]]) -> bool:
    """True if all edits, as stored, are quotas of teams that the person leads; one query."""
    if not scope.lead_of:
        return False
    teams = Team.objects.filter(pk__in=scope.lead_of)
    led = set(teams.values_list("slug", flat=True))
    asked = [stored_edit(one) for one in edits]
    return all(isinstance(one, QuotaEdit) and one.team in led for one in asked)
