"""People at work: an admin who edits, another who approves, and the worker."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.resources import added_names
from scheduler_view.changes.actions import due_work
from scheduler_view.changes.actions.change_sets import (
    approve,
    create,
    request_apply,
    request_plan,
)
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.rules.edit import Draft
from scheduler_view.changes.rules.given_edit import edits_from
from tests.control_plane.admin import RefusedByServer, class_path, quota_path
from tests.control_plane.world import World

EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
REASON = "Agreed with the lead. OPS-4812"


@dataclass
class Office:
    """One cluster and who changes it.

    Attributes:
        ahead: how far the clock of the people and the worker is ahead of the real one.
    """

    world: World
    cluster: Cluster
    ahead: timedelta = timedelta()

    def now(self) -> datetime:
        """The clock of this test."""
        return timezone.now() + self.ahead

    def draft(self, *edits: dict[str, Any], **more: Any) -> ChangeSet:
        """What Ana asks for."""
        draft = Draft(edits_from(list(edits), added_names()), REASON, **more)
        return create(cluster=self.cluster, draft=draft, actor="ana", at=self.now())

    def work(self) -> int:
        """The worker takes what is due."""
        return due_work.work(self.cluster.pk, now=self.now)

    def planned(self, *edits: dict[str, Any], **more: Any) -> ChangeSet:
        """Asked for and planned."""
        return self.plan(self.draft(*edits, **more))

    def plan(self, change_set: ChangeSet) -> ChangeSet:
        """Plan, and read what became of it."""
        request_plan(change_set, version=change_set.version, actor="ana", at=self.now())
        self.work()
        change_set.refresh_from_db()
        return change_set

    def agreed(self, *edits: dict[str, Any], **more: Any) -> ChangeSet:
        """Planned and approved; nothing is sent yet."""
        change_set = self.planned(*edits, **more)
        assert change_set.state == "planned", change_set.error
        return self.approve(change_set)

    def approve(self, change_set: ChangeSet, by: str = "luis") -> ChangeSet:
        """Another admin agrees."""
        return approve(change_set, version=change_set.version, actor=by, at=self.now())

    def apply(self, change_set: ChangeSet) -> ChangeSet:
        """Ask for it, and let the worker do it."""
        request_apply(
            change_set, version=change_set.version, actor="ana", at=self.now()
        )
        self.work()
        change_set.refresh_from_db()
        return change_set

    def applied(self, *edits: dict[str, Any], **more: Any) -> ChangeSet:
        """All of it, which must succeed."""
        change_set = self.apply(self.agreed(*edits, **more))
        assert change_set.state == "applied", change_set.error
        return change_set

    def hard(self, namespace: str = "", name: str = "gpu-ledger") -> dict[str, str]:
        """What `kubectl get resourcequota` shows as limits."""
        path = quota_path(namespace or self.world.name, name)
        found = self.world.admin.get(path)
        return dict(found["spec"].get("hard") or {})

    def has_quota(self, namespace: str = "", name: str = "gpu-ledger") -> bool:
        """Whether the object is there."""
        try:
            self.world.admin.get(quota_path(namespace or self.world.name, name))
        except RefusedByServer:
            return False
        return True

    def version_of(self, namespace: str = "", name: str = "gpu-ledger") -> str:
        """`resourceVersion`: moves with each write."""
        path = quota_path(namespace or self.world.name, name)
        version: str = self.world.admin.get(path)["metadata"]["resourceVersion"]
        return version

    def priority_class(self, name: str) -> dict[str, Any]:
        """One PriorityClass as it is."""
        return self.world.admin.get(class_path(name))


def quota(gpus: int | None, team: str = "vision", **more: Any) -> dict[str, Any]:
    """An edit of whole GPUs."""
    edit = {"kind": "quota", "team": team, "resource": "nvidia.com/gpu", "gpus": gpus}
    return edit | more


def tier(name: str, value: int, **more: Any) -> dict[str, Any]:
    """An edit of a tier."""
    return {"kind": "tier", "name": name, "value": value} | more


def steps(change_set: ChangeSet) -> list[tuple[str, str, str]]:
    """Object, action and state of each step."""
    return [(str(step), step.action, step.state) for step in change_set.steps.all()]


def said(change_set: ChangeSet, key: str = "effects") -> str:
    """The words of a plan."""
    return "\n".join(one["text"] for one in change_set.plan[key])
