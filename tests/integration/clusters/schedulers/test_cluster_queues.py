"""ClusterQueues of Kueue on a real API server: plan, apply, drift, undo.

Kueue's controller and webhook do not run: what only they check is refused by the planner. Evicting
and admitting work is theirs, and is not shown here.
"""

import copy

import pytest

from scheduler_view.quotas.models import QueueTarget
from tests.integration.changes.office import said, steps
from tests.integration.clusters.schedulers.queues import (
    NOMINAL,
    QueueOffice,
    groups,
    managers,
    nominal,
)

pytestmark = pytest.mark.control_plane
KIND = "ClusterQueue"


def without_numbers(live: dict[str, object]) -> dict[str, object]:
    """Everything that GPU Ledger may never change."""
    found = copy.deepcopy(live)
    for group in found["spec"]["resourceGroups"]:  # type: ignore[index]
        for flavor in group["flavors"]:
            for one in flavor["resources"]:
                for name in ("nominalQuota", "borrowingLimit", "lendingLimit"):
                    one.pop(name, None)
    meta: dict[str, object] = found["metadata"]  # type: ignore[assignment]
    for name in ("managedFields", "resourceVersion", "generation"):
        meta.pop(name)
    return found


def test_a_number_goes_from_an_edit_to_the_cluster_and_back(
    queues: QueueOffice,
) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    before = queues.live(KIND, name)
    change_set = office.planned(nominal(name, 12))
    assert change_set.state == "planned", change_set.error
    assert steps(change_set) == [(f"ClusterQueue {name}", "change", "waiting")]
    (step,) = change_set.steps.all()
    assert step.changes == [[NOMINAL, "4", "12"]]
    assert "changes from 4 to 12" in said(change_set)
    assert queues.live(KIND, name) == before  # a dry run writes nothing

    office.apply(office.approve(change_set))
    assert change_set.state == "applied", change_set.error
    live = queues.live(KIND, name)
    assert live["spec"]["resourceGroups"] == groups("12")
    assert without_numbers(live) == without_numbers(before)
    assert managers(live, "f:resourceGroups") == {"gpu-ledger"}
    drift = queues.drift(KIND, name)
    assert drift is not None  # applied changes are observed at once
    assert drift.state == "in_sync"

    queues.admin.edit(
        queues.path(KIND, name), {"spec": {"resourceGroups": groups("9")}}
    )
    queues.look()
    drift = queues.drift(KIND, name)
    assert drift is not None
    assert (drift.state, drift.who) == ("differs", "kubectl-edit")
    assert drift.changes == [[NOMINAL, "12", "9"]]

    queues.undone(change_set, f"ClusterQueue {name}")  # a person selected it
    assert queues.live(KIND, name)["spec"]["resourceGroups"] == groups(4)
    assert not QueueTarget.objects.exists()
    queues.look()
    assert queues.drift(KIND, name) is None
    change_set.refresh_from_db()
    assert change_set.state == "undone"
