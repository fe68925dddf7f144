"""Worked numbers of the price book: matching (X3), borders (X4), and costs (money.md M13-M15)."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from accounting.metering.models.usage import UsageHour
from accounting.prices.models.price import PriceList, UnitPrice
from tests.integration.metering.support import report
from tests.integration.prices.books import TEN, Books

HOUR = timedelta(hours=1)
SETUP = """
billing: {currency: EUR, timezone: Europe/Berlin}
clusters: [{name: north}, {name: south}]
teams: [{slug: vision, name: Vision}]
bindings: [{namespace: vision, team: vision}]
prices:
"""
X3 = """\
  - {model: NVIDIA-L40S, rate_per_gpu_hour: "2.10"}
  - {model: NVIDIA-L40S, rate_per_gpu_hour: "1.50", tier: low}
  - {model: NVIDIA-L40S, rate_per_gpu_hour: "1.90", cluster: north}
  - {model: NVIDIA-L40S, rate_per_gpu_hour: "1.20", lifecycle: spot, tier: low}
"""


@pytest.mark.parametrize(
    ("lifecycle", "rate"), [("spot", "1.200000"), ("unknown", "1.900000")]
)
def test_the_rate_that_sets_most_applies(
    books: Books, lifecycle: str, rate: str
) -> None:
    books.configure(SETUP + X3)
    pod = books.pod(tier="low")
    books.hours(books.gpu(lifecycle=lifecycle), TEN, TEN + HOUR, pod)
    books.settle()
    assert [row["charge"] for row in report("usage")] == [rate]


def test_a_price_begins_at_midnight_or_at_the_next_window(books: Books) -> None:
    """A day of 25 hours begins at 22:00 UTC of the day before, and ends at 23:00."""
    dated = X3.splitlines()[0].replace("}", ", valid_from: 2026-10-26}")
    books.configure(SETUP + dated)
    price = UnitPrice.objects.get()
    assert price.valid_from == datetime(2026, 10, 25, 23, tzinfo=UTC)
    at = TEN + timedelta(minutes=5)
    old, new = (
        X3.splitlines()[0],
        f'  - {{model: NVIDIA-L40S, rate_per_gpu_hour: "3", valid_from: {at.isoformat()}}}',
    )
    books.configure(f"{SETUP}{old}\n{new}\n")
    books.hours(books.gpu(), TEN, TEN + HOUR, books.pod())
    books.settle()
    rows = UsageHour.objects.filter(namespace_id__gt=0).order_by("rate")
    assert [(str(row.rate), row.busy_ms + row.idle_ms) for row in rows] == [
        ("2.100000", 300_000),
        ("3.000000", 3_300_000),
    ]


def test_a_cost_matches_by_cluster_and_lifecycle_alone(books: Books) -> None:
    """The rate's tier does not hide the cost, and a cost has no part in the rate's match."""
    costs = """\
  - {model: NVIDIA-L40S, cost_per_gpu_hour: "1.70"}
  - {model: NVIDIA-L40S, cost_per_gpu_hour: "0.60", lifecycle: spot}
  - {model: NVIDIA-L40S, cost_per_gpu_hour: "0.55", lifecycle: spot, cluster: south}
"""
    books.configure(SETUP + X3 + costs)
    pod = books.pod(tier="low")
    books.hours(books.gpu(lifecycle="spot"), TEN, TEN + HOUR, pod)
    books.settle()
    [row] = UsageHour.objects.filter(namespace_id__gt=0)
    assert (row.rate, row.cost, row.gpu_cost) == (
        Decimal("1.20"),
        Decimal("0.60"),
        Decimal("0.60"),
    )
    names = PriceList.objects.order_by("name").values_list("kind", "name", "currency")
    assert list(names) == [
        ("cost", "Costs in EUR", "EUR"),
        ("rate", "Rates in EUR", "EUR"),
    ]


@pytest.mark.parametrize("part", ["tier: low", "profile: 1g.5gb"])
def test_the_setup_file_refuses_a_cost_of_a_part(books: Books, part: str) -> None:
    wrong = f'  - {{model: NVIDIA-A100, cost_per_gpu_hour: "1", {part}}}'
    with pytest.raises(SystemExit):
        books.configure(SETUP + wrong)
    assert not UnitPrice.objects.exists()
