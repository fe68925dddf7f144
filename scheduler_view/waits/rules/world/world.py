"""Everything that an explanation reads: the objects of one cluster at one instant."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from scheduler_view.clusters.rules.optional_kinds import (
    NODE_CLAIM,
    NODE_POOL,
    QUEUE_KINDS,
)
from scheduler_view.clusters.rules.quota_key import NONE_ADDED, Added
from scheduler_view.waits.rules.world.autoscaling import (
    NodeClaimObject,
    NodePoolObject,
    node_claim_object,
    node_pool_object,
)
from scheduler_view.waits.rules.world.budgets import BudgetObject, budget_object
from scheduler_view.waits.rules.world.controllers import (
    REPLICA_SPECS,
    ControllerObject,
    controller_object,
)
from scheduler_view.waits.rules.world.devices import (
    DeviceClaim,
    DeviceClassObject,
    PublishedDevices,
    claim_template,
    device_claim,
    device_class,
    published_devices,
)
from scheduler_view.waits.rules.world.events import EventObject, event_object, is_read
from scheduler_view.waits.rules.world.lenient import Manifest, labels, text
from scheduler_view.waits.rules.world.limits import (
    LimitRangeObject,
    PriorityClassObject,
    QuotaObject,
    limit_range_object,
    priority_class_object,
    quota_object,
)
from scheduler_view.waits.rules.world.nodes import ClusterNode, node_object
from scheduler_view.waits.rules.world.pod_spec import PodSpec
from scheduler_view.waits.rules.world.pods import PodObject, pod_object
from scheduler_view.waits.rules.world.queues import QueueObject, queue_object
from scheduler_view.waits.rules.world.storage import (
    StorageClassObject,
    Volume,
    VolumeClaim,
    storage_class,
    volume,
    volume_claim,
)

CONTROLLER_KINDS = (
    *("Job", "ReplicaSet", "Deployment", "StatefulSet", "CronJob"),
    *("JobSet", "LeaderWorkerSet", "RayJob", "RayCluster", "RayService"),
    *("TrainJob", *REPLICA_SPECS, "VolcanoJob", "PodGroup", "Workload"),
)
READ_WITH_CARE = QUEUE_KINDS
"""Kinds that are absent in most clusters: they prove nothing unless they were listed."""
_ALSO_NAMED = {"PodGroup": ("VolcanoPodGroup", "KaiPodGroup", "CoschedulingPodGroup")}


@dataclass(frozen=True, slots=True)
class HoldFacts:
    """What the ledger has about a pod that holds GPUs; orders blockers.

    Attributes:
        busy_last_hour_ms: GPU-ms in which its GPUs were busy in the last hour.
        idle_since_ms: None if it is not idle.
    """

    busy_last_hour_ms: int = 0
    idle_since_ms: int | None = None


@dataclass(frozen=True)
class World:
    """The objects of one cluster.

    Attributes:
        now_ms: the instant of the explanation.
        unread: kinds that may not be listed; their absence proves nothing.
        free_since_ms: by subject of a unit, since when nothing has blocked it.
        holds: by uid of a pod.
        added: resources that an administrator added.
    """

    now_ms: int
    pods: tuple[PodObject, ...] = ()
    nodes: tuple[ClusterNode, ...] = ()
    controllers: tuple[ControllerObject, ...] = ()
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    classes: Mapping[str, PriorityClassObject] = field(default_factory=dict)
    quotas: tuple[QuotaObject, ...] = ()
    limit_ranges: tuple[LimitRangeObject, ...] = ()
    claims: Mapping[tuple[str, str], DeviceClaim] = field(default_factory=dict)
    templates: Mapping[tuple[str, str], DeviceClaim] = field(default_factory=dict)
    device_classes: Mapping[str, DeviceClassObject] = field(default_factory=dict)
    devices: tuple[PublishedDevices, ...] = ()
    volume_claims: Mapping[tuple[str, str], VolumeClaim] = field(default_factory=dict)
    volumes: Mapping[str, Volume] = field(default_factory=dict)
    storage_classes: Mapping[str, StorageClassObject] = field(default_factory=dict)
    budgets: tuple[BudgetObject, ...] = ()
    queues: tuple[QueueObject, ...] = ()
    events: tuple[EventObject, ...] = ()
    node_pools: tuple[NodePoolObject, ...] = ()
    node_claims: tuple[NodeClaimObject, ...] = ()
    unread: frozenset[str] = frozenset()
    free_since_ms: Mapping[str, int] = field(default_factory=dict)
    holds: Mapping[str, HoldFacts] = field(default_factory=dict)
    added: Added = field(default_factory=lambda: NONE_ADDED)

    def priority_of(self, spec: PodSpec) -> int:
        """A pod's priority: as resolved, else of its class, else of the default class, else 0."""
        if spec.priority is not None:
            return spec.priority
        named = self.classes.get(spec.priority_class)
        if named is not None or spec.priority_class:
            return named.value if named else 0
        return next((one.value for one in self.classes.values() if one.is_default), 0)


Value = TypeVar("Value")


def read_world(
    objects: Mapping[str, Iterable[Manifest]],
    now_ms: int,
    *,
    unread: Iterable[str] = (),
    added: Added = NONE_ADDED,
) -> World:
    """The objects of a cluster from the API server's JSON, by kind.

    Kinds that are not used are ignored. Objects are read one by one, so an iterator of a large list
    does not keep all of it in memory.
    """

    def read(kind: str, reader: Callable[[Manifest], Value]) -> tuple[Value, ...]:
        return tuple(reader(one) for one in objects.get(kind, ()))

    pods = with_shared_specs(pod_object(one, now_ms) for one in objects.get("Pod", ()))
    claims = read("PersistentVolumeClaim", volume_claim)
    pools = read(NODE_POOL, node_pool_object)
    of_setup = frozenset(key for pool in pools for key in pool.startup_taints)
    return World(
        now_ms=now_ms,
        pods=pods,
        nodes=read("Node", lambda one: node_object(one, of_setup)),
        controllers=tuple(
            controller_object(kind, one, name)
            for kind in CONTROLLER_KINDS
            for name in (kind, *_ALSO_NAMED.get(kind, ()))
            for one in objects.get(name, ())
        ),
        namespaces={
            text(one, "metadata", "name"): labels(one, "metadata", "labels")
            for one in objects.get("Namespace", ())
        },
        classes={c.name: c for c in read("PriorityClass", priority_class_object)},
        quotas=read("ResourceQuota", quota_object),
        limit_ranges=read("LimitRange", limit_range_object),
        claims={(c.namespace, c.name): c for c in read("ResourceClaim", device_claim)},
        templates={
            (c.namespace, c.name): c
            for c in read("ResourceClaimTemplate", claim_template)
        },
        device_classes={c.name: c for c in read("DeviceClass", device_class)},
        devices=read("ResourceSlice", published_devices),
        volume_claims={(c.namespace, c.name): c for c in claims},
        volumes={v.name: v for v in read("PersistentVolume", volume)},
        storage_classes={c.name: c for c in read("StorageClass", storage_class)},
        budgets=read("PodDisruptionBudget", budget_object),
        queues=tuple(
            queue_object(kind, one)
            for kind in QUEUE_KINDS
            for one in objects.get(kind, ())
        ),
        events=tuple(
            event_object(one) for one in objects.get("Event", ()) if is_read(one)
        ),
        node_pools=pools,
        node_claims=read(NODE_CLAIM, node_claim_object),
        unread=frozenset(unread) | {k for k in READ_WITH_CARE if k not in objects},
        added=added,
    )


def with_shared_specs(pods: Iterable[PodObject]) -> tuple[PodObject, ...]:
    """Pods with the same requirements share one value: less memory, and compared at once."""
    known: dict[PodSpec, PodSpec] = {}
    return tuple(
        replace(one, spec=known.setdefault(one.spec, one.spec)) for one in pods
    )
