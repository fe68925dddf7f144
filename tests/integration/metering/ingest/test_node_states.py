"""States of nodes are written when they change, whatever order periods are read in (S14).

Not here: which state a period shows (`tests/unit/metering/inventory`), and what follows
from it (`tests/integration/queues/test_queues_from_metrics.py`).
"""

from itertools import permutations

import pytest
from django.db import connection

from accounting.core.interval import Interval
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.node_state import NodeState, NodeStateRead
from accounting.metering.rules.samples.series import Reading
from accounting.metering.tasks.node_states import store
from tests.unit.metering.kube_series import series

pytestmark = pytest.mark.django_db

MINUTES = 5  # of a period
Shown = dict[str, int]  # GPUs by node


@pytest.fixture
def north() -> Cluster:
    return Cluster.objects.create(name="north")


def read(cluster: Cluster, number: int, shown: Shown) -> None:
    """The period of a number, with one scrape in its middle."""
    start = 60 * MINUTES * number
    what = {"resource": "nvidia_com_gpu", "unit": "integer"}
    found = tuple(
        series("kube_node_status_capacity", {start + 150: gpus}, what | {"node": name})
        for name, gpus in shown.items()
    )
    period = Interval(1000 * start, 1000 * (start + 60 * MINUTES))
    store(cluster, [Reading(found)], period)


def scrape_ms(number: int) -> int:
    return 1000 * (60 * MINUTES * number + 150)


def stored() -> dict[str, tuple[int, int | None]]:
    """GPUs, and the last scrape if it is not the newest, by node."""
    return {
        row.name: (row.capacity["nvidia.com/gpu"], row.missing_ms)
        for row in NodeState.objects.all()
    }


def versions() -> dict[str, str]:
    """What PostgreSQL changes with each write of a row."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, ctid::text FROM accounting_nodestate")
        return dict(cursor.fetchall())


def test_a_state_that_is_shown_again_is_not_written_again(north: Cluster) -> None:
    read(north, 1, {"a": 8, "b": 8})
    before = versions()
    read(north, 2, {"a": 8, "b": 8})
    assert versions() == before
    assert NodeStateRead.objects.get().at_ms == scrape_ms(2)
    read(north, 3, {"a": 8, "b": 7})
    after = versions()
    assert after["a"] == before["a"]
    assert after["b"] != before["b"]
    times = dict(NodeState.objects.values_list("name", "at_ms"))
    assert times == {"a": scrape_ms(1), "b": scrape_ms(3)}


def test_a_node_that_is_missing_has_the_time_of_its_last_scrape(north: Cluster) -> None:
    read(north, 1, {"a": 8, "b": 8})
    read(north, 2, {"a": 8})
    assert stored() == {"a": (8, None), "b": (8, scrape_ms(1))}
    read(north, 3, {"a": 8})
    assert stored() == {"a": (8, None), "b": (8, scrape_ms(1))}
    read(north, 4, {"b": 8})
    assert stored() == {"a": (8, scrape_ms(3)), "b": (8, None)}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_of_reading_makes_no_difference(
    north: Cluster, order: tuple[int, ...]
) -> None:
    """Node b is there at first, c then, a always, and changes."""
    shown: list[Shown] = [{"a": 8, "b": 4}, {"a": 8, "c": 2}, {"a": 7}]
    for number in order:
        read(north, 1 + number, shown[number])
    assert stored() == {
        "a": (7, None),
        "b": (4, scrape_ms(1)),
        "c": (2, scrape_ms(2)),
    }
    assert NodeStateRead.objects.get().at_ms == scrape_ms(3)


def test_a_period_without_states_changes_nothing(north: Cluster) -> None:
    read(north, 1, {"a": 8})
    read(north, 2, {})
    assert stored() == {"a": (8, None)}
    assert NodeStateRead.objects.get().at_ms == scrape_ms(1)
