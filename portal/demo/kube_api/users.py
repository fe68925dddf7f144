"""Permissions in the demo's Kubernetes API."""

from dataclasses import dataclass

from portal.demo.kube_api.refusals import StatusError
from portal.demo.kube_api.target import AddressedObject
from scheduler_view.clusters.client.kinds import KINDS, ObjectKind

READS = frozenset({"get", "list", "watch"})


@dataclass(frozen=True, slots=True)
class User:
    """A user with a token.

    Attributes:
        is_admin: has all permissions; others may read. A pusher may write quotas and classes, and
            change values of queues.
    """

    name: str
    is_admin: bool = False
    is_pusher: bool = False

    def may(self, verb: str, kind: str) -> bool:
        known = KINDS[kind]
        writes = known.is_written and verb in ("patch", "delete")
        writes |= known.is_patched and verb == "patch"
        return self.is_admin or verb in READS or (self.is_pusher and writes)


def forbidden(user: User, verb: str, target: AddressedObject) -> StatusError:
    """The rejection of a call without permission, with a real server's message."""
    kind: ObjectKind = KINDS[target.kind]
    name = f'"{target.name}" ' if target.name else ""
    place = f' in the namespace "{target.namespace}"' if target.namespace else ""
    where = place or " at the cluster scope"
    full = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    return StatusError(
        403,
        f'{full} {name}is forbidden: User "{user.name}" cannot {verb} resource '
        f'"{kind.plural}" in API group "{kind.group}"{where}',
    )
