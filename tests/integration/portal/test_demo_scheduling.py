"""The demo's story of scheduling, through the product: every built rule of waste has findings.

Two days of a small fleet are imported as the demo imports them. Causes of waiting work are in
`tests/unit/portal/demo/kube_api/test_mirror.py`.
"""

from pathlib import Path

import pytest
from django.conf import LazySettings

from accounting.audit import SYSTEM
from accounting.ingest.imports import import_files
from accounting.models import Cluster
from portal.demo.bootstrap.setup import CLUSTER, set_up
from portal.demo.metrics.history import FileInterval, write
from portal.demo.scenario.engine import Engine
from portal.demo.scenario.story import DAY_S, Story
from scheduler_view.models import WasteFinding
from scheduler_view.waste.compute import compute_due
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
    story = Story.ending_at(NOW_S, seed=7, weeks=1, gpus=150)
    set_up(story, 9, "secret")
    engine = Engine(story)
    engine.advance(NOW_S)
    path = tmp_path / "history.om"
    write(engine, FileInterval(NOW_S - 2 * DAY_S, NOW_S), path)
    import_files(CLUSTER, [path], actor=SYSTEM)
    compute_due(Cluster.objects.get(name=CLUSTER))
    found = set(WasteFinding.objects.values_list("rule", flat=True))
    assert found >= RULES, sorted(found)
