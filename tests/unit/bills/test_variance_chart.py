"""The chart of a bill against our cost: its days are the sums of the table's rows."""

from datetime import date
from decimal import Decimal

from accounting.bills.pages.variance_chart import variance_chart
from accounting.bills.reads.bill_variance import VarianceRow


def row(day: int, cluster: str, billed: str | None, ours: str | None) -> VarianceRow:
    return VarianceRow(
        billed=None if billed is None else Decimal(billed),
        estimated=None if ours is None else Decimal(ours),
        nodes_billed=1,
        nodes=1,
        without_cost_ms=0,
        bill=0,
        state="final",
        billing_on=date(2026, 10, day),
        cluster=cluster,
    )


def test_a_day_is_the_sum_of_its_clusters() -> None:
    chart = variance_chart(
        [
            row(1, "north", "100", "100"),
            row(1, "south", "10.50", "10"),
            row(2, "north", "120", "100"),
        ],
        "EUR",
    )
    assert chart is not None
    assert chart.rows == (
        ("1 Oct 2026", "€110.50", "€110.00", "€0.50"),
        ("2 Oct 2026", "€120.00", "€100.00", "€20.00"),
    )
    assert chart.sentence == (
        "1 of 2 days differs by 10% or more; the furthest apart is 2 Oct 2026, by 20.0%."
    )


def test_a_day_of_which_a_part_is_not_known_is_a_gap() -> None:
    chart = variance_chart(
        [
            row(1, "north", "100", "98"),
            row(1, "south", None, "10"),
            row(2, "north", "100", "98"),
        ],
        "EUR",
    )
    assert chart is not None
    assert chart.figure["data"][0]["y"] == [None, 100.0]
    assert chart.sentence.startswith("No day differs by 10% or more; ")


def test_one_day_needs_no_chart() -> None:
    assert variance_chart([row(1, "north", "100", "98")], "EUR") is None
