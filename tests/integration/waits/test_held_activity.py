"""How busy holders are is read only where work waits for what they hold (scheduling.md S12)."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.core.interval import to_ms
from scheduler_view.waits.reads.held_activity import HeldActivity
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.world.world import World, read_world
from tests.integration.savings.fleet import HOUR, START, make_fleet
from tests.unit.waits.worlds import node, pod

pytestmark = pytest.mark.django_db
NOW = START + HOUR


def reads(world: World) -> int:
    """How often facts are read to explain what waits."""
    with CaptureQueriesContext(connection) as captured:
        list(Explainer(world).waiting())
    return sum("usage_window" in one["sql"] for one in captured.captured_queries)


def test_facts_of_holders_are_read_once_and_only_if_work_waits_for_them() -> None:
    fleet = make_fleet(START + 24 * HOUR)
    fleet.hold("uid-holds", "bb" + "i" * 10)
    holds = HeldActivity(fleet.cluster.pk, NOW)
    held = pod("holds", 1, "n1")
    nodes = [node("n1", 1)]
    quiet = read_world({"Node": nodes, "Pod": [held]}, to_ms(NOW))
    assert reads(replace(quiet, holds=holds)) == 0
    pods = [held, pod("waits", 1), pod("other", 1)]
    waits = read_world({"Node": nodes, "Pod": pods}, to_ms(NOW))
    assert reads(replace(waits, holds=holds)) == 1
    idle_ms = to_ms(START + timedelta(minutes=10))
    assert holds["uid-holds"].idle_since_ms == idle_ms
    assert list(holds) == ["uid-holds"]
