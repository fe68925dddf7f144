"""Errors of calls to an API server; each type has one way to handle it.

The message is the server's if it sent one, else ours; it can be shown to people.
"""

from collections.abc import Mapping


class ClusterError(Exception):
    """A call failed.

    Attributes:
        message: the server's message, or ours if it sent none.
        code: HTTP status; None without a response.
        is_temporary: the same call may succeed later.
        is_outcome_unknown: a write may or may not have happened: read it back.
        retry_after_s: the server's waiting time, if it sets one.
    """

    is_temporary = False
    is_outcome_unknown = False

    def __init__(
        self,
        message: str,
        code: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.retry_after_s = retry_after_s


class NotConfigured(ClusterError):
    """No access is configured, or its files cannot be read: the settings must change."""


class Unauthorized(ClusterError):
    """401: the identity is not valid: until its token is renewed."""

    is_temporary = True


class Forbidden(ClusterError):
    """403: denied by RBAC, by an admission policy or by a quota."""


class NamespaceTerminating(Forbidden):
    """403: the namespace is being deleted; nothing can be created in it."""


class NotReady(ClusterError):
    """403 of admission that is not ready: the server started just now. Nothing was done."""

    is_temporary = True


class NotFound(ClusterError):
    """404: the object or its namespace does not exist.

    Attributes:
        kind, name: the missing object, as named by the server: `namespaces`, `team-a`.
    """

    def __init__(self, message: str, kind: str = "", name: str = "") -> None:
        super().__init__(message, 404)
        self.kind = kind
        self.name = name


class WriteConflict(ClusterError):
    """409 of another kind: read the object again, plan again."""


class FieldConflict(WriteConflict):
    """409: other managers have set fields that we would set to another value.

    Attributes:
        owners: fields as named by the server, by manager.
    """

    def __init__(self, message: str, owners: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__(message, 409)
        self.owners = owners

    @property
    def owner(self) -> str:
        """The managers' names, joined."""
        return ", ".join(self.owners)

    @property
    def fields(self) -> tuple[str, ...]:
        """The conflicting fields."""
        return tuple(name for names in self.owners.values() for name in names)


class Stale(WriteConflict):
    """409: the object was changed since the given version."""


class UidMismatch(WriteConflict):
    """409 or 422: another object has this name now; ours was deleted."""


class WatchExpired(ClusterError):
    """410: the version to continue from is too old: list again."""


class Invalid(ClusterError):
    """400 or 422: the server does not accept these values.

    Attributes:
        fields: the fields that it names, such as `spec.hard[foo]`; may be empty.
    """

    def __init__(
        self, message: str, code: int = 422, fields: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, code)
        self.fields = fields


class TooManyRequests(ClusterError):
    """429: wait `retry_after_s`, then retry. Nothing was done."""

    is_temporary = True


class ServerError(ClusterError):
    """5xx: the server or a proxy in front of it failed."""

    is_temporary = True
    is_outcome_unknown = True


class InvalidServerResponse(ClusterError):
    """Not a response of a Kubernetes API server: HTML, a redirect, incomplete JSON."""

    is_outcome_unknown = True


class Unreachable(ClusterError):
    """No response.

    Attributes:
        how: `timeout`, `reset`, `refused` or `name` (the host is not known).
    """

    is_temporary = True

    def __init__(self, message: str, how: str) -> None:
        super().__init__(message)
        self.how = how

    @property
    def is_outcome_unknown(self) -> bool:  # type: ignore[override]  # a constant of the other classes
        """A refused connection did nothing; after an aborted or timed out one it is not known."""
        return self.how in ("timeout", "reset")


class TlsFailure(ClusterError):
    """No trusted connection: certificate, host name or protocol."""
