"""Live objects as the API server sends them, and their pins.

A quota's `resourceVersion` changes with every pod, because the status is part of the object, and
there is no `generation` (measured on Kubernetes 1.34.4). So a plan pins the object's `uid`, a
hash of its spec and a hash of the managers of its fields. Queues of schedulers have a `generation`
that a written status does not change: it is pinned too.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MANAGER = "gpu-ledger"  # of server-side apply
OWNER_LABEL, OWNER = "app.kubernetes.io/managed-by", "gpu-ledger"
QUOTA, CLASS = "ResourceQuota", "PriorityClass"

Manifest = Mapping[str, Any]
Path = tuple[str, ...]

_WANTED = {
    QUOTA: ("spec",),
    CLASS: ("value", "preemptionPolicy", "globalDefault", "description"),
}
_QUEUE_WANTED = ("spec", "value", "description")
_GIT = {
    "argocd": "Argo CD",
    "kustomize-controller": "Flux",
    "helm-controller": "Flux",
    "helm": "Helm",
    "fleet": "Fleet",
    "kapp": "kapp",
    "rancher": "Rancher",
    "config-sync": "Config Sync",
    "configsync": "Config Sync",
}
_GIT_MARKS = {
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "argocd.argoproj.io/instance": "Argo CD",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
    "meta.helm.sh/release-name": "Helm",
    "configmanagement.gke.io/managed": "Config Sync",
}


@dataclass(frozen=True, slots=True)
class Pin:
    """The identity of an object when it was planned; empty texts if it did not exist.

    Attributes:
        uid: of the object.
        spec: hash of its spec, its labels and whether it is being deleted.
        managers: hash of the managers of those fields.
        namespace_uid: of its namespace; empty for cluster-wide objects.
        generation: of the object; 0 for kinds without one.
    """

    uid: str = ""
    spec: str = ""
    managers: str = ""
    namespace_uid: str = ""
    generation: int = 0

    @property
    def is_absent(self) -> bool:
        """True if there was no object."""
        return not self.uid

    def difference(self, now: "Pin") -> str:
        """Why a plan with this pin does not match the current object; empty if it does."""
        if self.namespace_uid != now.namespace_uid:
            return "the namespace was removed or recreated since this plan"
        if self.uid != now.uid:
            if self.is_absent:
                return "the object was created since this plan"
            gone = "removed" if now.is_absent else "removed and created again"
            return f"the object was {gone} since this plan"
        if (self.spec, self.generation) != (now.spec, now.generation):
            return "the object was changed since this plan"
        if self.managers != now.managers:
            return "other managers have changed ownership of its fields since this plan"
        return ""


def pin_of(live: Manifest | None, namespace_uid: str = "") -> Pin:
    """The pin of an object, or of a missing one."""
    if live is None:
        return Pin(namespace_uid=namespace_uid)
    meta, kind = live["metadata"], kind_of(live)
    wanted = {name: live.get(name) for name in _WANTED.get(kind, _QUEUE_WANTED)}
    wanted["labels"] = meta.get("labels") or {}
    wanted["deleting"] = bool(meta.get("deletionTimestamp"))
    managers = sorted(
        [
            entry.get("manager", ""),
            entry.get("operation", ""),
            _digest(entry["fieldsV1"]),
        ]
        for entry in entries(live)
    )
    generation = 0 if kind in _WANTED else int(meta.get("generation") or 0)
    pinned = _digest(wanted), _digest(managers)
    return Pin(meta["uid"], *pinned, namespace_uid, generation)


def kind_of(live: Manifest) -> str:
    """`kind`; clients leave it out of the items of a list."""
    return live.get("kind") or (CLASS if "value" in live else QUOTA)


def is_ours(live: Manifest) -> bool:
    """True if it has our owner label."""
    return (live["metadata"].get("labels") or {}).get(OWNER_LABEL) == OWNER


def owners(live: Manifest) -> dict[Path, set[str]]:
    """The manager of each field in the object's spec, such as ("spec", "hard", "pods")."""
    found: dict[Path, set[str]] = {}
    for entry in entries(live):
        for path in _leaves(entry["fieldsV1"]):
            found.setdefault(path, set()).add(entry.get("manager", ""))
    return found


def appliers(live: Manifest, path: Path) -> set[str]:
    """Managers that set a field by server-side apply."""
    return {
        entry.get("manager", "")
        for entry in entries(live)
        if entry.get("operation") == "Apply" and path in set(_leaves(entry["fieldsV1"]))
    }


def owned_keys(live: Manifest, manager: str = MANAGER) -> set[str]:
    """The keys of a quota's `spec.hard` that a manager set by apply."""
    return {
        path[2]
        for path, names in owners(live).items()
        if path[:2] == ("spec", "hard") and len(path) > 2 and manager in names
    }


def other_owners(live: Manifest) -> dict[str, set[str]]:
    """Other managers, by the key of `spec.hard` that they manage."""
    found: dict[str, set[str]] = {}
    for path, names in owners(live).items():
        if path[:2] == ("spec", "hard") and len(path) > 2 and names - {MANAGER}:
            found.setdefault(path[2], set()).update(names - {MANAGER})
    return found


def git_owner(live: Manifest) -> str:
    """The tool that syncs an object from Git; empty if none is known."""
    meta = live["metadata"]
    marks = {**(meta.get("labels") or {}), **(meta.get("annotations") or {})}
    for name, tool in _GIT_MARKS.items():
        if name in marks:
            return tool
    managers = {name for names in owners(live).values() for name in names}
    for manager in sorted(managers):
        for begin, tool in _GIT.items():
            if manager.lower().startswith(begin):
                return tool
    return ""


def entries(live: Manifest) -> Iterator[Mapping[str, Any]]:
    """Managed fields, except those of the status, which changes with every pod."""
    for entry in live["metadata"].get("managedFields") or []:
        if entry.get("subresource") != "status" and entry.get("fieldsV1"):
            yield entry


def _leaves(fields: Mapping[str, Any], above: Path = ()) -> Iterator[Path]:
    for name, inner in fields.items():
        if not name.startswith("f:"):
            continue
        path = (*above, name.removeprefix("f:"))
        below = {key: value for key, value in inner.items() if key != "."}
        if below:
            yield from _leaves(below, path)
        else:
            yield path


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
