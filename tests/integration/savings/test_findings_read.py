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
from accounting.metering.models.pod import Workload
from scheduler_view.savings.models import WasteFinding
from scheduler_view.savings.reads.evidence import SHOWN_FINDINGS, evidence_of
from scheduler_view.savings.reads.rows import waste_report
from tests.integration.savings.fleet import HOUR, START, Fleet, make_fleet
from tests.integration.savings.test_compute import DAY
from tests.plans import explained, is_summed_before, within

pytestmark = pytest.mark.django_db
DAYS = DayRange(DAY, DAY + timedelta(days=1))
FINDINGS = "scheduler_view_wastefinding"


@pytest.fixture
def fleet() -> Fleet:
    return make_fleet(START + 24 * HOUR)


@pytest.fixture
def names(fleet: Fleet) -> list[str]:
    """Pods of one workload; the findings of all of them have the same length."""
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


def test_names_are_read_of_the_findings_that_are_shown(
    names: list[str], fleet: Fleet
) -> None:
    [work] = Workload.objects.all()
    for n in range(20):
        WasteFinding.objects.create(
            cluster=fleet.cluster,
            day=DAY,
            rule="idle",
            workload=work,
            pod=fleet.hold(f"short-{n}", "b" * 12, workload=work.name),
            start_ms=to_ms(START),
            end_ms=to_ms(START + HOUR),
            gpu_ms=30_000 + n,
            raw=0,
        )
    rows = waste_report(EVERYTHING, DAYS, 2).rows
    with CaptureQueriesContext(connection) as asked:
        found = evidence_of(rows, DAYS)
    assert [one.pod for one in next(iter(found.values()))][:3] == names
    read = [
        one
        for one in within(explained(asked, FINDINGS))
        if one.get("Relation Name") == "accounting_pod"
    ]
    assert sum(one["Actual Loops"] for one in read) == SHOWN_FINDINGS
