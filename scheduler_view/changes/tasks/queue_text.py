"""The text of a plan about queues: effects, and limits that apply twice."""

from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.rules.edit import QueueEdit
from scheduler_view.changes.rules.effects import Effect
from scheduler_view.changes.rules.queue_effects import covered, queue_effects, twice
from scheduler_view.changes.rules.warnings import PlanWarning, WarningCode
from scheduler_view.changes.tasks.planner import Computed
from scheduler_view.clusters.models import Observation
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS, scheduler_of
from scheduler_view.clusters.rules.schedulers.kueue import CLUSTER_QUEUE
from scheduler_view.quotas.reads.queue_borrowing import served
from scheduler_view.quotas.reads.sync import live_quotas


def effects_of_queues(plan: Computed) -> list[Effect]:
    """What changes in each object."""
    return [
        effect
        for step in plan.steps
        if step.key.kind in QUEUE_FIELDS and step.before is not None
        for effect in queue_effects(step, step.before)
    ]


def warnings_of_queues(cluster: Cluster, plan: Computed) -> list[PlanWarning]:
    """Doubts about the objects, and namespaces that Kueue and a ResourceQuota limit."""
    found = [
        PlanWarning(WarningCode.QUEUE_RULE, text, str(key))
        for key, text in plan.queues.doubts
    ]
    return found + _limited_twice(cluster, plan)


def _limited_twice(cluster: Cluster, plan: Computed) -> list[PlanWarning]:
    name = scheduler_of(CLUSTER_QUEUE).name
    places = {
        queue: namespaces
        for (scheduler, queue), namespaces in served(cluster.pk).items()
        if scheduler == name
    }
    if not places:
        return []
    edited = {
        e.name
        for e in plan.edits
        if isinstance(e, QueueEdit) and e.object == CLUSTER_QUEUE
    }
    touched = {step.key.namespace for step in plan.steps} - {""}
    about = {
        queue: own if queue in edited else own & touched
        for queue, own in places.items()
        if queue in edited or own & touched
    }
    stored = Observation.objects.filter(
        cluster=cluster, kind=CLUSTER_QUEUE, name__in=about
    )
    queues = {row.name: covered(row.manifest, CLUSTER_QUEUE) for row in stored}
    return twice(queues, about, _limits(cluster, plan), CLUSTER_QUEUE)


def _limits(cluster: Cluster, plan: Computed) -> dict[str, set[str]]:
    """The resources that quotas of each namespace limit, now and after the change."""
    found = {
        namespace: {resource for quota in quotas for resource in quota.hard}
        for namespace, quotas in live_quotas(cluster.pk).items()
    }
    for target in plan.desired.after.targets.values():
        for namespace in target.split:
            found.setdefault(namespace, set()).add(target.resource)
    return found
