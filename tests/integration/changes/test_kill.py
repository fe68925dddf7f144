"""A worker killed between any two steps: the next goes on, once, with what was planned.

The worker is `manage.py change_set apply` in a process of its own that dies at a failpoint.
"""

import signal
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pghistory.models
import pytest

from accounting.access.models.billing import Billing
from accounting.access.models.teams import Binding, Team
from accounting.kit.failpoints import PLAN_NAMES, PUSH_NAMES
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.actions import apply_lease
from scheduler_view.changes.models import ChangeSet
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.quotas.models import QuotaTarget, Tier
from tests.control_plane.admin import class_path
from tests.control_plane.world import GPU_KEY, World
from tests.integration.changes.conftest import office_of
from tests.integration.changes.office import Office, quota, tier
from tests.integration.faults.support import environment, process

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.control_plane,
    pytest.mark.redis,
    pytest.mark.timeout(300),
]
TIMES = {"class_removed": (1,)}  # one class is replaced; the others are passed thrice


@pytest.fixture
def place(real: World, transactional_db: None) -> Iterator[Office]:
    """Two teams, and a tier whose class will be replaced."""
    del transactional_db
    Billing.objects.all().delete()
    office = office_of(real)
    office.applied(tier(f"{real.name}-t", 10))
    yield office
    real.admin.delete(class_path(f"{real.name}-t-v1"))
    for table in (Binding, Team, Billing, Cluster):
        assert table._default_manager.exists()


def change_file(office: Office, path: Path) -> Path:
    name = office.world.name
    path.write_text(f"""
cluster: {name}
reason: One of each kind, and a worker that dies.
quotas:
  - {{team: vision, resource: nvidia.com/gpu, gpus: 4}}
  - {{team: speech, resource: nvidia.com/gpu, gpus: 6}}
tiers:
  - {{name: {name}-t, value: 20, in_place: true}}
""")
    return path


@pytest.mark.parametrize(
    ("failpoint", "count"),
    [(name, count) for name in PUSH_NAMES for count in TIMES.get(name, (1, 2, 3))],
)
def test_killed_anywhere_the_next_worker_ends_it(
    place: Office, tmp_path: Path, redis_url: str, failpoint: str, count: int
) -> None:
    path = change_file(place, tmp_path / "change.yaml")
    seen = environment(redis_url, f"{failpoint}:kill:{count}")
    done = process(seen, "change_set", "apply", path)
    assert done.returncode == -signal.SIGKILL, done.stderr
    change_set = ChangeSet.objects.latest("pk")
    assert change_set.state == "applying"
    assert place.work() == 0  # the dead one's lease still runs
    place.ahead = timedelta(seconds=16)
    place.work()
    change_set.refresh_from_db()
    assert change_set.state == "applied", change_set.error
    name = place.world.name
    assert place.hard() == {GPU_KEY: "4"}
    assert place.hard(f"{name}-b") == {GPU_KEY: "6"}
    assert place.priority_class(f"{name}-t-v1")["value"] == 20
    wanted = QuotaTarget.objects.values_list("team__slug", "gpus").order_by("gpus")
    assert list(wanted) == [("vision", 4), ("speech", 6)]
    assert Tier.objects.get().value == 20
    states = set(change_set.steps.values_list("state", flat=True))
    assert states == {"applied"}


def test_a_worker_that_lives_keeps_its_lease_in_a_long_call(
    place: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply_lease, "LEASE", timedelta(seconds=1))
    monkeypatch.setattr(apply_lease, "BEAT_S", 0.2)
    seen, apply = [], ClusterClient.apply

    def slow(*given: Any, **more: Any) -> Any:
        if not more.get("dry_run"):
            time.sleep(2)
            seen.append(ChangeSet.objects.filter(apply_lease.due(place.now())).count())
        return apply(*given, **more)

    monkeypatch.setattr(ClusterClient, "apply", slow)
    change_set = place.applied(quota(4))
    assert seen == [0], "another worker would take it over"
    change_set.refresh_from_db()
    assert change_set.lease_until is None
    lease = pghistory.models.Events.objects.tracks(change_set)
    labels = [one.pgh_diff or {} for one in lease if one.pgh_label == "update"]
    assert not any(set(diff) == {"lease_until"} for diff in labels)


def test_killed_while_planning_the_next_worker_plans(
    place: Office, tmp_path: Path, redis_url: str
) -> None:
    path = change_file(place, tmp_path / "change.yaml")
    seen = environment(redis_url, f"{PLAN_NAMES[0]}:kill:1")
    done = process(seen, "change_set", "apply", path)
    assert done.returncode == -signal.SIGKILL, done.stderr
    change_set = ChangeSet.objects.latest("pk")
    assert (change_set.state, change_set.steps.count()) == ("draft", 0)
    assert place.work() == 1
    change_set.refresh_from_db()
    assert change_set.state == "planned"
    assert change_set.steps.count() == 3


def test_the_command_says_how_it_ended(
    place: Office, tmp_path: Path, redis_url: str
) -> None:
    path = change_file(place, tmp_path / "change.yaml")
    seen = environment(redis_url)
    planned = process(seen, "change_set", "plan", path)
    assert planned.returncode == 1, planned.stderr
    assert "2 objects created, 1 object replaced" in planned.stdout
    assert "a quota of 4 GPUs" in planned.stdout
    applied = process(seen, "change_set", "apply", path)
    assert applied.returncode == 0, applied.stderr
    assert process(seen, "change_set", "plan", path).returncode == 0
    again = process(seen, "change_set", "apply", path)
    assert (again.returncode, again.stdout) == (0, "no changes\n")
    undone = process(seen, "change_set", "undo", path)
    assert undone.returncode == 0, undone.stderr
    assert not place.has_quota()
    assert process(seen, "change_set", "undo", path).returncode == 1
    path.write_text(path.read_text().replace("gpus: 4", "gpus: 0.5"))
    wrong = process(seen, "change_set", "plan", path)
    assert wrong.returncode == 2
    assert "line 5: gpus: 0.5 is a fraction" in wrong.stderr
