"""Objects of a cluster as the door hands them out: what the server sent, never changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_view.domain.manifest import Pin, owners, pin_of

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LiveObject:
    """One object.

    Attributes:
        kind: e.g. `ResourceQuota`.
        manifest: all of it, as the API server sent it, with `kind` and `apiVersion`.
    """

    kind: str
    manifest: Manifest

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Empty for what lies in no namespace."""
        return str(self.manifest["metadata"].get("namespace") or "")

    @property
    def uid(self) -> str:
        return str(self.manifest["metadata"]["uid"])

    @property
    def resource_version(self) -> str:
        return str(self.manifest["metadata"]["resourceVersion"])

    @property
    def labels(self) -> Mapping[str, str]:
        return self.manifest["metadata"].get("labels") or {}

    @property
    def is_going(self) -> bool:
        """True when it is being removed."""
        return bool(self.manifest["metadata"].get("deletionTimestamp"))

    @property
    def spec(self) -> Mapping[str, Any]:
        """Empty for kinds without one, as PriorityClass."""
        return self.manifest.get("spec") or {}

    @property
    def status(self) -> Mapping[str, Any]:
        return self.manifest.get("status") or {}

    @property
    def managers(self) -> frozenset[str]:
        """Who manages fields that the object wants."""
        return frozenset(n for names in owners(self.manifest).values() for n in names)

    def pin(self, namespace_uid: str = "") -> Pin:
        """What a plan remembers of a quota or a priority class."""
        return pin_of(self.manifest, namespace_uid)

    @property
    def spec_hash(self) -> str:
        """Of what a quota or a priority class wants, without its status."""
        return self.pin().spec


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of a kind as of one version of the store.

    Attributes:
        resource_version: to watch from.
    """

    objects: tuple[LiveObject, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Event:
    """One change that a watch saw.

    Attributes:
        type: `ADDED`, `MODIFIED`, `DELETED` or `BOOKMARK`.
        live: the object; of a bookmark only its version says something.
    """

    type: str
    live: LiveObject
