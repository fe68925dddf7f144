"""How findings are read: summed by number first, and listed in one order.

What is found: `test_overlapping_waste.py`.
"""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.access.scope import EVERYTHING
from accounting.core.billing_calendar import DayRange
from accounting.core.interval import to_ms
from scheduler_view.savings.models import WasteFinding
from scheduler_view.savings.reads.evidence import evidence_of
from scheduler_view.savings.reads.rows import waste_report
from tests.integration.savings.fleet import HOUR, START, make_fleet
from tests.integration.savings.test_compute import DAY
from tests.plans import explained, is_summed_before

pytestmark = pytest.mark.django_db
DAYS = DayRange(DAY, DAY + timedelta(days=1))
FINDINGS = "scheduler_view_wastefinding"


@pytest.fixture
def names() -> list[str]:
    """Pods of one workload; the findings of all of them have the same length."""
    fleet = make_fleet(START + 24 * HOUR)
    held = [
        fleet.hold(name, "b" * 12, workload="train")
        for name in ("train-c", "train-a", "train-b")
    ]
    for pod in held:
        WasteFinding.objects.create(
            cluster=fleet.cluster,
            day=DAY,
            rule="idle",
            workload=pod.workload,
            pod=pod,
            start_ms=to_ms(START),
            end_ms=to_ms(START + HOUR),
            gpu_ms=60_000,
            raw=0,
        )
    return sorted(pod.name for pod in held)


def test_findings_are_summed_before_their_pods_are_read(names: list[str]) -> None:
    with CaptureQueriesContext(connection) as asked:
        [row] = waste_report(EVERYTHING, DAYS, 2).rows
    assert (row.findings, row.pods, row.gpu_ms) == (3, 3, 180_000)
    assert is_summed_before(explained(asked, FINDINGS), FINDINGS, "accounting_pod")
    with CaptureQueriesContext(connection) as asked:
        evidence_of([row], DAYS)
    assert is_summed_before(explained(asked, FINDINGS), FINDINGS, "accounting_pod")


def test_findings_of_the_same_length_are_in_order_of_time_and_name(
    names: list[str],
) -> None:
    [row] = waste_report(EVERYTHING, DAYS, 2).rows
    [found] = evidence_of([row], DAYS).values()
    assert [one.pod for one in found] == names
