"""A cluster's access to its Kubernetes API in a set-up file.

Names and forms are checked here, with their lines; what the paths lead to is for the workers
that have the files (`scheduler_view.cluster.access` reads what is stored).
"""

from typing import Any

from accounting.configuration.yaml_lines import Entry
from accounting.sources.address import fault_of

LONGEST_TIMEOUT_S = 60
_ROLES = ("reader", "pusher")
_WAYS = (
    {"in_cluster"},
    {"kubeconfig", "context"},
    {"server", "token_file", "ca_file"},
)
_FORMS = (
    "write {in_cluster: true}, {kubeconfig: PATH, context: NAME} or "
    "{server: https://..., token_file: PATH, ca_file: PATH}"
)


def read_kubernetes(entry: Entry) -> dict[str, Any]:
    """The access of a cluster; empty where none is set up."""
    found = entry.mapping("kubernetes")
    place = entry.values.get("kubernetes")
    if not isinstance(place, Entry):
        return found
    place.allow(*_ROLES, "timeout_s", "second_approver_above")
    for role in _ROLES:
        if role in place.values:
            _check_access(place, role)
    if "timeout_s" in place.values:
        _check_number(place, "timeout_s", LONGEST_TIMEOUT_S)
    if "second_approver_above" in place.values:
        _check_number(place, "second_approver_above", None)
    return found


def _check_access(place: Entry, role: str) -> None:
    given = place.mapping(role)
    if not given or not any(set(given) <= way for way in _WAYS):
        place.fail(role, f"{role!r} is no access: {_FORMS}")
        return
    for key, value in given.items():
        is_right = value is True if key == "in_cluster" else _is_text(value)
        if not is_right:
            wanted = "true" if key == "in_cluster" else "a text"
            place.fail(role, f"{role!r}: {key!r} must be {wanted}")
    server = given.get("server")
    if isinstance(server, str) and server and (fault := fault_of(server)):
        place.fail(role, f"{role!r}: 'server': {fault}")
    if not given.keys() & {"in_cluster", "kubeconfig", "server"}:
        place.fail(role, f"{role!r} names no server: {_FORMS}")


def _check_number(place: Entry, key: str, most: int | None) -> None:
    value = place.values[key]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or value < 0 or (most is not None and not 0 < value <= most):
        limit = f" above 0, at most {most}" if most is not None else ", 0 or more"
        place.fail(key, f"{key!r} is a number{limit}")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
