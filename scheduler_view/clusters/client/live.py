"""Objects of a cluster as the client returns them: what the server sent."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import structlog

from scheduler_view.clusters.rules.live_objects import Pin, owners, pin_of
from scheduler_view.clusters.rules.object_shapes import well_formed

# after an even number of backslashes; after an odd one, it is not an escape
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
log = structlog.get_logger(__name__)
Manifest = Mapping[str, Any]


class Meta(msgspec.Struct, frozen=True, gc=False):
    """The metadata of every object; enough to detect that nothing changed."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815  # the API server's spelling
    deletionTimestamp: str | None = None  # noqa: N815  # the API server's spelling


class _Head(msgspec.Struct, gc=False):
    metadata: Meta


@dataclass(frozen=True)
class LiveObject:
    """One object. Only its metadata is decoded at first: most objects did not change.

    Attributes:
        kind: such as `ResourceQuota`.
        version: of its API, such as `v1`.
        meta: its name, namespace, uid and version.
        raw: the complete object, as the API server sent it.
    """

    kind: str
    version: str
    meta: Meta
    raw: bytes | msgspec.Raw

    @property
    def sent(self) -> dict[str, Any]:
        """The complete object as a value; only its head if the rest is not readable.

        Texts of Kubernetes may have a NUL, which Postgres cannot store: it becomes `?`.
        """
        raw = bytes(self.raw)
        if b"u0000" in raw:
            raw = _NUL.sub(rb"\1?", raw)
        try:
            found: dict[str, Any] = msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            log.warning("unreadable", kind=self.kind, name=self.name, error=str(error))
            found = {"metadata": msgspec.to_builtins(self.meta)}
        return found

    @cached_property
    def manifest(self) -> Manifest:
        """The object without fields of a wrong type; with `kind` and `apiVersion`.

        Lists leave these two out.
        """
        found, _ = well_formed(self.kind, self.sent)
        found.setdefault("kind", self.kind)
        found.setdefault("apiVersion", self.version)
        return found

    @property
    def name(self) -> str:
        return self.meta.name

    @property
    def namespace(self) -> str:
        """Empty for cluster-wide objects."""
        return self.meta.namespace

    @property
    def uid(self) -> str:
        return self.meta.uid

    @property
    def resource_version(self) -> str:
        return self.meta.resourceVersion

    @property
    def labels(self) -> Mapping[str, str]:
        return self.manifest["metadata"].get("labels") or {}

    @property
    def is_going(self) -> bool:
        """True if it is being deleted."""
        return self.meta.deletionTimestamp is not None

    @property
    def spec(self) -> Mapping[str, Any]:
        """Empty for kinds without one, such as PriorityClass."""
        return self.manifest.get("spec") or {}

    @property
    def status(self) -> Mapping[str, Any]:
        return self.manifest.get("status") or {}

    @property
    def managers(self) -> frozenset[str]:
        """The managers of the object's fields."""
        return frozenset(n for names in owners(self.manifest).values() for n in names)

    def pin(self, namespace_uid: str = "") -> Pin:
        """The pin of a quota or a priority class for a plan."""
        return pin_of(self.manifest, namespace_uid)


def live_object(kind: str, version: str, raw: bytes | msgspec.Raw) -> LiveObject:
    """An object from its JSON.

    Raises:
        msgspec.DecodeError: not a Kubernetes object.
    """
    return LiveObject(kind, version, _HEAD.decode(raw).metadata, raw)


_HEAD = msgspec.json.Decoder(_Head)


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of a kind as of one version of the store.

    Attributes:
        resource_version: to watch from.
    """

    objects: tuple[LiveObject, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One change that a watch saw.

    Attributes:
        type: `ADDED`, `MODIFIED`, `DELETED` or `BOOKMARK`.
        live: the object; for a bookmark only its version is set.
    """

    type: str
    live: LiveObject
