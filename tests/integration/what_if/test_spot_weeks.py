"""Which recorded work may run on spot nodes, and what a share of it there comes to (S31, S36).

Not here: the choice of units and the amounts
(`tests/unit/what_if/test_spot_share.py`).
"""

import json
from pathlib import Path
from typing import Any

import pytest

from accounting.metering.models.cluster import NodeFact
from accounting.metering.models.pod import Workload
from scheduler_view.waits.models import WaitRecord
from scheduler_view.what_if.reads.recorded_weeks import recorded_weeks
from tests.integration.commands.conftest import run
from tests.integration.what_if.test_recorded_weeks import END, Recorded

pytestmark = pytest.mark.django_db


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


def work(
    recorded: Recorded, kind: str, name: str, retries: int | None = None
) -> Workload:
    """A workload; of a Job, how often it was seen to retry."""
    if retries is not None:
        WaitRecord.objects.create(
            cluster=recorded.cluster,
            kind=kind,
            namespace="search-prod",
            name=name,
            created_at=END,
            pod_units=1,
            backoff_limit=retries,
        )
    return Workload.objects.create(
        cluster=recorded.cluster, namespace=recorded.namespace, kind=kind, name=name
    )


def eligible(recorded: Recorded) -> dict[str, bool]:
    """By the name of the first pod of a unit."""
    found = recorded_weeks(recorded.cluster, 2)
    assert found is not None
    return {
        one.name.removeprefix("search-prod/"): one.may_run_on_spot
        for one in found.weeks.units
    }


def test_work_that_retries_and_is_small_and_short_may_run_on_spot(
    recorded: Recorded,
) -> None:
    again = work(recorded, "Job", "again", retries=6)
    recorded.hold(0, 0, 5, 1, workload=again)  # p1
    recorded.hold(0, 0, 5, 1, workload=work(recorded, "Job", "once", retries=0))
    recorded.hold(0, 0, 5, 1, workload=work(recorded, "Job", "unknown"))
    recorded.hold(0, 0, 24, 1, workload=work(recorded, "RayJob", "long"))  # p4
    recorded.hold(0, 0, 23, 1, workload=work(recorded, "RayJob", "short"))  # p5
    recorded.hold(0, 0, 5, 1)  # p6, a pod of nothing
    wide = work(recorded, "RayJob", "wide")
    for _ in range(5):
        recorded.hold(
            0, 0, 1, 1, workload=wide
        )  # p7 to p11, a gang with the name of the first in text order
    assert eligible(recorded) == {
        **dict.fromkeys(("p1", "p5"), True),
        **dict.fromkeys(("p2", "p3", "p4", "p6", "p10"), False),
    }


def test_work_that_is_on_spot_already_is_not_moved(recorded: Recorded) -> None:
    node = recorded.add_node("s1", {"nvidia_com_gpu": 8})
    NodeFact.objects.filter(node=node).update(lifecycle="spot")
    job = work(recorded, "RayJob", "training")
    recorded.hold(0, 0, 5, 1, workload=job)
    recorded.hold(10, 10, 5, 1, workload=job, node=node)
    assert eligible(recorded) == {"p1": True, "p2": False}


def test_the_command_answers_for_a_share_on_spot(
    recorded: Recorded, tmp_path: Path
) -> None:
    job = work(recorded, "RayJob", "training")
    for week in range(2):
        recorded.hold(168 * week, 168 * week, 10)
        recorded.hold(168 * week + 1, 168 * week + 10, 10, workload=job)
    file = tmp_path / "what-if.yaml"
    file.write_text(
        "cluster: north\nweeks: 2\nrate: 2.50\nscenarios:\n"
        "- name: spot\n"
        "  spot: {share: 1, preempted_per_day: 2.4, checkpoint_minutes: 60, rate: 1.00}\n"
    )
    ended = run("simulate", str(file), "--format=json")
    assert ended.code == 0, ended.err
    rows: dict[str, Any] = {
        row["measure"]: row for row in json.loads(ended.out)["rows"]
    }
    assert rows["mean wait in minutes"]["change_high"] == "-270.0"
    hours = rows["GPU-hours on spot in a week"]
    assert (hours["low"], hours["high"]) == ("80.0", "84.1")
    cost = rows["cost a week if what moved is not paid on demand"]
    assert (cost["change_low"], cost["change_high"]) == ("-120.00", "-115.86")


@pytest.mark.parametrize(
    ("spot", "message"),
    [
        ("{share: 1.5, preempted_per_day: 0}", "share"),
        ("{share: 0, preempted_per_day: 0}", "share"),
        ("{share: 1}", "preempted_per_day: missing"),
        ("{share: 1, preempted_per_day: 0}", "no work of these weeks may run on spot"),
    ],
)
def test_wrong_shares_are_refused_with_the_reason(
    recorded: Recorded, tmp_path: Path, spot: str, message: str
) -> None:
    recorded.hold(0, 0, 5)
    file = tmp_path / "what-if.yaml"
    file.write_text(
        f"cluster: north\nweeks: 2\nscenarios: [{{name: s, spot: {spot}}}]\n"
    )
    ended = run("simulate", str(file))
    assert (ended.code, message in ended.err) == (2, True), ended.err
