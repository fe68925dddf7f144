"""Rejections of the simulated API server: `Status` objects, with the messages of a real one."""

from collections.abc import Mapping, Sequence
from typing import Any

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
}

Cause = Mapping[str, str]


class StatusError(Exception):
    """An unsuccessful response."""

    def __init__(
        self, code: int, message: str, *, causes: Sequence[Cause] = (), **details: str
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = {**details, **({"causes": list(causes)} if causes else {})}

    @property
    def status(self) -> dict[str, Any]:
        """The body of the response."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": REASONS.get(self.code, "InternalError"),
            "details": self.details,
            "code": self.code,
        }


def not_found(plural: str, name: str) -> StatusError:
    return StatusError(404, f'{plural} "{name}" not found', name=name, kind=plural)


def invalid(kind: str, name: str, field: str, message: str) -> StatusError:
    cause = {"reason": "FieldValueInvalid", "message": message, "field": field}
    text = f'{kind} "{name}" is invalid: {field}: {message}'
    return StatusError(422, text, causes=[cause], name=name, kind=kind)


def uid_mismatch(plural: str, name: str, wanted: str, found: str) -> StatusError:
    return StatusError(
        409,
        f'Operation cannot be fulfilled on {plural} "{name}": Precondition failed: '
        f"UID in precondition: {wanted}, UID in object meta: {found}",
        name=name,
        kind=plural,
    )
