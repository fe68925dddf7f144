"""What can go wrong between us and an API server; each kind has one thing to do about it.

The message is the server's own words where it sent any, else ours; it is fit for a person.
"""

from collections.abc import Mapping


class ClusterError(Exception):
    """A call did not do what was asked.

    Attributes:
        words: the server's own words, or ours when it said nothing.
        code: HTTP status; None when there was no answer.
        is_temporary: the same call may succeed later.
        is_outcome_unknown: a write may or may not have happened: read it back.
        retry_after_s: how long the server wants to be left alone, where it says so.
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
    """No access is set up, or its files cannot be read: the settings must change."""


class Unauthorized(ClusterError):
    """401: the server does not know who we are: the credentials must change."""


class Forbidden(ClusterError):
    """403: we may not, by RBAC, by an admission policy or by a quota."""


class NamespaceTerminating(Forbidden):
    """403: the namespace is being removed; nothing can be made in it."""


class NotFound(ClusterError):
    """404: the object or its namespace is not there.

    Attributes:
        kind, name: what is missing, as the server says: `namespaces`, `team-a`.
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
        owners: manager -> the fields it has, as the server names them.
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
        """The fields in question."""
        return tuple(name for names in self.owners.values() for name in names)


class Stale(WriteConflict):
    """409: the object was changed since the version that we named."""


class UidMismatch(WriteConflict):
    """409 or 422: another object has this name now; ours was removed."""


class WatchExpired(ClusterError):
    """410: the version to go on from is too old: list again."""


class Invalid(ClusterError):
    """400 or 422: the server does not accept these values.

    Attributes:
        fields: the fields that it names, e.g. `spec.hard[foo]`; may be empty.
    """

    def __init__(
        self, message: str, code: int = 422, fields: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, code)
        self.fields = fields


class TooManyRequests(ClusterError):
    """429: wait `retry_after_s`, then ask again. Nothing was done."""

    is_temporary = True


class ServerError(ClusterError):
    """5xx: the server or a proxy before it failed."""

    is_temporary = True
    is_outcome_unknown = True


class InvalidServerResponse(ClusterError):
    """Not what a Kubernetes API server says: HTML, a redirect, half a JSON."""

    is_outcome_unknown = True


class Unreachable(ClusterError):
    """No answer came.

    Attributes:
        how: `timeout`, `reset`, `refused` or `name` (the host is not known).
    """

    is_temporary = True

    def __init__(self, message: str, how: str) -> None:
        super().__init__(message)
        self.how = how

    @property
    def is_outcome_unknown(self) -> bool:  # type: ignore[override]
        """A refused connection did nothing; a cut or silent one may have."""
        return self.how in ("timeout", "reset")


class TlsFailure(ClusterError):
    """No connection can be trusted: certificate, host name or protocol."""
