"""A real API server that is killed five times while one change set of many objects is applied.

It is killed (SIGKILL) and started again at five steps: before an object is read, before one is
sent, while one is under way, after the server said yes and before that is stored, and after a class
that will be replaced was removed. Every object is as an undisturbed run makes it, byte for byte but
for what a server makes anew: identities, versions, times. `make soak SERVER_KILLS=5` waits in real
time and prints the seconds until the work goes on.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from accounting.access.models.teams import Binding, BindingKind, Team
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.actions import due_work
from scheduler_view.changes.actions.apply import PAUSE
from scheduler_view.changes.models import ChangeSet
from scheduler_view.clusters.client.access import AccessRole
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.live import LiveObject
from scheduler_view.clusters.tasks.cluster_connection import connect_to
from tests.control_plane.admin import class_path
from tests.control_plane.server import ControlPlane, control_plane
from tests.control_plane.world import world_of
from tests.integration.changes.conftest import office_of
from tests.integration.changes.office import EPOCH, Office, quota, tier
from tests.processes import wait_until

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.control_plane,
    pytest.mark.timeout(300),
]
IN_REAL_TIME = bool(os.environ.get("SERVER_KILLS"))
TEAMS = 20
BEAT_S = 10.0 if IN_REAL_TIME else 0.0  # due change sets are looked for as often
MADE_BY_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation")
PLACES = {  # of the writes and reads of the whole course; the server dies there
    "before the read of": 4,
    "before the write of": 8,
    "during the write of": 12,
    "after the write of": 16,
    "after the removal of": 1,
}


class Killer:
    """Kills the server at each place once.

    Attributes:
        counts: how often each place was passed.
        killed: where it did.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.counts = dict.fromkeys(PLACES, 0)
        self.killed: list[str] = []

    def reach(self, place: str, after_s: float = 0.0) -> None:
        self.counts[place] += 1
        if self.counts[place] != PLACES[place]:
            return
        self.killed.append(place)
        if after_s:
            threading.Timer(after_s, self.plane.kill, ["kube-apiserver"]).start()
        else:
            self.plane.kill("kube-apiserver")

    def connect(self, cluster: Cluster, role: AccessRole) -> ClusterClient:
        """Our door, with somebody at the switch."""
        killer = self

        class Door(ClusterClient):
            def get(self, *given: Any, **more: Any) -> LiveObject:
                killer.reach("before the read of")
                return super().get(*given, **more)

            def apply(self, *given: Any, **more: Any) -> LiveObject:
                killer.reach("before the write of")
                killer.reach("during the write of", 0.001)
                done = super().apply(*given, **more)
                killer.reach("after the write of")
                return done

            def delete(self, *given: Any, **more: Any) -> None:
                super().delete(*given, **more)
                killer.reach("after the removal of")

        return Door(connect_to(cluster, role).access)


def office_of_many(plane: ControlPlane, folder: Path) -> Office:
    """Twenty more teams; each has a namespace with a quota of somebody else."""
    office = office_of(world_of(plane, folder, "many"))
    for number in range(TEAMS):
        name = f"many-{number:02d}"
        office.world.admin.make_namespace(name)
        office.world.admin.make_quota(name, "theirs", {"pods": "9"})
        team = Team.objects.create(slug=name, name=name)
        Binding.objects.create(
            kind=BindingKind.NAMESPACE,
            glob=name,
            team=team,
            position=2 + number,
            valid_from=EPOCH,
        )
    return office


def edits(value: int, gpus: int) -> Iterator[dict[str, Any]]:
    """A class that is replaced or created, and a quota of each team."""
    for name, more in (("many-high", 0), ("many-low", -1)):
        yield tier(name, value + more, in_place=True)
    for number in range(TEAMS):
        yield quota(gpus + number, f"many-{number:02d}")


def objects(office: Office) -> str:
    """All quotas and classes, without what a server makes anew."""
    admin = office.world.admin
    paths = ("/api/v1/resourcequotas", class_path())
    found = [one for path in paths for one in admin.get(path)["items"]]
    for one in found:
        meta = one["metadata"]
        for name in MADE_BY_SERVER:
            meta.pop(name, None)
        for managed in meta.get("managedFields", ()):
            managed.pop("time", None)
    return json.dumps(found, sort_keys=True, indent=1)


def applied(
    office: Office, change_set: ChangeSet, killer: Killer
) -> list[tuple[str, float, float]]:
    """Of each kill: its place, seconds until the server answers, and from then to an object."""
    ChangeSet.objects.filter(pk=change_set.pk).update(apply_wanted_at=office.now())
    times: list[tuple[str, datetime, datetime]] = []
    while len(times) < len(killer.killed) or not times or is_open(change_set):
        due_work.work(office.cluster.pk, now=office.now, connect=killer.connect)
        if len(times) < len(killer.killed):
            wait_until(lambda: "kube-apiserver" not in killer.plane.running, 10)
            killed_at = office.now()
            killer.plane.start_api_server()
            times.append((killer.killed[-1], killed_at, office.now()))
        time.sleep(BEAT_S)
        office.ahead += timedelta() if IN_REAL_TIME else PAUSE
    steps = change_set.steps.all()
    found = []
    for place, killed_at, up in times:
        done = min(one.done_at for one in steps if one.done_at and one.done_at > up)
        found.append(
            (place, (up - killed_at).total_seconds(), (done - up).total_seconds())
        )
    return found


def is_open(change_set: ChangeSet) -> bool:
    change_set.refresh_from_db()
    return change_set.state in ("approved", "applying")


def test_killed_five_times_every_object_is_exact(tmp_path: Path) -> None:
    (tmp_path / "plane").mkdir()
    with control_plane(tmp_path / "plane", is_whole=False) as plane:
        office = office_of_many(plane, tmp_path)
        office.applied(*edits(10, 4))
        before = objects(office)
        office.applied(*edits(20, 40))
        wanted = objects(office)
        assert wanted != before
        office.applied(*edits(10, 4))
        assert objects(office) == before
        change_set = office.agreed(*edits(20, 40))
        killer = Killer(plane)
        for place, up_s, next_s in applied(office, change_set, killer):
            told = f"killed {place} an object: up after {up_s:.1f} s"
            sys.stdout.write(f"{told}, goes on {next_s:.1f} s later\n")
        assert sorted(killer.killed) == sorted(PLACES)
        assert change_set.state == "applied", change_set.error
        assert objects(office) == wanted
        states = list(change_set.steps.values_list("state", flat=True))
        assert states == ["applied"] * (TEAMS + 2)
