"""The object that a request to the demo's Kubernetes API addresses, and its selectors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from portal.demo.kube_api.store import Key, StoredChange
from scheduler_view.clusters.client.kinds import KINDS

_BY_PATH = {(kind.version, kind.plural): name for name, kind in KINDS.items()}


@dataclass(frozen=True, slots=True)
class AddressedObject:
    """The object of an address; an empty name means all objects of the kind."""

    kind: str
    namespace: str
    name: str
    is_status: bool

    @property
    def key(self) -> Key:
        return (self.kind, self.namespace, self.name)


def target_of(path: str) -> AddressedObject | None:
    """The object of a path; None if the path is not known."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[:2] == ["api", "v1"]:
        version, rest = "v1", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        version, rest = "/".join(parts[1:3]), parts[3:]
    else:
        return None
    namespace = ""
    if rest[0:1] == ["namespaces"] and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    kind = _BY_PATH.get((version, rest[0] if rest else ""))
    is_status = rest[2:] == ["status"]
    if kind is None or (len(rest) > 2 and not is_status):
        return None
    if namespace and not KINDS[kind].is_namespaced:
        return None
    return AddressedObject(kind, namespace, rest[1] if len(rest) > 1 else "", is_status)


def is_seen(
    change: StoredChange, target: AddressedObject, query: Mapping[str, str]
) -> bool:
    """True if a watch of a target receives a change."""
    meta = change.manifest["metadata"]
    is_here = target.namespace in ("", meta.get("namespace", ""))
    return is_here and is_chosen(change.manifest, query)


def is_chosen(manifest: Mapping[str, Any], query: Mapping[str, str]) -> bool:
    """True if the selectors of a request, all of the form `a=b,c`, match an object."""
    labels = manifest["metadata"].get("labels") or {}
    for term in filter(None, query.get("labelSelector", "").split(",")):
        name, equals, value = term.partition("=")
        if name not in labels or (equals and labels[name] != value):
            return False
    for term in filter(None, query.get("fieldSelector", "").split(",")):
        path, _equals, value = term.partition("=")
        found: Any = manifest
        for name in path.split("."):
            found = (found or {}).get(name)
        if found != value:
            return False
    return True
