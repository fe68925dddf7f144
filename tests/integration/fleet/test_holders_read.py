"""How holders of GPUs are read: few pods of a table that grows with every day.

Who holds what: `test_gpus.py`.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.access.scope import EVERYTHING
from accounting.fleet.reads.holders import gpus_held_by, held_in, holders_now
from accounting.kit.reads.selection import Selection, stored_period
from accounting.metering.models.cluster import Gpu
from tests.integration.conftest import NOW
from tests.plans import explained, is_summed_before, within

pytestmark = pytest.mark.usefixtures("story", "db")


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


def test_pods_of_the_newest_window_are_looked_up() -> None:
    with CaptureQueriesContext(connection) as asked:
        held = holders_now(EVERYTHING)
    holding = {(one.namespace, one.pod) for holders in held.values() for one in holders}
    [pods] = [
        node
        for node in within(explained(asked, "usage_window"))
        if node.get("Relation Name") == "accounting_pod"
    ]
    assert pods["Actual Loops"] >= len(holding) > 1  # not once, of all pods


@pytest.mark.parametrize("is_search", [False, True])
def test_facts_are_summed_before_their_pods_are_read(is_search: bool) -> None:
    selection = replace(Selection(EVERYTHING), period=stored_period())
    uuids = list(Gpu.objects.values_list("uuid", flat=True))
    with CaptureQueriesContext(connection) as asked:
        if is_search:
            assert gpus_held_by(selection, "vision")
        else:
            assert held_in(selection, uuids)
    plan = explained(asked, "usage_window")
    assert is_summed_before(plan, "usage_window", joined="accounting_pod")
