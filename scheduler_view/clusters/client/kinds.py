"""The kinds of objects that are read, and those that are written."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA
from scheduler_view.clusters.rules.optional_kinds import (
    KARPENTER_KINDS,
    NODE_CLAIM,
    NODE_POOL,
    QUEUE_KINDS,
)
from scheduler_view.clusters.rules.schedulers import queue_objects

LIMIT_RANGE, NAMESPACE, NODE, POD = "LimitRange", "Namespace", "Node", "Pod"
EVENT = "Event"
CLAIM, SLICE = "ResourceClaim", "ResourceSlice"
CLAIM_TEMPLATE, DEVICE_CLASS = "ResourceClaimTemplate", "DeviceClass"
VOLUME_CLAIM, VOLUME = "PersistentVolumeClaim", "PersistentVolume"
STORAGE_CLASS, BUDGET = "StorageClass", "PodDisruptionBudget"
JOB, REPLICA_SET = "Job", "ReplicaSet"
DEPLOYMENT, STATEFUL_SET = "Deployment", "StatefulSet"
WORKLOAD = "Workload"
VOLCANO_POD_GROUP, KAI_POD_GROUP = "VolcanoPodGroup", "KaiPodGroup"
READ_FOR_WAITS = (
    *(QUOTA, CLASS, NAMESPACE, LIMIT_RANGE, NODE, POD),
    *(JOB, REPLICA_SET, DEPLOYMENT, STATEFUL_SET, WORKLOAD),
    *(VOLCANO_POD_GROUP, KAI_POD_GROUP),
    *(CLAIM, SLICE, CLAIM_TEMPLATE, DEVICE_CLASS),
    *(VOLUME_CLAIM, VOLUME, STORAGE_CLASS, BUDGET),
)
"""Kinds that an explanation of waiting work, and what is kept of it, read, without events."""
_FRAMEWORKS = {
    "JobSet": ("jobset.x-k8s.io/v1alpha2", "jobsets"),
    "RayCluster": ("ray.io/v1", "rayclusters"),
    "RayJob": ("ray.io/v1", "rayjobs"),
    "RayService": ("ray.io/v1", "rayservices"),
    "TrainJob": ("trainer.kubeflow.org/v1alpha1", "trainjobs"),
    "PyTorchJob": ("kubeflow.org/v1", "pytorchjobs"),
    "TFJob": ("kubeflow.org/v1", "tfjobs"),
    "XGBoostJob": ("kubeflow.org/v1", "xgboostjobs"),
    "JAXJob": ("kubeflow.org/v1", "jaxjobs"),
    "PaddleJob": ("kubeflow.org/v1", "paddlejobs"),
    "MPIJob": ("kubeflow.org/v2beta1", "mpijobs"),
    "VolcanoJob": ("batch.volcano.sh/v1alpha1", "jobs"),
    "CoschedulingPodGroup": ("scheduling.x-k8s.io/v1alpha1", "podgroups"),
}
FRAMEWORKS = tuple(_FRAMEWORKS)
READ_IF_ALLOWED = (*FRAMEWORKS, *QUEUE_KINDS, *KARPENTER_KINDS)
"""Kinds that add to an explanation what other objects do not show; optional, no error."""
OLD_CLAIM, OLD_SLICE = "ResourceClaim v1beta1", "ResourceSlice v1beta1"  # before 1.34


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """The API path of objects of a kind.

    Attributes:
        older: earlier versions of the API, the newest first; for clusters without this one.
        is_written: applied and deleted.
        is_patched: only fields that GPU Ledger manages are changed; never created or deleted.
    """

    version: str
    plural: str
    is_namespaced: bool = True
    is_written: bool = False
    is_patched: bool = False
    older: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """Empty for the core group."""
        return self.version.rpartition("/")[0]

    @property
    def versions(self) -> tuple["ObjectKind", ...]:
        """The kind in each version of its API, the newest first."""
        return self, *(replace(self, version=one, older=()) for one in self.older)

    def path(self, namespace: str = "", name: str = "") -> str:
        root = "/apis/" if self.group else "/api/"
        place = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        one = f"/{quote(name, safe='')}" if name else ""
        return f"{root}{self.version}{place}/{self.plural}{one}"


KINDS: Mapping[str, ObjectKind] = {
    QUOTA: ObjectKind("v1", "resourcequotas", is_written=True),
    CLASS: ObjectKind(
        "scheduling.k8s.io/v1",
        "priorityclasses",
        is_namespaced=False,
        is_written=True,
    ),
    LIMIT_RANGE: ObjectKind("v1", "limitranges"),
    NAMESPACE: ObjectKind("v1", "namespaces", is_namespaced=False),
    NODE: ObjectKind("v1", "nodes", is_namespaced=False),
    POD: ObjectKind("v1", "pods"),
    EVENT: ObjectKind("v1", "events"),
    CLAIM: ObjectKind("resource.k8s.io/v1", "resourceclaims"),
    SLICE: ObjectKind("resource.k8s.io/v1", "resourceslices", is_namespaced=False),
    CLAIM_TEMPLATE: ObjectKind("resource.k8s.io/v1", "resourceclaimtemplates"),
    DEVICE_CLASS: ObjectKind(
        "resource.k8s.io/v1", "deviceclasses", is_namespaced=False
    ),
    VOLUME_CLAIM: ObjectKind("v1", "persistentvolumeclaims"),
    VOLUME: ObjectKind("v1", "persistentvolumes", is_namespaced=False),
    STORAGE_CLASS: ObjectKind(
        "storage.k8s.io/v1", "storageclasses", is_namespaced=False
    ),
    BUDGET: ObjectKind("policy/v1", "poddisruptionbudgets"),
    JOB: ObjectKind("batch/v1", "jobs"),
    REPLICA_SET: ObjectKind("apps/v1", "replicasets"),
    DEPLOYMENT: ObjectKind("apps/v1", "deployments"),
    STATEFUL_SET: ObjectKind("apps/v1", "statefulsets"),
    WORKLOAD: ObjectKind(
        "kueue.x-k8s.io/v1beta2", "workloads", older=("kueue.x-k8s.io/v1beta1",)
    ),
    VOLCANO_POD_GROUP: ObjectKind("scheduling.volcano.sh/v1beta1", "podgroups"),
    KAI_POD_GROUP: ObjectKind("scheduling.run.ai/v2alpha2", "podgroups"),
    **{kind: ObjectKind(*place) for kind, place in _FRAMEWORKS.items()},
    **{
        kind: ObjectKind(
            "karpenter.sh/v1",
            plural,
            is_namespaced=False,
            older=("karpenter.sh/v1beta1",),
        )
        for kind, plural in ((NODE_POOL, "nodepools"), (NODE_CLAIM, "nodeclaims"))
    },
    OLD_CLAIM: ObjectKind("resource.k8s.io/v1beta1", "resourceclaims"),
    OLD_SLICE: ObjectKind(
        "resource.k8s.io/v1beta1", "resourceslices", is_namespaced=False
    ),
    **{
        one.kind: ObjectKind(
            one.endpoints[0].version,
            one.endpoints[0].plural,
            one.endpoints[0].is_namespaced,
            is_patched=one.fields is not None,
            older=tuple(older.version for older in one.endpoints[1:]),
        )
        for one in queue_objects()
    },
}


def written(kind: str) -> ObjectKind:
    """A kind that may be created and deleted; all others are rejected.

    Raises:
        ValueError: this kind is never created or deleted.
    """
    if not KINDS[kind].is_written:
        raise ValueError(f"{kind} objects are read-only for GPU Ledger")
    return KINDS[kind]


def patched(kind: str, version: str) -> ObjectKind:
    """A kind whose objects belong to others, and whose fields may be set.

    Args:
        kind: in stored rows: `KaiQueue`, not `Queue`.
        version: of the API in the cluster.

    Raises:
        ValueError: no field of this kind is ever set.
    """
    for one in KINDS[kind].versions:
        if one.is_patched and one.version == version:
            return one
    raise ValueError(f"{kind} objects of {version} are read-only for GPU Ledger")
