"""The soak's own sums: green on a right ledger, and each fault is found and named."""

from pathlib import Path

import pytest
from django.db import connection

from bench.conserved import conserved
from tests.builders import SETUP, two_hours
from tests.integration.faults.support import environment
from tests.integration.metering.support import run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The address of a database with two hours of a cluster."""
    (tmp_path / "setup.yaml").write_text(SETUP)
    run("configure", tmp_path / "setup.yaml")
    two_hours().write(tmp_path / "all.om")
    run("import_metrics", "--cluster=north", tmp_path / "all.om")
    return environment("")["DATABASE_URL"]


def test_right_ledger_is_conserved(url: str) -> None:
    found = conserved(url)
    assert found.findings == ()
    assert found.windows == 24
    assert found.facts > 100
    assert found.compared > 20


FAULTS = {
    "a millisecond too much": (
        "UPDATE usage_window SET idle_ms = idle_ms + 1 WHERE (window_start, gpu_id) ="
        " (SELECT min(window_start), min(gpu_id) FROM usage_window)"
    ),
    "a window without its facts": (
        "DELETE FROM usage_window WHERE window_start = '2026-10-01 10:20Z'"
    ),
    "a presence that is shorter": (
        "UPDATE accounting_gpupresence SET start_ms = start_ms + 1 WHERE id ="
        " (SELECT max(id) FROM accounting_gpupresence)"
    ),
    "an hour that was forgotten": "DELETE FROM usage_hour WHERE team_id = 0",
    "a day that was counted twice": "UPDATE usage_day SET free_ms = free_ms * 2",
    "a family that has more": "UPDATE usage_family_day SET free_ms = free_ms * 2",
    "a total of hours that has less": (
        "UPDATE usage_hour_total SET free_ms = free_ms - 1"
    ),
    "a total of days that costs more": (
        "UPDATE usage_day_total SET cost_raw = coalesce(cost_raw, 0) + 1"
    ),
    "a rate that nobody set": "UPDATE usage_hour SET rate = rate + 0.000001",
    "a price that nobody took": (
        "UPDATE accounting_unitprice SET rate_per_gpu_hour = 2.100001"
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found(fault: str, url: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(FAULTS[fault])
    assert conserved(url).findings
