"""Kueue's objects of the simulated cluster: queues, and the Jobs and Workloads in them."""

from typing import Any

from portal.demo.kube_api.objects import (
    condition,
    controller_uid,
    instant,
    made,
    pod_template,
)
from portal.demo.kube_api.store import Key, Manifest
from portal.demo.scenario.fleet import resource_of
from portal.demo.scenario.noise import code_of, uuid_of
from portal.demo.scenario.organization import WHOLE_GPU
from portal.demo.scenario.pod import SimulatedJob
from portal.demo.scenario.queues import (
    CLUSTER_QUEUES,
    COHORT,
    FLAVOR,
    ClusterQueueSpec,
    QueueQuota,
    Queues,
)
from scheduler_view.clusters.client.kinds import JOB, KINDS, WORKLOAD

CLUSTER_QUEUE, LOCAL_QUEUE = "ClusterQueue", "LocalQueue"
KUEUE = KINDS[WORKLOAD].version
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


def local_queue(spec: ClusterQueueSpec) -> tuple[Key, Manifest]:
    """The LocalQueue of a namespace."""
    uid = uuid_of(0, "local queue", spec.namespace, spec.local)
    meta = {"namespace": spec.namespace}
    one = made(LOCAL_QUEUE, uid, spec.local, meta, spec={"clusterQueue": spec.name})
    return (LOCAL_QUEUE, spec.namespace, spec.local), one | {"apiVersion": KUEUE}


def cluster_queue(spec: ClusterQueueSpec, quota: QueueQuota) -> tuple[Key, Manifest]:
    """A ClusterQueue as its administrator wrote it."""
    limits = {
        "name": WHOLE_GPU,
        "nominalQuota": str(quota.nominal),
        "borrowingLimit": str(quota.borrowing),
    }
    group = {
        "coveredResources": [WHOLE_GPU],
        "flavors": [{"name": FLAVOR, "resources": [limits]}],
    }
    one = made(
        CLUSTER_QUEUE,
        uuid_of(0, "cluster queue", spec.name),
        spec.name,
        {"generation": 1},
        spec={
            "cohortName": COHORT,
            "resourceGroups": [group],
            "namespaceSelector": {},  # every namespace; without it, Kueue serves none
            "queueingStrategy": "BestEffortFIFO",
            "stopPolicy": "None",
            "preemption": {
                "reclaimWithinCohort": "Never",
                "withinClusterQueue": "Never",
            },
        },
    )
    return (CLUSTER_QUEUE, "", spec.name), one | {"apiVersion": KUEUE}


def quota_of(manifest: Manifest) -> tuple[int, int] | None:
    """Nominal quota and borrowing limit of a ClusterQueue; None if they are not readable."""
    try:
        limits = manifest["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
        return int(limits["nominalQuota"]), int(limits.get("borrowingLimit") or 0)
    except (KeyError, IndexError, TypeError, ValueError):
        return None


def queue_status(queues: Queues, spec: ClusterQueueSpec) -> dict[str, Any]:
    """The status of a ClusterQueue."""
    used = queues.used(spec.name)
    borrowed = max(0, used - queues.quotas[spec.name].nominal)
    total = {"name": WHOLE_GPU, "total": str(used), "borrowed": str(borrowed)}
    usage = [{"name": FLAVOR, "resources": [total]}]
    jobs = len(queues.admitted[spec.name])
    return {
        "conditions": [condition("Active", 0, is_true=True, reason="Ready")],
        "flavorsReservation": usage,
        "flavorsUsage": usage,
        "pendingWorkloads": len(queues.waiting[spec.name]),
        "reservingWorkloads": jobs,
        "admittedWorkloads": jobs,
    }


def job_object(job: SimulatedJob, class_name: str) -> tuple[Key, Manifest]:
    """An Indexed Job, suspended while its queue holds it back."""
    count = len(job.requests)
    labels = {QUEUE_LABEL: job.queue} if job.queue else {}
    status: dict[str, Any] = {"conditions": []}
    if job.queue:
        at_s = job.created_s if job.admitted_s is None else job.admitted_s
        held = condition("Suspended", at_s, is_true=job.admitted_s is None)
        status["conditions"].append(held)
    if job.admitted_s is not None:
        status["startTime"] = instant(job.admitted_s)
    if job.ended_s is not None:
        status["conditions"].append(condition("Complete", job.ended_s, is_true=True))
    one = made(
        JOB,
        controller_uid(job.namespace, JOB, job.name),
        job.name,
        {
            "namespace": job.namespace,
            "labels": labels,
            "creationTimestamp": instant(job.created_s),
        },
        spec={
            "parallelism": count,
            "completions": count,
            "completionMode": "Indexed",
            "suspend": bool(job.queue) and job.admitted_s is None,
            "template": pod_template(job.requests[0], class_name),
        },
        status=status,
    )
    return (JOB, job.namespace, job.name), one


def workload_object(
    queues: Queues, job: SimulatedJob, class_name: str, priority: int
) -> tuple[Key, Manifest]:
    """The Workload of a Job: waiting for quota, or admitted."""
    name = f"job-{job.name}-{code_of(5, 'workload', job.uid)}"
    first = job.requests[0]
    resource = resource_of(first.pools[0])
    if job.admitted_s is None:
        lacks = queues.lacks(job)
        words = {
            "reason": "WaitingForQuota",
            "message": (
                "couldn't assign flavors to pod set main: insufficient unused quota for "
                f"{resource} in flavor {FLAVOR}, {lacks} more needed"
            ),
        }
        reserved = condition("QuotaReserved", job.created_s, is_true=False, **words)
        no = {"reason": "NoReservation", "message": "The workload has no reservation"}
        admitted = condition("Admitted", job.created_s, is_true=False, **no)
    else:
        yes = {"reason": "QuotaReserved", "message": "Quota reserved"}
        reserved = condition("QuotaReserved", job.admitted_s, is_true=True, **yes)
        yes = {"reason": "Admitted", "message": "The workload is admitted"}
        admitted = condition("Admitted", job.admitted_s, is_true=True, **yes)
    status: dict[str, Any] = {"conditions": [reserved, admitted]}
    if job.admitted_s is not None:
        assigned = {
            "name": "main",
            "count": len(job.requests),
            "flavors": {resource: FLAVOR},
            "resourceUsage": {resource: str(job.gpus)},
        }
        queue = next(
            one.name
            for one in CLUSTER_QUEUES
            if (one.namespace, one.local) == (job.namespace, job.queue)
        )
        status["admission"] = {"clusterQueue": queue, "podSetAssignments": [assigned]}
    owner = {"kind": JOB, "name": job.name, "uid": job.uid, "controller": True}
    pods = {
        "name": "main",
        "count": len(job.requests),
        "template": pod_template(first, class_name),
    }
    one = made(
        WORKLOAD,
        uuid_of(0, "workload", job.uid),
        name,
        {
            "namespace": job.namespace,
            "creationTimestamp": instant(job.created_s),
            "ownerReferences": [{"apiVersion": KINDS[JOB].version, **owner}],
        },
        spec={"queueName": job.queue, "priority": priority, "podSets": [pods]},
        status=status,
    )
    return (WORKLOAD, job.namespace, name), one
