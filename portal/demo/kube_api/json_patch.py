"""JSON patches (RFC 6902): the operations that the portal sends, with a real server's answers."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from portal.demo.kube_api.refusals import StatusError

Manifest = dict[str, Any]
REFUSED = "the server rejected our request due to an error in our request"


def json_patch(live: Manifest, operations: Sequence[Mapping[str, Any]]) -> Manifest:
    """The object after all operations; `live` is not changed.

    Raises:
        StatusError: a `test` differs, or a path does not exist (422, without detail).
    """
    made = copy.deepcopy(live)
    for one in operations:
        try:
            _apply(made, one)
        except (KeyError, IndexError, TypeError, ValueError):
            raise StatusError(422, REFUSED) from None
    for name in ("labels", "annotations"):
        if made["metadata"].get(name) == {}:
            del made["metadata"][name]
    return made


def _apply(made: Manifest, operation: Mapping[str, Any]) -> None:
    *above, last = (_name(part) for part in operation["path"].split("/")[1:])
    inner: Any = made
    for part in above:
        inner = inner[_index(inner, part)]
    at, does = _index(inner, last), operation["op"]
    if does == "test":
        if inner[at] != operation["value"]:
            raise ValueError(last)
    elif does == "remove":
        del inner[at]
    elif does == "add" and isinstance(inner, list):
        inner.insert(len(inner) if last == "-" else at, operation["value"])
    elif does == "add":
        inner[at] = operation["value"]
    elif does == "replace":
        inner[at]  # it must exist
        inner[at] = operation["value"]
    else:
        raise ValueError(does)


def _name(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def _index(inner: Any, part: str) -> Any:
    return int(part) if isinstance(inner, list) and part != "-" else part
