"""The demo's story of scheduling, through the product: every built rule of waste has findings, what
waits is explained from its metrics alone, and queues have a past.

Parts of a small fleet are imported as the demo imports them. Causes from its objects are in
`tests/unit/portal/demo/kube_api/test_mirror.py`.
"""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import LazySettings

from accounting.access.scope import EVERYTHING
from accounting.kit.audit import SYSTEM
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.node_state import NodeState
from accounting.usage.tasks.import_files import import_files
from portal.demo.bootstrap.past_queues import STEP_S, observe_past
from portal.demo.bootstrap.setup import CLUSTER, ApiAddress, set_up
from portal.demo.metrics.history import FileInterval, write
from portal.demo.scenario.engine import Engine
from portal.demo.scenario.fleet import resource_of
from portal.demo.scenario.story import HOUR_S, Story
from scheduler_view.queues.reads.pools import pool_hours, pool_rows
from scheduler_view.queues.tasks.queues_from_metrics import look_at_metrics
from scheduler_view.savings.models import WasteFinding
from scheduler_view.savings.tasks.compute import compute_due
from scheduler_view.waits.models import UnitWait, WaitRecord
from tests.unit.portal.demo.conftest import NOW_S

pytestmark = pytest.mark.django_db(transaction=True)
RULES = {
    *("gang_incomplete", "never_busy", "tail", "idle", "too_long"),
    *("fragmented", "idle_gpus"),
}


def test_each_rule_of_waste_has_findings(
    tmp_path: Path, settings: LazySettings
) -> None:
    settings.FACT_DAYS = 90
    story = Story.ending_at(NOW_S, seed=7, days=7, gpus=150)
    set_up(story, 9, "secret")
    engine = Engine(story)
    engine.advance(NOW_S)
    path = tmp_path / "history.om"
    write(engine, FileInterval(NOW_S - 30 * HOUR_S, NOW_S), path)
    import_files(CLUSTER, [path], actor=SYSTEM)
    compute_due(Cluster.objects.get(name=CLUSTER))
    found = set(WasteFinding.objects.values_list("rule", flat=True))
    assert found >= RULES, sorted(found)


def test_what_waits_is_explained_from_metrics_alone(tmp_path: Path) -> None:
    story = Story.ending_at(NOW_S, seed=7, days=7, gpus=150)
    set_up(story, 9, "secret")
    engine = Engine(story)
    engine.advance(NOW_S)
    path = tmp_path / "history.om"
    write(engine, FileInterval(NOW_S - HOUR_S, NOW_S), path)
    import_files(CLUSTER, [path], actor=SYSTEM)
    cluster = Cluster.objects.get(name=CLUSTER)
    look_at_metrics(cluster, datetime.fromtimestamp(NOW_S, UTC))
    waits = dict(UnitWait.objects.values_list("name", "cause"))
    waiting = [
        pod for pod in engine.pods_between(NOW_S, NOW_S + 1) if not pod.is_bound(NOW_S)
    ]
    assert waiting
    assert len(waits) == len({pod.request.owner for pod in waiting})
    cordoned = {n.name for n in engine.nodes_at(NOW_S) if n.is_cordoned(NOW_S)}
    shown = NodeState.objects.filter(missing_ms=None)
    assert {one.name for one in shown} == {n.name for n in engine.nodes_at(NOW_S)}
    assert {one.name for one in shown if one.is_cordoned} == cordoned
    for pod in waiting:
        has_room = _most_free(engine, resource_of(pod.request.pools[0]))
        is_other = has_room >= pod.request.gpus  # of another model: metrics do not say
        name = next(n for n in waits if pod.request.owner.name.startswith(n))
        assert (waits[name] == "other") == is_other, name


def test_queues_have_a_past_when_the_demo_starts(tmp_path: Path) -> None:
    story = Story.ending_at(NOW_S, seed=7, days=3, gpus=24)
    api = ApiAddress(9, tmp_path)
    api.write_tokens("secret")
    set_up(story, 9, "secret", api)
    observe_past(story, tmp_path, NOW_S - HOUR_S, past_s=2 * HOUR_S)
    assert observe_past(story, tmp_path, NOW_S) == HOUR_S // STEP_S  # it was stopped
    assert not observe_past(story, tmp_path, NOW_S)
    cluster = Cluster.objects.get(name=CLUSTER)
    now = datetime.fromtimestamp(NOW_S, UTC)
    pools = pool_rows(EVERYTHING, now)
    largest = max(pools, key=lambda pool: pool.capacity)  # others lose their only node
    assert None not in pool_hours(largest, now, hours=3).depth[:-1]
    ended = WaitRecord.objects.filter(cluster=cluster).exclude(ended_at=None)
    assert ended.exists()
    assert ended.filter(ended_at__gt=now).count() == 0


def _most_free(engine: Engine, resource: str) -> int:
    """Units that are free on one node that is not cordoned."""
    held: Counter[str] = Counter()
    for pod in engine.pods_between(NOW_S, NOW_S + 1):
        is_of = resource_of(pod.request.pools[0]) == resource
        if pod.node is not None and pod.holds(NOW_S) and is_of:
            held[pod.node.name] += pod.request.gpus
    return max(
        node.shape.capacity(node.pool.gpus, node.pool.model).get(resource, 0)
        - held[node.name]
        for node in engine.nodes_at(NOW_S)
        if not node.is_cordoned(NOW_S)
    )
