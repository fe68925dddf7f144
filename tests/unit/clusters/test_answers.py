"""Refusals of an API server as typed errors. The texts are a real server's (1.34.4)."""

import json

import pytest

from scheduler_view.clusters.client import errors
from scheduler_view.clusters.client.answers import decode, error_of, status_error


def status(code: int, message: str, **details: object) -> bytes:
    found = {"kind": "Status", "code": code, "message": message, "details": details}
    return json.dumps(found).encode()


OWNED = status(
    409,
    'Apply failed with 1 conflict: conflict with "kubectl-edit" using v1: '
    ".spec.hard.requests.nvidia.com/gpu",
    causes=[
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl-edit" using v1',
            "field": ".spec.hard.requests.nvidia.com/gpu",
        }
    ],
)


def test_a_field_conflict_names_the_manager_and_the_field() -> None:
    error = error_of(409, OWNED)
    assert isinstance(error, errors.FieldConflict)
    assert error.owner == "kubectl-edit"
    assert error.fields == (".spec.hard.requests.nvidia.com/gpu",)
    assert error.message.startswith("Apply failed with 1 conflict")


@pytest.mark.parametrize(
    ("code", "body", "kind"),
    [
        (401, status(401, "Unauthorized"), errors.Unauthorized),
        (403, status(403, "pods is forbidden"), errors.Forbidden),
        (
            403,
            status(403, "being deleted", causes=[{"reason": "NamespaceTerminating"}]),
            errors.NamespaceTerminating,
        ),
        (
            403,
            status(
                403,
                'resourcequotas "gpu" is forbidden: not yet ready to handle request',
            ),
            errors.NotReady,
        ),
        (
            409,
            status(409, "the object has been modified; please apply"),
            errors.Stale,
        ),
        (409, status(409, "Precondition failed: UID in"), errors.UidMismatch),
        (409, status(409, "object already exists"), errors.WriteConflict),
        (410, status(410, "too old resource version"), errors.WatchExpired),
        (400, status(400, "error decoding patch"), errors.Invalid),
        (
            422,
            status(422, "immutable", causes=[{"field": "metadata.uid"}]),
            errors.UidMismatch,
        ),
        (429, b"Too many requests, please try again later.", errors.TooManyRequests),
        (500, status(500, "etcdserver: leader changed"), errors.ServerError),
        (503, b"<html>Service Unavailable</html>", errors.ServerError),
        (302, b"<html>sign in</html>", errors.InvalidServerResponse),
        (405, b"", errors.InvalidServerResponse),
    ],
)
def test_each_refusal_has_its_kind(
    code: int, body: bytes, kind: type[errors.ClusterError]
) -> None:
    error = error_of(code, body)
    assert type(error) is kind
    assert error.code == code
    assert error.message


def test_invalid_names_its_fields() -> None:
    body = status(
        422, "is invalid", causes=[{"field": "spec.hard[foo]", "message": "x"}]
    )
    error = error_of(422, body)
    assert isinstance(error, errors.Invalid)
    assert error.fields == ("spec.hard[foo]",)


def test_what_is_missing_is_named() -> None:
    body = status(404, 'namespaces "x" not found', name="x", kind="namespaces")
    error = error_of(404, body)
    assert isinstance(error, errors.NotFound)
    assert (error.kind, error.name) == ("namespaces", "x")


def test_the_server_says_how_long_to_wait() -> None:
    plain = error_of(429, b"later", {"Retry-After": "7"})
    in_body = error_of(429, status(429, "later", retryAfterSeconds=3))
    assert (plain.retry_after_s, in_body.retry_after_s) == (7.0, 3.0)
    assert plain.is_temporary


def test_an_error_within_a_watch_carries_its_own_code() -> None:
    error = status_error({"kind": "Status", "code": 410, "message": "too old"})
    assert isinstance(error, errors.WatchExpired)


DEEP = b'{"a": ' * 5000 + b"1" + b"}" * 5000


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"", b"[1]", b'{"a": ', b"\xff\xfe", pytest.param(DEEP, id="deep")],
)
def test_only_a_json_object_is_an_answer(body: bytes) -> None:
    with pytest.raises(errors.InvalidServerResponse):
        decode(body, dict[str, object])


def test_the_outcome_of_a_write_is_known_or_not() -> None:
    assert errors.Unreachable("cut", "reset").is_outcome_unknown
    assert errors.Unreachable("slow", "timeout").is_outcome_unknown
    assert not errors.Unreachable("refused", "refused").is_outcome_unknown
    assert error_of(500, b"").is_outcome_unknown
    assert not error_of(429, b"").is_outcome_unknown
