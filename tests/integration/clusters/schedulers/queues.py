"""Queues as their administrators write them, and edits of them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from scheduler_view.changes.actions.change_sets import undo
from scheduler_view.changes.models import ChangeSet
from scheduler_view.clusters.models import Drift
from scheduler_view.queues.tasks.look import observe_once
from tests.control_plane.admin import GPU, Admin
from tests.integration.changes.office import Office

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
FLAVORS = ("a100", "h100")
NOMINAL = f"a100/{GPU}/nominalQuota"
BORROWING = f"a100/{GPU}/borrowingLimit"
LENDING = f"a100/{GPU}/lendingLimit"


def paths() -> dict[str, str]:
    """Of all objects of a kind."""
    return {
        "ClusterQueue": f"{KUEUE}/clusterqueues",
        "LocalQueue": f"{KUEUE}/localqueues",
        "WorkloadPriorityClass": f"{KUEUE}/workloadpriorityclasses",
        "VolcanoQueue": "/apis/scheduling.volcano.sh/v1beta1/queues",
        "KaiQueue": "/apis/scheduling.run.ai/v2/queues",
    }


_HEADS = {
    "ClusterQueue": ("kueue.x-k8s.io/v1beta2", "ClusterQueue"),
    "WorkloadPriorityClass": ("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass"),
    "VolcanoQueue": ("scheduling.volcano.sh/v1beta1", "Queue"),
    "KaiQueue": ("scheduling.run.ai/v2", "Queue"),
}


@dataclass
class QueueOffice:
    """An office whose cluster has queues."""

    office: Office

    @property
    def admin(self) -> Admin:
        return self.office.world.admin

    def name(self, suffix: str = "cq") -> str:
        """A name of this test."""
        return f"{self.office.world.name}-{suffix}"

    def path(self, kind: str, name: str) -> str:
        return f"{paths()[kind]}/{name}"

    def body(self, kind: str, name: str, **fields: Any) -> dict[str, Any]:
        """An object as others write it."""
        version, api_kind = _HEADS[kind]
        head = {"apiVersion": version, "kind": api_kind, "metadata": {"name": name}}
        return head | fields

    def make(self, kind: str, name: str, **fields: Any) -> dict[str, Any]:
        """What `kubectl create` sends."""
        body = self.body(kind, name, **fields)
        return self.admin.create(paths()[kind], body, fieldManager="kubectl-create")

    def live(self, kind: str, name: str) -> dict[str, Any]:
        return self.admin.get(self.path(kind, name))

    def write_status(self, kind: str, name: str, status: dict[str, Any]) -> None:
        """What a controller writes."""
        self.admin.call(
            "PATCH",
            f"{self.path(kind, name)}/status",
            {"status": status},
            "application/merge-patch+json",
            fieldManager="controller",
        )

    def make_cluster_queue(self, suffix: str = "cq", **spec: Any) -> str:
        """A ClusterQueue of two flavors with GPUs and processors; its name."""
        name = self.name(suffix)
        spec = {"cohortName": "all", "resourceGroups": groups()} | spec
        self.make("ClusterQueue", name, spec=spec)
        return name

    @staticmethod
    def hours(count: int) -> timedelta:
        return timedelta(hours=count)

    def look(self) -> None:
        """The observer reads the cluster."""
        observe_once(self.office.cluster, now=self.office.now)

    def drift(self, kind: str, name: str) -> Drift | None:
        """How an object differs, as last seen."""
        return Drift.objects.filter(kind=kind, name=name).first()

    def undone(self, change_set: ChangeSet, *forced: str) -> ChangeSet:
        """Undone, planned, approved and applied."""
        draft = undo(
            change_set,
            actor="ana",
            reason="It was too much.",
            at=self.office.now(),
            forced=forced,
        )
        planned = self.office.plan(draft)
        assert planned.state == "planned", planned.error
        done = self.office.apply(self.office.approve(planned))
        assert done.state == "applied", done.error
        return done


def limits(gpus: Any, **more: Any) -> list[dict[str, Any]]:
    """The resources of one flavor."""
    return [
        {"name": GPU, "nominalQuota": gpus, **more},
        {"name": "cpu", "nominalQuota": "64"},
    ]


def groups(a100: Any = 4, h100: Any = "8", **more: Any) -> list[dict[str, Any]]:
    """`spec.resourceGroups` of a ClusterQueue."""
    flavors = [
        {"name": "a100", "resources": limits(a100, **more)},
        {"name": "h100", "resources": limits(h100)},
    ]
    return [{"coveredResources": [GPU, "cpu"], "flavors": flavors}]


def edit(kind: str, name: str, field: str, value: Any, **more: Any) -> dict[str, Any]:
    """An edit of one field."""
    found = {"kind": "queue", "object": kind, "name": name}
    return found | {"field": field, "value": value} | more


def nominal(name: str, value: Any, **more: Any) -> dict[str, Any]:
    """An edit of a ClusterQueue's A100s."""
    return edit("ClusterQueue", name, NOMINAL, value, **more)


def managers(live: dict[str, Any], field: str) -> set[str]:
    """Who manages a field of a spec, such as `f:resourceGroups`."""
    return {
        entry["manager"]
        for entry in live["metadata"]["managedFields"]
        if field in (entry["fieldsV1"].get("f:spec") or {})
        and entry.get("subresource") != "status"
    }
