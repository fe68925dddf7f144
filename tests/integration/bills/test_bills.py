"""Bills of providers: imported once, replaced as a whole, matched to nodes, compared with our cost.

Covers M41, M42, M43 over a real database: revisions, the same file, dry runs, faults, currencies,
accounts, what a trigger refuses. Spreading of bills to rows is not built.
"""

import gzip
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.db import DatabaseError, connection, transaction

from accounting.access.scope import EVERYTHING, NOTHING
from accounting.bills.actions.finals import set_final
from accounting.bills.actions.match_lines import match_again
from accounting.bills.models import Bill, BillLine
from accounting.bills.reads.bill_variance import (
    VarianceRow,
    cluster_variance_rows,
    variance_rows,
)
from accounting.bills.reads.bills import (
    BillRow,
    bill_row,
    bill_rows,
    estimated_by_month,
    unmatched_rows,
)
from accounting.bills.rules.columns import BillFileError
from accounting.kit.audit import SYSTEM
from accounting.kit.outcomes import Refused
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.evidence import NodeProvider
from accounting.prices.models.conversion import ConversionRate
from tests.integration.bills.billed import ARN, HEADER, Fleet, charge, focus, taken
from tests.integration.budgets.days import DayLedger

DAY = date(2026, 10, 1)


@pytest.fixture
def fleet(ledger: DayLedger) -> Fleet:
    """Two nodes of eight GPUs at 2.35 on 1 October: 451.20 each."""
    found = Fleet(ledger)
    for number in (1, 2):
        found.node(number)
        found.used(number, DAY)
    return found


def only() -> BillRow:
    (found,) = bill_rows(EVERYTHING, "EUR")
    return found


def variances() -> list[VarianceRow]:
    return variance_rows([only().id], "EUR")


def together() -> list[VarianceRow]:
    """All bills of October."""
    return cluster_variance_rows(DAY, date(2026, 11, 1), "EUR")


def test_a_bill_is_matched_and_compared_by_cluster_and_day(fleet: Fleet) -> None:
    """The example of M43: 902.40 by our cost, 915.60 by the bill."""
    content = focus(
        charge("450.30", ARN.format(1)),
        charge("470.30", ARN.format(2)),
        charge("-5.00", ARN.format(2), ChargeCategory="Credit"),
        charge("12.00", "arn:aws:s3:::a-bucket", ServiceName="Object Storage"),
        charge("3.50"),
        charge("99.00", ChargeCategory="Tax"),
        charge("7000.00", "ri-2026", ChargeCategory="Purchase"),
    )
    found = taken(content)
    assert found.is_saved
    assert found.rows == 7
    row = only()
    assert (row.matched, row.unmatched, row.cost) == (
        Decimal("915.60"),
        Decimal("15.50"),
        Decimal("931.10"),
    )
    assert (row.rows, row.matched_rows, row.unmatched_rows, row.left_out_rows) == (
        *(7, 3, 2, 2),
    )
    assert (row.month, row.provider, row.state) == ("2026-10", "AWS", "reconciled")
    (one,) = variances()
    assert (one.billing_on, one.cluster, one.state) == (DAY, "north", "reconciled")
    assert (one.billed, one.estimated) == (Decimal("915.60"), Decimal("902.40"))
    assert (one.variance, one.percent) == (Decimal("13.20"), Decimal("1.46"))
    assert (one.nodes_billed, one.nodes) == (2, 2)
    listed = unmatched_rows(row.id)
    assert [(one.word, one.cost) for one in listed] == [
        ("unknown", Decimal(12)),
        ("no_resource", Decimal("3.5")),
    ]
    assert estimated_by_month() == {"2026-10": Decimal("902.40")}
    del fleet


def test_only_finance_reads_bills(fleet: Fleet) -> None:
    taken(focus(charge("1.00", ARN.format(1))))
    number = only().id
    assert bill_rows(NOTHING, "EUR") == []
    assert bill_row(NOTHING, number, "EUR") is None
    del fleet


def test_a_bill_of_some_nodes_is_compared_with_their_cost(fleet: Fleet) -> None:
    """The second example of M43: that another node is not billed does not turn the sign."""
    taken(focus(charge("460.30", ARN.format(1))))
    (one,) = variances()
    assert (one.estimated, one.variance) == (Decimal("451.20"), Decimal("9.10"))
    assert (one.percent, one.nodes_billed, one.nodes) == (Decimal("2.02"), 1, 2)
    del fleet


def test_all_bills_of_a_cluster_are_compared_together(fleet: Fleet) -> None:
    """Two accounts bill one node each, and one of them the disks of both."""
    taken(focus(charge("460.30", ARN.format(1)), charge("3.00", ARN.format(2))))
    taken(
        focus(charge("440.00", ARN.format(2), BillingAccountId="spot")), is_final=True
    )
    taken(
        focus(charge("450.00", ARN.format(2), BillingAccountId="spot")), is_final=True
    )
    by_bill = variance_rows([row.id for row in bill_rows(EVERYTHING, "EUR")], "EUR")
    assert [(row.estimated, row.variance) for row in by_bill] == [
        (Decimal("902.40"), Decimal("-439.10")),
        (Decimal("451.20"), Decimal("-1.20")),
    ]
    (one,) = together()
    assert (one.billed, one.estimated) == (Decimal("913.30"), Decimal("902.40"))
    assert (one.variance, one.percent) == (Decimal("10.90"), Decimal("1.21"))
    assert (one.nodes_billed, one.nodes, one.state) == (2, 2, "reconciled")
    assert cluster_variance_rows(date(2026, 10, 2), date(2026, 11, 1), "EUR") == []
    dollars = charge("1.00", ARN.format(2), BillingAccountId="x", BillingCurrency="USD")
    taken(focus(dollars))
    assert together()[0].billed is None  # one of them has no conversion
    del fleet


def test_an_account_is_compared_with_the_whole_cluster(fleet: Fleet) -> None:
    Cluster.objects.update(billing_account="acme")
    taken(focus(charge("460.00", ARN.format(1)), charge("40.00", "a-license")))
    (one,) = variances()
    assert (one.billed, one.estimated) == (Decimal(500), Decimal("902.40"))
    assert (one.nodes_billed, one.nodes) == (0, 2)
    assert together()[0].estimated == one.estimated
    del fleet


def test_groups_without_a_bill_are_not_compared(fleet: Fleet) -> None:
    fleet.node(3)
    fleet.used(3, DAY, model="NVIDIA-A10", cost="0.50")
    fleet.used(1, date(2026, 10, 2))
    taken(focus(charge("450.00", ARN.format(1)), charge("450.00", ARN.format(2))))
    (one,) = variances()
    assert (one.billing_on, one.estimated) == (DAY, Decimal("902.40"))


def test_time_without_a_cost_has_no_variance(fleet: Fleet) -> None:
    fleet.node(3)
    fleet.used(3, DAY, model="NVIDIA-A10", cost=None)
    taken(focus(charge("100.00", ARN.format(3))))
    (one,) = variances()
    assert (one.estimated, one.variance, one.percent) == (None, None, None)
    assert one.without_cost_ms == 8 * 24 * 3_600_000


def test_the_same_file_is_nothing_and_another_replaces(fleet: Fleet) -> None:
    first = focus(charge("450.00", ARN.format(1)))
    second = focus(charge("451.00", ARN.format(1)))
    taken(first)
    again = taken(first)
    assert [bill.is_known for bill in again.bills] == [True]
    assert Bill.objects.count() == 1
    assert taken(second).bills[0].revision == 2
    assert only().matched == Decimal(451)
    old = Bill.objects.get(revision=1)
    assert old.replaced_at is not None
    with pytest.raises(Refused):
        set_final(old, actor=SYSTEM, reason="The invoice has arrived.")
    # the first file again is another one than the one in effect
    assert taken(first).bills[0].revision == 3
    assert only().matched == Decimal(450)
    assert len(bill_rows(EVERYTHING, "EUR", replaced=True)) == 3
    assert bill_rows(EVERYTHING, "EUR", month="2026-09") == []
    del fleet


def test_a_dry_run_changes_nothing(fleet: Fleet) -> None:
    found = taken(focus(charge("450.00", ARN.format(1))), saves=False)
    assert not found.is_saved
    assert found.bills[0].matched == Decimal(450)
    assert found.bills[0].number is None
    assert not Bill.objects.exists()
    del fleet


def test_a_file_may_have_several_accounts_and_periods(fleet: Fleet) -> None:
    content = focus(
        charge("1.00", ARN.format(1)),
        charge("2.00", ARN.format(1), BillingAccountId="other"),
        charge(
            "4.00",
            ARN.format(1),
            BillingPeriodStart="2026-11-01T00:00:00Z",
            BillingPeriodEnd="2026-12-01T00:00:00Z",
        ),
    )
    found = taken(content)
    assert [(bill.account, bill.month) for bill in found.bills] == [
        ("acme", "2026-10"),
        ("other", "2026-10"),
        ("acme", "2026-11"),
    ]
    assert [bill.elsewhere for bill in found.bills] == [0, 0, 1]
    assert BillLine.objects.count() == 3
    del fleet


def test_a_row_with_a_fault_stops_the_whole_file(fleet: Fleet) -> None:
    content = focus(
        charge("450.00", ARN.format(1)),
        charge("=1+1", ARN.format(1)),
        charge("1.00", ARN.format(1), BillingCurrency="USD"),
        charge("1.00000000000000001", ARN.format(1)),
        charge("1.00", ARN.format(1), ChargePeriodEnd="yesterday"),
    )
    found = taken(content)
    assert not found.is_saved
    assert [(one.line, one.word) for one in found.faults] == [
        (3, "bad_number"),
        (4, "bad_currency"),
        (5, "too_precise"),
        (6, "bad_date"),
    ]
    assert not Bill.objects.exists()
    del fleet


def test_another_file_is_refused(ledger: DayLedger) -> None:
    row = charge("1")
    for content, text in (
        (b"", "no header"),
        (focus(), "no rows"),
        (b"a,b\n1,2\n", "not a FOCUS file"),
        (focus(row, header=HEADER[:3] + HEADER[4:]), "lacks BillingPeriodStart"),
        (focus(row).replace(b"acme", b"\xff"), "not UTF-8"),
        (gzip.compress(focus(row))[:-9], "damaged"),
        (b"PAR1" + b"x" * 40, "not valid Parquet"),
    ):
        with pytest.raises(BillFileError, match=text):
            taken(content)
    del ledger


def test_a_file_may_be_compressed_and_begin_with_a_byte_order_mark(
    fleet: Fleet,
) -> None:
    content = b"\xef\xbb\xbf" + focus(charge("450.00", ARN.format(1)))
    assert taken(gzip.compress(content)).bills[0].matched == Decimal(450)
    del fleet


def test_a_parquet_file_is_read_as_csv_is(fleet: Fleet) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    row = charge("450.00", ARN.format(1))
    times = [name for name in row if name.endswith(("Start", "End"))]
    columns: dict[str, list[object]] = {name: [value] for name, value in row.items()}
    columns |= {name: [datetime.fromisoformat(row[name])] for name in times}
    columns |= {"EffectiveCost": [Decimal("450.00")], "Tags": [{"a": "b"}]}
    out = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), out)
    assert taken(out.getvalue().to_pybytes()).bills[0].matched == Decimal(450)
    del fleet


def test_a_bill_in_another_currency_is_converted_by_its_day(fleet: Fleet) -> None:
    taken(focus(charge("500.00", ARN.format(1), BillingCurrency="USD")))
    row = only()
    assert (row.billed, row.matched, row.unconverted) == (None, None, 1)
    assert row.cost == Decimal(500)
    assert variances()[0].billed is None
    ConversionRate.objects.create(
        from_currency="USD", to_currency="EUR", on=DAY, rate=Decimal("0.9")
    )
    assert only().matched == Decimal(450)
    assert variances()[0].billed == Decimal(450)
    del fleet


def test_the_account_of_a_cluster_takes_what_names_no_node(fleet: Fleet) -> None:
    Cluster.objects.update(billing_account="north-account")
    taken(
        focus(
            charge("450.00", ARN.format(1)),
            charge("30.00", "vol-1", SubAccountId="north-account"),
            charge("7.00", "vol-2", SubAccountId="another"),
        )
    )
    row = only()
    assert (row.matched, row.unmatched) == (Decimal(480), Decimal(7))
    (one,) = variances()
    assert (one.billed, one.estimated) == (Decimal(480), Decimal("902.40"))
    del fleet


def test_evidence_that_comes_later_is_matched_again(fleet: Fleet) -> None:
    NodeProvider.objects.all().delete()
    content = focus(charge("450.00", ARN.format(1)))
    taken(content)
    assert only().unmatched_rows == 1
    NodeProvider.objects.create(
        node=fleet.nodes[1],
        provider_id="aws:///eu-central-1a/i-0001",
        first_ms=0,
        last_ms=2**41,
    )
    assert match_again(Bill.objects.get(), actor=SYSTEM) == 1
    assert only().matched_rows == 1
    assert match_again(Bill.objects.get(), actor=SYSTEM) == 0
    assert taken(content).bills[0].is_known


def test_final_is_said_at_the_import_or_later(fleet: Fleet) -> None:
    content = focus(charge("450.00", ARN.format(1)))
    taken(content)
    taken(content, is_final=True)
    assert only().state == "final"
    assert variances()[0].state == "final"
    taken(focus(charge("451.00", ARN.format(1))))
    assert only().state == "reconciled"
    set_final(
        Bill.objects.get(revision=2), actor=SYSTEM, reason="The invoice has arrived."
    )
    assert only().state == "final"
    del fleet


def test_a_bill_does_not_change_by_sql(fleet: Fleet) -> None:
    taken(focus(charge("450.00", ARN.format(1))))
    for statement in (
        "UPDATE accounting_billline SET cost = 1",
        "DELETE FROM accounting_billline",
        "TRUNCATE accounting_billline",
        "UPDATE accounting_bill SET account = 'another'",
        "DELETE FROM accounting_bill",
    ):
        with (
            pytest.raises(DatabaseError, match="does not change"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
    del fleet


def test_a_charge_over_two_billing_days_is_split_exactly(fleet: Fleet) -> None:
    """22:30 to 00:30 in Berlin: half of it is of 2 October."""
    fleet.used(1, date(2026, 10, 2))
    taken(
        focus(
            charge(
                "0.0000000000000001",
                ARN.format(1),
                ChargePeriodStart="2026-10-01T21:00:00Z",
                ChargePeriodEnd="2026-10-01T23:00:00Z",
            )
        )
    )
    lines = BillLine.objects.order_by("billing_on").values_list("billing_on", "cost")
    assert list(lines) == [
        (DAY, Decimal("0.0000000000000001")),
        (date(2026, 10, 2), Decimal(0)),
    ]
    assert sum(line.rows for line in BillLine.objects.all()) == 1


def test_a_bill_of_a_day_is_in_the_month_of_its_period_in_any_zone(
    fleet: Fleet,
) -> None:
    start = datetime(2026, 9, 30, 22, tzinfo=UTC).isoformat()
    end = datetime(2026, 10, 31, 23, tzinfo=UTC).isoformat()
    taken(focus(charge("1", BillingPeriodStart=start, BillingPeriodEnd=end)))
    assert only().month == "2026-10"
    del fleet
