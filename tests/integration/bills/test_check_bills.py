"""The warning of a close while the cost of its month is not final (money.md M27, M43)."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from accounting.bills.models import Bill
from accounting.metering.models.cluster import Cluster
from accounting.months.rules.close_checks import CloseCheck, Level
from accounting.months.tasks.checks.of_close import run_checks
from tests.integration.bills.billed import ARN, Fleet, charge, focus, taken
from tests.integration.budgets.days import DayLedger

OCTOBER, NOVEMBER = date(2026, 10, 1), date(2026, 11, 2)
LATER = datetime(2026, 12, 10, tzinfo=UTC)


@pytest.fixture
def fleet(ledger: DayLedger) -> Fleet:
    """Two nodes with GPU time in October and November."""
    found = Fleet(ledger)
    for number in (1, 2):
        found.node(number)
        found.used(number, OCTOBER)
        found.used(number, NOVEMBER)
    return found


def check(period: str) -> CloseCheck:
    [found] = [one for one in run_checks(period, LATER) if one.code == "bills"]
    return found


def in_november(cost: str, resource: str = "", **cells: str) -> dict[str, str]:
    values = {
        "BillingPeriodStart": "2026-11-01T00:00:00Z",
        "BillingPeriodEnd": "2026-12-01T00:00:00Z",
        "ChargePeriodStart": "2026-11-02T00:00:00Z",
        "ChargePeriodEnd": "2026-11-02T01:00:00Z",
    }
    return charge(cost, resource, **(values | cells))


def both_billed_in_october() -> None:
    rows = (charge("450.30", ARN.format(1)), charge("470.30", ARN.format(2)))
    taken(focus(*rows), is_final=True)


def test_without_bills_there_is_no_warning(fleet: Fleet) -> None:
    assert fleet.nodes
    assert check("2026-10").level is Level.PASSED


def test_a_bill_that_is_not_final_is_a_warning_until_it_is(fleet: Fleet) -> None:
    assert fleet.nodes
    taken(focus(charge("450.30", ARN.format(1)), charge("470.30", ARN.format(2))))
    found = check("2026-10")
    assert (found.level, found.value) == (Level.WARNING, Decimal(1))
    assert found.link == "/bills"
    assert found.message == "the cost is not final: account acme, bills not final: 1"
    assert not found.is_blocking
    Bill.objects.update(is_final=True)
    assert check("2026-10").level is Level.PASSED


def test_a_bill_of_nothing_of_ours_is_no_warning(fleet: Fleet) -> None:
    assert fleet.nodes
    taken(focus(charge("12.00", "arn:aws:s3:::a-bucket")))
    assert check("2026-10").level is Level.PASSED


def test_a_node_that_had_a_bill_and_has_none_is_a_warning(fleet: Fleet) -> None:
    both_billed_in_october()
    found = check("2026-11")
    assert found.message == (
        "the cost is not final: cluster north, nodes without a bill: 2"
    )
    taken(focus(in_november("20.00", ARN.format(1))), is_final=True)
    assert check("2026-11").message.endswith("nodes without a bill: 1")
    both = (in_november("20.00", ARN.format(1)), in_november("21.00", ARN.format(2)))
    taken(focus(*both), is_final=True)
    assert check("2026-11").level is Level.PASSED
    assert fleet.nodes


def test_a_node_without_gpu_time_in_the_month_needs_no_bill(ledger: DayLedger) -> None:
    fleet = Fleet(ledger)
    for number in (1, 2):
        fleet.node(number)
        fleet.used(number, OCTOBER)
    fleet.used(1, NOVEMBER)
    both_billed_in_october()
    assert check("2026-11").message.endswith("nodes without a bill: 1")


def test_an_account_of_a_cluster_covers_its_nodes_and_can_be_missing(
    fleet: Fleet,
) -> None:
    assert fleet.nodes
    Cluster.objects.update(billing_account="acme")
    taken(focus(charge("900.00")), is_final=True)
    assert check("2026-10").level is Level.PASSED
    assert check("2026-11").message.endswith("accounts without a bill: 1")
    taken(focus(in_november("30.00")), is_final=True)
    assert check("2026-11").level is Level.PASSED


def test_an_october_row_of_a_november_bill_is_octobers(fleet: Fleet) -> None:
    """Providers bill corrections of a month with the next one."""
    assert fleet.nodes
    both_billed_in_october()
    late = charge(
        "-3.00",
        ARN.format(1),
        BillingPeriodStart="2026-11-01T00:00:00Z",
        BillingPeriodEnd="2026-12-01T00:00:00Z",
    )
    taken(focus(late))
    assert check("2026-10").message.endswith("account acme, bills not final: 1")
