"""Findings that need what observations keep: S24, S25, S26, S32, from the database to the page.

The rules are in `tests/unit/savings`; what observations keep is in
`tests/integration/queues/test_memory.py`.
"""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounting.access.scope import EVERYTHING
from accounting.core.billing_calendar import DayRange
from accounting.core.interval import to_ms
from accounting.prices.models.price import UnitPrice
from accounting.prices.rules.charge import charge_of
from scheduler_view.clusters.models import ObservationRun
from scheduler_view.queues.models.memory import KeptNode
from scheduler_view.queues.tasks.observe_queues import store_waits
from scheduler_view.savings.models import WasteFinding
from scheduler_view.savings.reads.rows import waste_report
from scheduler_view.savings.tasks.compute import compute_due
from scheduler_view.waits.rules.world.world import read_world
from tests.integration.savings.fleet import (
    HOUR,
    MODEL,
    START,
    Fleet,
    make_fleet,
    sample,
)
from tests.integration.savings.test_compute import DAY
from tests.unit.queues.test_kept_nodes import budget, web
from tests.unit.waits.worlds import node, pod

pytestmark = pytest.mark.django_db
POOL = f"nvidia.com/gpu {MODEL}"


@pytest.fixture
def fleet() -> Fleet:
    """A node with two GPUs that are free for the first hour."""
    fleet = make_fleet(START + 24 * HOUR)
    fleet.free(12)
    fleet.free(12)
    return fleet


def stored() -> list[tuple[str, str, int, Decimal]]:
    """Rule, pool or node, GPU-ms, money."""
    rows = WasteFinding.objects.select_related("node").order_by("rule", "pk")
    return [
        (
            row.rule,
            row.pool or (row.node.name if row.node else ""),
            row.gpu_ms,
            charge_of(row.raw),
        )
        for row in rows
    ]


def test_free_gpus_are_first_of_the_policy_then_of_who_keeps_the_node(
    fleet: Fleet,
) -> None:
    # One unit is held back from 0:00 to 0:30: 1,800,000 ms = 0.5 x 2.50. Nothing that waits can
    # use the other: the same. The node is kept from 0:00 to 1:00: 2 x 3,600,000 - 1,800,000
    # = 5,400,000 ms = 1.5 GPU-hours at a cost of 1.10.
    UnitPrice.objects.create(
        model=MODEL,
        kind="cost",
        rate_per_gpu_hour=Decimal("1.10"),
        currency="USD",
        valid_from=START - 24 * HOUR,
    )
    half = START + HOUR / 2
    sample(fleet, START, half, policy={"n1": 1}, unused={"n1": 1})
    sample(fleet, half, START + HOUR, policy={"elsewhere": 4})
    KeptNode.objects.create(
        cluster=fleet.cluster,
        node="n1",
        since=START,
        until=START + HOUR,
        pods=[["lab/bare", "no_controller"]],
    )
    fleet.roll_up()
    assert compute_due(fleet.cluster) == 1
    assert stored() == [
        ("node_kept", "n1", 5_400_000, Decimal("1.650000")),
        ("not_allocatable", POOL, 1_800_000, Decimal("1.250000")),
        ("thrashing", POOL, 1_800_000, Decimal("1.250000")),
    ]
    assert WasteFinding.objects.get(rule="node_kept").evidence == {
        "kept_by": "lab/bare (no controller)"
    }
    assert compute_due(fleet.cluster) == 0, "nothing changed"
    report = waste_report(EVERYTHING, DayRange(DAY, DAY + timedelta(days=1)), 2)
    assert [(row.rule, row.subject, row.is_in_totals) for row in report.rows] == [
        ("node_kept", "n1", True),
        ("not_allocatable", POOL, False),
        ("thrashing", POOL, True),
    ]
    assert report.gpu_ms == 7_200_000, "all free time once"
    assert {row.team for row in report.rows} == {""}


def test_a_budget_that_allows_no_eviction_keeps_a_node_and_costs_its_gpus(
    fleet: Fleet,
) -> None:
    # Observed every five minutes from 0:00 to 0:40: 2 x 2,400,000 = 4,800,000 ms
    # = 1.333333 GPU-hours at a cost of 1.10.
    UnitPrice.objects.create(
        model=MODEL,
        kind="cost",
        rate_per_gpu_hour=Decimal("1.10"),
        currency="USD",
        valid_from=START - 24 * HOUR,
    )
    for minutes in range(0, 41, 5):
        at = START + timedelta(minutes=minutes)
        ObservationRun.objects.all().delete()  # once a minute else
        objects = {
            "Node": [node("n1", 2)],
            "Pod": [web(on="n1")],
            "PodDisruptionBudget": [budget()],
        }
        store_waits(fleet.cluster, read_world(objects, to_ms(at)), at)
    fleet.roll_up()
    assert compute_due(fleet.cluster) == 1
    assert stored() == [("node_kept", "n1", 4_800_000, Decimal("1.466667"))]
    assert WasteFinding.objects.get().evidence == {
        "kept_by": "lab/web-1 (disruption budget allows no eviction)"
    }


def test_free_gpus_without_cpu_are_fragmented_while_it_is_observed(
    fleet: Fleet,
) -> None:
    # Pods of one GPU and 4 CPUs, one of which holds a GPU. Of 8 CPUs a pod without GPUs requests
    # 2 from 0:00 to 0:30: 2 are free, and nobody can use the two free GPUs: 2 x 1,800,000 ms
    # = 1 GPU-hour x 2.50. From 0:30 to 1:00 4 are free.
    fleet.hold("uid-own", "b" * 12)
    own, web = pod("own", 1, "n1"), pod("web", None, "n1")
    for one, cpu in ((own, "4"), (web, "2")):
        one["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    for minutes in range(0, 61, 5):
        at = START + timedelta(minutes=minutes)
        ObservationRun.objects.all().delete()  # once a minute else
        pods = [own, web] if minutes < 30 else [own]
        objects = {"Node": [node("n1", 3, offers={"cpu": "8"})], "Pod": pods}
        store_waits(fleet.cluster, read_world(objects, to_ms(at)), at)
    fleet.roll_up()
    assert compute_due(fleet.cluster) == 1
    found = WasteFinding.objects.get()
    assert stored() == [("fragmented", "n1", 3_600_000, Decimal("2.500000"))]
    assert found.evidence == {
        "free_ms": 7_200_000,
        "classes": 1,
        "cpu_known_ms": 7_200_000,
        "pods": 1,
        "cpu_known_pods": 1,
    }
    assert compute_due(fleet.cluster) == 0, "nothing changed"


def test_a_day_is_due_again_when_more_was_observed_of_it(fleet: Fleet) -> None:
    fleet.roll_up()
    assert compute_due(fleet.cluster) == 1
    assert stored() == []
    sample(fleet, START, START + HOUR, unused={"n1": 2})
    assert compute_due(fleet.cluster) == 1
    assert stored() == [("not_allocatable", POOL, 7_200_000, Decimal("5.000000"))]


def test_a_slice_takes_its_share_of_a_gpu(fleet: Fleet) -> None:
    one = sample(fleet, START, START + HOUR, policy={"n1": 2})
    one.resource = "nvidia.com/mig-3g.40gb"
    one.save()
    fleet.roll_up()
    compute_due(fleet.cluster)
    [(rule, pool, gpu_ms, _)] = stored()
    assert (rule, pool) == ("thrashing", f"nvidia.com/mig-3g.40gb {MODEL}")
    assert gpu_ms == 12 * 2 * int(300_000 * 3 / 7)
