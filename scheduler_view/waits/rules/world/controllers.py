"""Objects that make pods or own those that do, read alike whatever their kind."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from scheduler_view.waits.rules.world.containers import ContainerAsk, container_asks
from scheduler_view.waits.rules.world.entries import (
    SCHEDULERS,
    condition,
    is_held_entry,
    of_queue,
    waiting_checks,
)
from scheduler_view.waits.rules.world.lenient import (
    Manifest,
    amounts,
    instant_ms,
    is_true,
    items,
    labels,
    part,
    text,
    whole,
)
from scheduler_view.waits.rules.world.pod_spec import PodSpec, pod_spec
from scheduler_view.waits.rules.world.pods import ControllerRef, controller_of

MAKERS = frozenset({"Job", "ReplicaSet", "StatefulSet"})
REPLICA_SPECS: Mapping[str, str] = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
}
"""Training jobs of Kubeflow, and where they have the numbers of their pods."""
_SIZES: Mapping[str, tuple[str, ...]] = {
    "PodGroup": ("minMember",),
    "VolcanoJob": ("minAvailable",),
    "LeaderWorkerSet": ("leaderWorkerTemplate", "size"),
    "TrainJob": ("trainer", "numNodes"),
}


@dataclass(frozen=True, slots=True)
class ControllerObject:
    """A Job, Deployment, JobSet, pod group or another owner of pods.

    Attributes:
        wanted: pods that it wants now; None if its kind does not show it here.
        gang_size: how many pods are of use only together, as it declares; None without one.
        is_indexed: a Job whose pods have an index.
        is_suspended: it makes no pods until it is resumed.
        template: what its pods will require; None without one.
        asks: what each container of the template requests.
        max_unavailable: pods that a rollout may end first; None for other kinds.
        failure: why a Deployment's pods were not made; empty without a failure.
        queue: that it waits in; empty if its kind names none.
        queue_reason, queue_message: why the queue has not let it in.
        cluster_queue: of an admitted entry of Kueue: the queue that let it in.
        is_held: a queue's entry that is not admitted.
        admitted_ms: when a queue admitted it, or a suspended Job began; None if it shows neither.
        backoff_limit: how often a Job makes failed pods again; None for other kinds.
        deadline_s: the longest time that a Job may run; None without a limit.
        failed: pods of a Job that failed, as it counts them.
        pod_sets: of an entry of Kueue: how many pods it is for, and what each will require.
        scheduler: of an entry of a queue: `kueue`, `volcano` or `kai`; else empty.
        is_active: False for an entry of Kueue that was deactivated.
        checks: of an entry of Kueue with quota: name, state and message of each admission check
            that has not let it in.
        may_be_partial: Kueue may let in fewer pods than it is for.
        least: of a pod group of Volcano: thousandths that its smallest number of pods requests.
    """

    kind: str
    namespace: str
    name: str
    uid: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    controller: ControllerRef | None = None
    created_ms: int | None = None
    wanted: int | None = None
    gang_size: int | None = None
    is_indexed: bool = False
    is_suspended: bool = False
    template: PodSpec | None = None
    asks: tuple[ContainerAsk, ...] = ()
    template_labels: Mapping[str, str] = field(default_factory=dict)
    replicas: int | None = None
    max_unavailable: int | None = None
    failure: str = ""
    queue: str = ""
    queue_reason: str = ""
    queue_message: str = ""
    cluster_queue: str = ""
    is_held: bool = False
    admitted_ms: int | None = None
    backoff_limit: int | None = None
    deadline_s: int | None = None
    failed: int = 0
    pod_sets: tuple[tuple[int, PodSpec], ...] = ()
    scheduler: str = ""
    is_active: bool = True
    checks: tuple[tuple[str, str, str], ...] = ()
    may_be_partial: bool = False
    least: tuple[tuple[str, int], ...] = ()


def controller_object(
    kind: str, manifest: Manifest, listed_as: str = ""
) -> ControllerObject:
    """An owner of pods from the API server's JSON.

    Args:
        listed_as: distinguishes pod groups of several schedulers.
    """
    metadata, spec = part(manifest, "metadata"), part(manifest, "spec")
    template = part(spec, "template")
    has_template = kind in (*MAKERS, "Deployment")
    replicas = whole(spec, "replicas")
    ended = kind == "Job" and _has_ended(manifest)
    return ControllerObject(
        kind=kind,
        namespace=text(metadata, "namespace"),
        name=text(metadata, "name"),
        uid=text(metadata, "uid"),
        labels=labels(metadata, "labels"),
        controller=controller_of(metadata),
        created_ms=instant_ms(metadata, "creationTimestamp"),
        wanted=0 if ended else _wanted(kind, spec, manifest),
        gang_size=_gang_size(kind, spec),
        is_indexed=text(spec, "completionMode") == "Indexed",
        is_suspended=not ended
        and (is_true(spec, "suspend") or is_true(part(spec, "runPolicy"), "suspend")),
        template=pod_spec(part(template, "spec")) if has_template else None,
        asks=container_asks(part(template, "spec")) if has_template else (),
        template_labels=labels(template, "metadata", "labels"),
        replicas=1 if replicas is None else max(0, replicas),
        max_unavailable=_max_unavailable(spec, replicas)
        if kind == "Deployment"
        else None,
        failure=_failure(manifest),
        queue=text(spec, "queueName") or text(spec, "queue"),
        queue_reason=of_queue(kind, manifest, "reason"),
        queue_message=of_queue(kind, manifest, "message"),
        cluster_queue=text(manifest, "status", "admission", "clusterQueue"),
        is_held=is_held_entry(kind, spec, manifest),
        admitted_ms=_admitted_ms(kind, manifest),
        backoff_limit=whole(spec, "backoffLimit") if kind == "Job" else None,
        deadline_s=whole(spec, "activeDeadlineSeconds") if kind == "Job" else None,
        failed=max(0, whole(manifest, "status", "failed") or 0) if kind == "Job" else 0,
        pod_sets=tuple(_pod_sets(spec)) if kind == "Workload" else (),
        scheduler=SCHEDULERS.get(listed_as or kind, ""),
        is_active=kind != "Workload" or spec.get("active") is not False,
        checks=tuple(waiting_checks(manifest)) if kind == "Workload" else (),
        may_be_partial=kind == "Workload"
        and any(whole(one, "minCount") is not None for one in items(spec, "podSets")),
        least=tuple(sorted(amounts(spec, "minResources").items()))
        if listed_as == "VolcanoPodGroup"
        else (),
    )


def _pod_sets(spec: Manifest) -> Iterator[tuple[int, PodSpec]]:
    for one in items(spec, "podSets"):
        count = whole(one, "count")
        template = pod_spec(part(one, "template", "spec"))
        yield 1 if count is None else max(0, count), template


def _has_ended(manifest: Manifest) -> bool:
    return any(
        text(one, "type") in ("Complete", "Failed", "SuccessCriteriaMet")
        and text(one, "status") == "True"
        for one in items(manifest, "status", "conditions")
    )


def _wanted(kind: str, spec: Manifest, manifest: Manifest) -> int | None:
    if kind == "Job":
        parallelism = whole(spec, "parallelism")
        wanted = 1 if parallelism is None else max(0, parallelism)
        completions = whole(spec, "completions")
        if completions is not None:
            done = whole(manifest, "status", "succeeded") or 0
            wanted = max(0, min(wanted, completions - done))
        return wanted
    if kind in ("ReplicaSet", "StatefulSet", "Deployment"):
        replicas = whole(spec, "replicas")
        return 1 if replicas is None else max(0, replicas)
    return None


def _gang_size(kind: str, spec: Manifest) -> int | None:
    if kind in _SIZES:
        return whole(spec, *_SIZES[kind])
    if kind in REPLICA_SPECS:
        by_type = part(spec, REPLICA_SPECS[kind])
        return sum(_replicas(part(by_type, name)) for name in by_type) or None
    if kind == "Workload":
        return sum(count for count, _ in _pod_sets(spec)) or None
    if kind == "JobSet":
        return _jobset_size(spec)
    if kind == "RayCluster":
        groups = items(spec, "workerGroupSpecs")
        return 1 + sum(max(0, whole(one, "minReplicas") or 0) for one in groups)
    return None


def _jobset_size(spec: Manifest) -> int | None:
    found = 0
    for one in items(spec, "replicatedJobs"):
        job = part(one, "template", "spec")
        parallelism = whole(job, "parallelism")
        found += _replicas(one) * (1 if parallelism is None else max(0, parallelism))
    return found or None


def _replicas(of: Manifest) -> int:
    replicas = whole(of, "replicas")
    return 1 if replicas is None else max(0, replicas)


def _max_unavailable(spec: Manifest, replicas: int | None) -> int:
    """As Kubernetes rounds: percentages of unavailable down, of surge up, and never both 0."""
    if text(spec, "strategy", "type") == "Recreate":
        return 1 if replicas is None else replicas
    rolling = part(spec, "strategy", "rollingUpdate")
    count = 1 if replicas is None else replicas
    unavailable = _share(rolling.get("maxUnavailable", "25%"), count, up=False)
    surge = _share(rolling.get("maxSurge", "25%"), count, up=True)
    return 1 if unavailable == 0 and surge == 0 else unavailable


def _share(value: object, count: int, *, up: bool) -> int:
    if isinstance(value, int):
        return max(0, value)
    written = str(value).removesuffix("%")
    if not written.isascii() or not written.isdigit():
        return 0
    product = int(written[:4]) * count
    return -(-product // 100) if up else product // 100


def _failure(manifest: Manifest) -> str:
    for one in items(manifest, "status", "conditions"):
        if text(one, "type") == "ReplicaFailure" and text(one, "status") == "True":
            return text(one, "message")
    return ""


def _admitted_ms(kind: str, manifest: Manifest) -> int | None:
    if kind == "Workload":
        admitted = condition(manifest, "Admitted")
        if admitted is not None and text(admitted, "status") == "True":
            return instant_ms(admitted, "lastTransitionTime")
    if kind == "Job" and condition(manifest, "Suspended") is not None:
        return instant_ms(manifest, "status", "startTime")
    return None
