"""Quotas of resources that an administrator named in `configure` (`resources`)."""

from decimal import Decimal
from fractions import Fraction

import pytest

from accounting.access.scope import EVERYTHING
from accounting.metering.actions.resources import set_resources
from accounting.metering.models.cluster import Gpu, GpuPresence, Node, NodeFact
from accounting.prices.models.price import UnitPrice
from scheduler_view.changes.rules.edit import EditsRefused
from scheduler_view.changes.rules.given_edit import edits_from
from scheduler_view.clusters.models import Drift, Observation
from scheduler_view.queues.tasks.look import observe_once
from scheduler_view.quotas.reads.quotas import resource_rows
from tests.integration.changes.office import EPOCH, REASON, Office, quota, said

HALF = "example.com/half"


@pytest.fixture
def named(both: Office) -> Office:
    """Two units of `example.com/half` stand for one GPU."""
    set_resources({HALF: Fraction(1, 2)}, actor="ana", reason=REASON)
    return both


def node_of(office: Office) -> None:
    """The ledger has seen a node with four halves of a priced GPU."""
    node = Node.objects.create(cluster=office.cluster, name="n1")
    gpu = Gpu.objects.create(cluster=office.cluster, uuid="GPU-1", model="A")
    GpuPresence.objects.create(gpu=gpu, node=node, start_ms=0)
    NodeFact.objects.create(node=node, valid_from=EPOCH, capacity={HALF: 4}, model="A")
    UnitPrice.objects.create(
        model="A",
        rate_per_gpu_hour=Decimal(4),
        currency="EUR",
        valid_from=EPOCH,
    )


def test_a_name_that_nobody_added_is_refused_and_says_where_to_add_it() -> None:
    with pytest.raises(EditsRefused, match="add it under `resources`"):
        edits_from([quota(4, resource=HALF)])


def test_an_added_name_is_planned_priced_and_applied(named: Office) -> None:
    node_of(named)
    change_set = named.applied(quota(4, resource=f"limits.{HALF}"))
    assert named.hard() == {f"requests.{HALF}": "4"}
    message = said(change_set)
    assert "In use now: 0, so at most 4 are free." in message
    assert "becomes €5,760.00 (4 at €2.00 an hour)" in message
    [row] = [
        row for row in resource_rows(EVERYTHING, named.now()) if row.resource == HALF
    ]
    assert (row.committed, row.capacity) == (4, 4)


def test_pods_and_foreign_quotas_of_an_added_name_are_seen(named: Office) -> None:
    admin, name = named.world.admin, named.world.name
    admin.make_pod(name, "train", 2, resource=HALF)
    admin.make_quota(name, "theirs", {f"requests.{HALF}": "8"})
    observe_once(named.cluster, now=named.now)
    assert Observation.objects.filter(kind="Pod", name="train").exists()
    drift = Drift.objects.get(namespace=name, name="theirs")  # others have one too
    assert drift.state == "not_managed"
    change_set = named.planned(quota(9, resource=HALF))
    assert "theirs" in said(change_set, "warnings")
    assert "allows only 8" in said(change_set, "warnings")
