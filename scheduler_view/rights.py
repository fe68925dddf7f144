"""Who may take which step of a change set; used by its page and by REST."""

from accounting.access import Scope

OF_AUTHORS = frozenset({"edit", "leave-out", "discard"})
"""What leads may do with their own requests. Everything else affects the cluster, also a plan
(a dry run with the account that writes), and is for administrators.
"""


def may_act(verb: str, scope: Scope, *, is_author: bool) -> bool:
    """True if a person may take this step.

    Args:
        verb: `edit`, `leave-out`, `discard`, `plan`, `approve`, `apply`, `undo`, ...
        scope: the person's.
        is_author: the change set is theirs.
    """
    return scope.is_admin or (is_author and verb in OF_AUTHORS)
