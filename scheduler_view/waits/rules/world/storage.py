"""Volumes as observed: claims, volumes and storage classes."""

from dataclasses import dataclass

from scheduler_view.waits.rules.world.lenient import Manifest, milli, part, text, texts
from scheduler_view.waits.rules.world.selectors import NodeTerm, node_terms

NO_PROVISIONER = "kubernetes.io/no-provisioner"
ONE_POD = "ReadWriteOncePod"


@dataclass(frozen=True, slots=True)
class VolumeClaim:
    """A PersistentVolumeClaim.

    Attributes:
        storage_class: empty without one.
        volume: the name of its volume; empty if it is not bound.
        size: thousandths of a byte.
    """

    namespace: str
    name: str
    storage_class: str
    volume: str
    is_bound: bool
    modes: frozenset[str] = frozenset()
    size: int = 0


@dataclass(frozen=True, slots=True)
class Volume:
    """A PersistentVolume.

    Attributes:
        terms: nodes that can use it; None for all.
    """

    name: str
    storage_class: str
    is_free: bool
    terms: tuple[NodeTerm, ...] | None = None
    modes: frozenset[str] = frozenset()
    size: int = 0


@dataclass(frozen=True, slots=True)
class StorageClassObject:
    """A StorageClass; `waits` if volumes are bound only once a pod has a node."""

    name: str
    waits: bool
    has_provisioner: bool


def volume_claim(manifest: Manifest) -> VolumeClaim:
    """A PersistentVolumeClaim from the API server's JSON."""
    spec = part(manifest, "spec")
    return VolumeClaim(
        text(manifest, "metadata", "namespace"),
        text(manifest, "metadata", "name"),
        text(spec, "storageClassName"),
        text(spec, "volumeName"),
        text(manifest, "status", "phase") == "Bound",
        frozenset(texts(spec, "accessModes")),
        milli(part(spec, "resources", "requests").get("storage")) or 0,
    )


def volume(manifest: Manifest) -> Volume:
    """A PersistentVolume from the API server's JSON."""
    spec = part(manifest, "spec")
    return Volume(
        text(manifest, "metadata", "name"),
        text(spec, "storageClassName"),
        text(manifest, "status", "phase") in ("", "Available"),
        node_terms(part(spec, "nodeAffinity").get("required")),
        frozenset(texts(spec, "accessModes")),
        milli(part(spec, "capacity").get("storage")) or 0,
    )


def storage_class(manifest: Manifest) -> StorageClassObject:
    """A StorageClass from the API server's JSON."""
    return StorageClassObject(
        text(manifest, "metadata", "name"),
        text(manifest, "volumeBindingMode") == "WaitForFirstConsumer",
        text(manifest, "provisioner") not in ("", NO_PROVISIONER),
    )


def fits(claim: VolumeClaim, free: Volume) -> bool:
    """Whether a free volume could be bound to a claim, on some node."""
    return (
        free.is_free
        and free.storage_class == claim.storage_class
        and free.size >= claim.size
        and claim.modes <= free.modes
    )
