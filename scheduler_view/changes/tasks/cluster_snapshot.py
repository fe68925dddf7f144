"""The state of a cluster that a plan needs, read in few calls: one list of each kind."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler_view.changes.rules.edit import Edit, TierEdit
from scheduler_view.changes.rules.steps import Observed
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import ClusterError, Forbidden, NotFound
from scheduler_view.clusters.client.kinds import LIMIT_RANGE, NAMESPACE, NODE
from scheduler_view.clusters.rules.json_operations import at_path
from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA, Manifest, is_ours
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.quantity import gpus_or_none
from scheduler_view.clusters.rules.quota_key import NONE_ADDED, Added, resource_of

FEW = 20  # namespaces that are read one by one; more of them are read as one list


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Namespaces: uid, labels, and those that are being deleted."""

    uids: Mapping[str, str]
    labels: Mapping[str, Mapping[str, str]]
    going: frozenset[str]


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """The state of a cluster.

    Attributes:
        quotas: every quota of each requested namespace.
        ranges: the items of its LimitRanges.
        classes: every PriorityClass.
        offered: units of GPU resources of all nodes; None without permission to read them.
        queues: objects of queues, by key.
        added: resources that an administrator added.
    """

    places: Namespaces
    quotas: Mapping[str, Sequence[Manifest]]
    ranges: Mapping[str, Sequence[Mapping[str, Any]]]
    classes: Mapping[str, Manifest]
    offered: Mapping[str, int] | None = None
    queues: Mapping[ObjectKey, Manifest] = field(default_factory=dict)
    added: Added = field(default_factory=dict)

    def observed(self, keys: Iterable[ObjectKey]) -> Observed:
        """The objects of a plan."""
        quotas = {
            ObjectKey(QUOTA, namespace, quota["metadata"]["name"]): quota
            for namespace, found in self.quotas.items()
            for quota in found
        }
        classes = {
            ObjectKey(CLASS, "", name): one for name, one in self.classes.items()
        }
        known: dict[ObjectKey, Manifest] = {**quotas, **classes, **self.queues}
        return Observed(
            {key: known.get(key) for key in keys}, self.places.uids, self.places.going
        )


def read_namespaces(client: ClusterClient) -> Namespaces:
    """Every namespace."""
    listed = client.list(NAMESPACE).objects
    going = frozenset(
        one.name
        for one in listed
        if one.is_going or one.status.get("phase") == "Terminating"
    )
    staying = [one for one in listed if one.name not in going]
    return Namespaces(
        {one.name: one.uid for one in staying},
        {one.name: one.labels for one in staying},
        going,
    )


def read_classes(client: ClusterClient) -> dict[str, Manifest]:
    """Every PriorityClass, by name."""
    return {one.name: one.manifest for one in client.list(CLASS).objects}


def read_snapshot(
    client: ClusterClient,
    places: Namespaces,
    classes: Mapping[str, Manifest],
    namespaces: Iterable[str],
    added: Added = NONE_ADDED,
) -> ClusterSnapshot:
    """Quotas and LimitRanges of some namespaces, and resources of nodes."""
    names = sorted(set(namespaces) & set(places.uids))
    return ClusterSnapshot(
        places=places,
        quotas=_in(client, QUOTA, names),
        ranges={
            name: [
                item for one in found for item in at_path(one, ("spec", "limits")) or []
            ]
            for name, found in _if_allowed(client, LIMIT_RANGE, names).items()
        },
        classes=classes,
        offered=_offered(client, added),
        added=added,
    )


def foreign_defaults(
    classes: Mapping[str, Manifest], taken: Collection[str] = ()
) -> list[str]:
    """Default classes that are not ours, and that no edit takes over."""
    return sorted(
        name
        for name, one in classes.items()
        if one.get("globalDefault") and not is_ours(one) and name not in taken
    )


def taken_over(edits: Iterable[Edit]) -> set[str]:
    """Classes of others that become the class of a tier."""
    return {edit.class_name for edit in edits if isinstance(edit, TierEdit)}


def get_or_none(client: ClusterClient, key: ObjectKey) -> Manifest | None:
    """One object now; None if it does not exist."""
    try:
        return client.get(key.kind, key.name, key.namespace).manifest
    except NotFound:
        return None


def _in(
    client: ClusterClient, kind: str, names: Sequence[str]
) -> dict[str, list[Manifest]]:
    found: dict[str, list[Manifest]] = {name: [] for name in names}
    lists = (
        [client.list(kind)]
        if len(names) > FEW
        else [client.list(kind, name) for name in names]
    )
    for listing in lists:
        for one in listing.objects:
            if one.namespace in found:
                found[one.namespace].append(one.manifest)
    return found


def _if_allowed(
    client: ClusterClient, kind: str, names: Sequence[str]
) -> dict[str, list[Manifest]]:
    """A list that only warnings need: empty without permission to read it."""
    try:
        return _in(client, kind, names)
    except Forbidden:
        return {}


def _offered(client: ClusterClient, added: Added) -> dict[str, int] | None:
    try:
        nodes = client.list(NODE).objects
    except ClusterError:
        return None
    found: dict[str, int] = {}
    for node in nodes:
        for name, value in (node.status.get("allocatable") or {}).items():
            resource, units = resource_of(name, added), gpus_or_none(value)
            if resource is not None and units:
                found[resource] = found.get(resource, 0) + units
    return found
