"""Errors of change sets as responses of the API (RFC 9110: 409, 412, 428)."""

from typing import Any

from rest_framework import exceptions

from accounting.kit.once import KeyReused
from scheduler_view.changes.actions.change_sets import ChangedMeanwhile, ChangeRefused
from scheduler_view.changes.rules.edit import EditsRefused
from scheduler_view.changes.tasks.base_versions import LostUpdate


class Conflict(exceptions.APIException):
    """The state, or another person's change, does not allow it."""

    status_code = 409


class PreconditionFailed(exceptions.APIException):
    """The current version differs from If-Match."""

    status_code = 412


class PreconditionRequired(exceptions.APIException):
    """If-Match is missing."""

    status_code = 428


class Unprocessable(exceptions.APIException):
    """An idempotency key that was used with another request."""

    status_code = 422


def translated(error: Exception) -> Exception:
    """One of our errors as an exception of the API framework."""
    if isinstance(error, ChangedMeanwhile):
        return PreconditionFailed(str(error))
    if isinstance(error, ChangeRefused | LostUpdate):
        return Conflict(str(error))
    if isinstance(error, KeyReused):
        return Unprocessable(str(error))
    if isinstance(error, EditsRefused):
        found: dict[str, dict[str, list[str]]] = {}
        for fault in error.faults:
            one = found.setdefault(str(fault.index), {})
            one.setdefault(fault.field, []).append(fault.text)
        detail: Any = {"edits": found}
        return exceptions.ValidationError(detail)
    return error
