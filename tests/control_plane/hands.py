"""Who carries out a remedy of one situation: its work, and the cluster that it is on."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from scheduler_view.waits.rules.explanation import WaitExplanation
from tests.control_plane.admin import Admin, RefusedByServer
from tests.control_plane.first_remedy import MERGE
from tests.control_plane.recorded_case import Manifest, path_of
from tests.control_plane.situation import Situation, create, place_of
from tests.control_plane.situation_objects import GROUP
from tests.processes import wait_until

Change = Mapping[str, Any]


@dataclass
class Hands:
    """One situation, when its explanation is known.

    Attributes:
        edits: of the spec of its pods, which are made again once, with all of them.
    """

    admin: Admin
    situation: Situation
    told: WaitExplanation
    edits: list[Callable[[Manifest], None]] = field(default_factory=list)

    @property
    def gpus(self) -> str:
        return self.told.resource

    def path(self, subject: str) -> str:
        """Of `Kind/namespace/name`."""
        kind, *where = subject.split("/")
        if len(where) == 1:
            return place_of(kind, "", where[0])
        return place_of(kind, where[0], where[1])

    def own(self) -> Iterator[Manifest]:
        """Objects of the situation that are the work: one controller, or pods of a gang."""
        kind, _, name = self.told.subject.split("/")
        for one in self.situation.filled(self.situation.steps):
            if "change" in one or one.get("is_gone"):
                continue
            group = one["metadata"].get("labels", {}).get(f"{GROUP}/name")
            is_it = (one["kind"], one["metadata"]["name"]) == (kind, name)
            if is_it or (kind == "LeaderWorkerSet" and f"{group}-0" == name):
                yield one

    def make_again(self) -> None:
        """Delete the work, and create it with all edits."""
        self.remove_work()
        self.create_work()

    def remove_work(self) -> None:
        """Delete all of it first: new pods may preempt old ones."""
        for made in self.own():
            meta = made["metadata"]
            path = place_of(made["kind"], meta["namespace"], meta["name"])
            body = {"gracePeriodSeconds": 0, "propagationPolicy": "Foreground"}
            self.admin.call("DELETE", path, body)
            self.wait_gone(path)

    def create_work(self) -> None:
        """Create it with all edits."""
        for made in self.own():
            for edit in self.edits:
                edit(made["spec"].get("template", made)["spec"])
            create(self.admin, made)
        self.edits.clear()

    def wait_gone(self, path: str) -> None:
        """Return when an object that was deleted is not there any more."""
        wait_until(partial(self._is_gone, path), 60, 0.2)

    def _is_gone(self, path: str) -> bool:
        try:
            self.admin.get(path)
        except RefusedByServer as answer:
            return answer.code == 404
        return False

    def patch(self, path: str, change: Any) -> None:
        self.admin.call("PATCH", path, change, MERGE)


def has_started(hands: Hands) -> bool:
    """Whether more pods of the work have a node than before, or all that it wants."""
    told = hands.told
    prefix = f"{told.name}-" if told.kind != "Pod" else told.name
    pods = hands.admin.get(path_of("Pod", told.namespace))["items"]
    bound = sum(
        one["metadata"]["name"].startswith(prefix)
        and "nodeName" in one["spec"]
        and one["status"].get("phase") != "Failed"
        for one in pods
    )
    if told.kind in ("LeaderWorkerSet", "PodGroup"):
        return bool(bound >= told.pods.wanted)
    return bool(bound > told.pods.bound or bound >= told.pods.wanted)
