"""A cluster of many pods: every unit that waits is explained.

10,000 of them, and 50,000 with `make soak FULL_SIZE=1`.

Not here: whether each answer is right (`test_many_nodes.py`, with a loop over nodes), and speed
(`make bench`, P19).
"""

from bench.waiting_cluster import NOW_MS, decoded, waiting_cluster
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.world.world import read_world
from tests.budgets import size


def test_every_unit_of_a_cluster_of_many_pods_is_explained() -> None:
    objects = waiting_cluster(size(600, full=3_000), size(6_700, full=33_500))
    assert len(objects["Pod"]) > size(10_000, full=50_000)
    explainer = Explainer(read_world(decoded(objects), NOW_MS))
    explained = {one.subject: one for one in explainer.waiting()}
    waiting = {unit.subject for unit in explainer.index.units if unit.waiting}
    assert set(explained) == waiting
    assert {one.cause for one in explained.values()} >= {"fragmented", "too_big"}
    assert all(one.starts_if for one in explained.values() if one.cause != "other")
