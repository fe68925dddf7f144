"""Which price wins (rules.md N26), what a differing one does to the platform's line (N27)."""

from datetime import timedelta
from decimal import Decimal
from itertools import combinations, product
from typing import Any

import pytest
from django.utils import timezone

from accounting.access.scope import EVERYTHING
from accounting.core.interval import Interval
from accounting.kit.reads.selection import Selection
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import DataIssue
from accounting.prices.models.price import UnitPrice
from accounting.usage.reads.ranking import largest, moved_most
from accounting.usage.reads.usage import usage_rows
from accounting.usage.rules.totals import total_of
from tests.integration.metering.support import report
from tests.integration.prices.books import HOUR_MS, MODEL, TEN, Books

BASE = """
billing: {currency: EUR, timezone: UTC}
clusters: [{name: north}, {name: south}]
teams: [{slug: vision, name: Vision}]
bindings: [{namespace: vision, team: vision}]
prices: []
"""
HOUR = timedelta(hours=1)
# what a price may set, dearest reason first (N26)
PARTS = (("cluster", "north"), ("lifecycle", "spot"), ("tier", "low"))
SUBSETS = [
    frozenset(chosen) for size in range(4) for chosen in combinations(PARTS, size)
]


def prices(*wanted: tuple[dict[str, str], str]) -> str:
    """A set-up with these prices: (what it sets, rate)."""
    lines = []
    for parts, rate in wanted:
        more = "".join(f", {key}: {value}" for key, value in parts.items())
        line = f"{{model: NVIDIA-L40S, rate_per_gpu_hour: '{rate}'{more}}}"
        lines.append(f"  - {line}")
    return BASE.replace("prices: []", "\n".join(["prices:", *lines])) if lines else BASE


def held_hour(books: Books, **gpu: str) -> None:
    """One GPU, held for an hour by a pod of tier `low`."""
    pod = books.pod(tier="low", on=gpu.get("cluster", "north"))
    books.hours(books.gpu(**gpu), TEN, TEN + HOUR, pod)


def _rank(parts: frozenset[tuple[str, str]]) -> tuple[int, ...]:
    """N26 by hand: how many it sets, then cluster before lifecycle before tier."""
    names = {name for name, _ in parts}
    return (len(parts), *(int(name in names) for name, _ in PARTS))


@pytest.mark.parametrize(
    ("one", "other"),
    list(combinations(SUBSETS, 2)),
    ids=lambda parts: "+".join(name for name, _ in sorted(parts)) or "plain",
)
def test_the_price_that_sets_most_wins_and_ties_have_an_order(
    books: Books, one: frozenset[tuple[str, str]], other: frozenset[tuple[str, str]]
) -> None:
    books.configure(prices((dict(one), "2"), (dict(other), "3")))
    held_hour(books, lifecycle="spot")
    books.settle()
    [row] = report("usage")
    expected = "2.000000" if _rank(one) > _rank(other) else "3.000000"
    assert row["charge"] == expected


def test_with_all_eight_the_most_particular_wins(books: Books) -> None:
    rates = {parts: str(n + 1) for n, parts in enumerate(SUBSETS)}
    books.configure(prices(*((dict(parts), rate) for parts, rate in rates.items())))
    held_hour(books, lifecycle="spot")
    books.settle()
    [row] = report("usage")
    assert row["charge"] == f"{rates[frozenset(PARTS)]}.000000"


@pytest.mark.parametrize(
    ("parts", "gpu"),
    [
        ({"cluster": "south"}, {}),
        ({"lifecycle": "spot"}, {}),
        ({"lifecycle": "reserved"}, {"lifecycle": "spot"}),
        ({"lifecycle": "spot"}, {"lifecycle": "unknown"}),
        ({"tier": "high"}, {}),
        ({"profile": "1g.6gb"}, {}),  # of a MIG instance, and this is a whole GPU
        ({}, {"model": "NVIDIA-L40"}),  # another model, though the name begins alike
    ],
)
def test_a_price_for_something_else_is_no_price(
    books: Books, parts: dict[str, str], gpu: dict[str, str]
) -> None:
    books.configure(prices((parts, "2")))
    held_hour(books, **gpu)
    books.settle()
    [row] = report("usage")
    assert row["allocated_ms"] == HOUR_MS
    assert (row["charge"], row["idle_charge"], row["currency"]) == (None, None, None)
    [ledger] = report("ledger")
    assert ledger["wall_ms"] == HOUR_MS
    assert {v for k, v in ledger.items() if k.endswith("_charge")} == {None}
    [issue] = DataIssue.objects.filter(code="unpriced_gpu", resolved_at=None)
    assert issue.subject == gpu.get("model", "NVIDIA-L40S")
    assert issue.at_stake_ms == HOUR_MS


def test_the_issue_has_the_days_of_bills_and_none_to_come(books: Books) -> None:
    books.configure(prices().replace("UTC", "Europe/Berlin"))
    held_hour(books)
    books.settle()
    [issue] = DataIssue.objects.filter(code="unpriced_gpu", resolved_at=None)
    midnight = TEN - timedelta(hours=12)  # 22:00 UTC is midnight in Berlin, in summer
    assert (issue.first_seen, issue.last_seen) == (midnight, midnight + 24 * HOUR)
    recent = timezone.now().replace(minute=0, second=0, microsecond=0) - HOUR
    books.hours(books.gpu("GPU-2"), recent, recent + HOUR)
    books.settle()
    issue.refresh_from_db()
    assert midnight + 24 * HOUR < issue.last_seen <= timezone.now()


def test_an_unknown_lifecycle_takes_the_price_without_one(books: Books) -> None:
    books.configure(prices(({"lifecycle": "spot"}, "1"), ({}, "2")))
    held_hour(books, lifecycle="unknown")
    books.settle()
    assert report("usage")[0]["charge"] == "2.000000"


def test_the_issue_goes_when_a_price_comes(books: Books) -> None:
    books.configure(prices())
    held_hour(books)
    books.settle()
    assert DataIssue.objects.filter(code="unpriced_gpu", resolved_at=None).exists()
    books.configure(prices(({}, "2")))
    assert report("usage")[0]["charge"] == "2.000000"
    assert not DataIssue.objects.filter(code="unpriced_gpu", resolved_at=None).exists()


def test_money_is_that_of_the_time_with_a_price_and_the_rest_is_told(
    books: Books,
) -> None:
    """Every list of a pod on a priced and on an unpriced GPU adds up to its total."""
    books.configure(prices(({}, "2")))
    pod = books.pod()
    books.hours(books.gpu("GPU-1"), TEN, TEN + HOUR, pod)
    books.hours(books.gpu("GPU-2", model="NVIDIA-A10"), TEN, TEN + HOUR, pod)
    books.settle()
    [row] = report("usage", by="team")
    assert row["allocated_ms"] == 2 * HOUR_MS
    assert (row["charge"], row["unpriced_gpu_hours"]) == ("2.000000", "1.000000")
    by_model = {
        row["model"]: (row["charge"], row["unpriced_gpu_hours"])
        for row in report("usage", by="model")
    }
    assert by_model == {
        "NVIDIA-A10": (None, "1.000000"),  # null, never 0
        "NVIDIA-L40S": ("2.000000", "0.000000"),
    }
    [total] = report("usage", by="")
    assert (total["charge"], total["unpriced_gpu_hours"]) == ("2.000000", "1.000000")


def test_idle_cost_is_unknown_where_no_idle_time_has_a_price(books: Books) -> None:
    """N26: a busy GPU with a price beside an idle one without: null, never 0."""
    books.configure(prices(({}, "2")))
    pod = books.pod()
    books.hours(books.gpu("GPU-1"), TEN, TEN + HOUR, pod)
    idle = books.gpu("GPU-2", model="NVIDIA-A10")
    books.hours(idle, TEN, TEN + HOUR, pod, state="idle")
    books.settle()
    for by in ("team", "pod", "hour", ""):
        [row] = report("usage", by=by)
        assert (row["idle_ms"], row["charge"]) == (HOUR_MS, "2.000000")
        assert row["idle_charge"] is None
    [ledger] = report("ledger")
    assert (ledger["busy_charge"], ledger["idle_charge"]) == ("2.000000", None)
    ranked = largest(Selection(EVERYTHING, None), ("team",), "idle", 10, 2)
    assert [row.idle_charge for row in ranked.rows] == [None]


def test_the_ledger_of_a_day_keeps_its_money_beside_a_model_without_price(
    books: Books,
) -> None:
    """One unpriced model took the money of all states of every day."""
    books.configure(prices(({}, "2")))
    books.hours(books.gpu("GPU-1"), TEN, TEN + HOUR, books.pod())
    books.hours(books.gpu("GPU-1b"), TEN, TEN + HOUR, state="free")
    books.hours(
        books.gpu("GPU-2", model="NVIDIA-A10"), TEN, TEN + HOUR, state="stranded"
    )
    books.settle()
    for by in ("day", "hour", "cluster", ""):
        [row] = report("ledger", by=by)
        assert row["wall_ms"] == 3 * HOUR_MS
        assert (row["busy_charge"], row["free_charge"]) == ("2.000000", "2.000000")
        assert row["idle_charge"] == "0.000000"  # no time
        assert row["stranded_charge"] is None  # time, and no price
        assert row["wall_charge"] == "4.000000"
        assert row["unpriced_gpu_hours"] == "1.000000"
    unpriced = next(r for r in report("ledger", by="model") if r["model"] != MODEL)
    assert {v for k, v in unpriced.items() if k.endswith("_charge")} == {None}
    assert unpriced["unpriced_gpu_hours"] == "1.000000"


def test_amounts_of_two_currencies_are_not_added(books: Books) -> None:
    """Each is a list of its own; a row and a total over both have no amount."""
    books.configure(prices(({"cluster": "north"}, "0.000001")))
    south = UnitPrice.objects.create(
        model=MODEL,
        cluster=Cluster.objects.get(name="south"),
        currency="USD",
        rate_per_gpu_hour=Decimal(3),
        valid_from=TEN - HOUR,
    )
    for n, cluster in enumerate(("north", "south")):
        pod = books.pod(f"train-{n}", on=cluster)
        books.hours(books.gpu(f"GPU-{n}", cluster=cluster), TEN, TEN + HOUR, pod)
    books.settle()
    assert south.currency == "USD"
    rows = report("usage", by="cluster")
    assert [(row["charge"], row["currency"]) for row in rows] == [
        ("0.000001", "EUR"),
        ("3.000000", "USD"),
    ]
    [usage], [ledger] = report("usage", by="team"), report("ledger", by="")
    assert (usage["charge"], usage["currency"]) == (None, None)
    assert (ledger["wall_charge"], ledger["currency"]) == (None, None)
    assert usage["allocated_ms"] == ledger["wall_ms"] == 2 * HOUR_MS
    selection = Selection(EVERYTHING)
    [largest_row] = largest(selection, ("team",), "charge", 5, 2).rows
    assert largest_row.charge is None
    assert total_of(usage_rows(selection, ("cluster",))).charge is None


def test_a_charge_in_another_currency_than_before_has_not_moved(books: Books) -> None:
    """100 EUR and 200 USD were listed as a difference of 100."""
    books.configure(prices())
    for n, (currency, rate) in enumerate((("EUR", 100), ("USD", 200))):
        UnitPrice.objects.create(
            model=MODEL,
            currency=currency,
            rate_per_gpu_hour=Decimal(rate),
            valid_from=TEN + n * HOUR,
            valid_to=TEN + (n + 1) * HOUR,
        )
    pod, gpu = books.pod(), books.gpu()
    books.hours(gpu, TEN, TEN + 2 * HOUR, pod)
    books.settle()
    hours = [Interval.of(TEN + n * HOUR, TEN + (n + 1) * HOUR) for n in range(3)]
    assert moved_most(Selection(EVERYTHING, hours[1]), hours[0], 5, 2) == []
    [begun] = moved_most(Selection(EVERYTHING, hours[0]), hours[2], 5, 2)
    assert begun.change.difference == 100


def test_nothing_with_a_price_is_no_money_in_totals_too(books: Books) -> None:
    books.configure(prices())
    held_hour(books)
    books.settle()
    [usage] = report("usage", by="")
    [ledger] = report("ledger", by="")
    assert (usage["charge"], ledger["wall_charge"]) == (None, None)
    assert usage["unpriced_gpu_hours"] == ledger["unpriced_gpu_hours"] == "1.000000"


def test_a_price_of_nothing_is_a_price(books: Books) -> None:
    books.configure(prices(({}, "0")))
    held_hour(books)
    books.settle()
    assert report("usage")[0]["charge"] == "0.000000"
    assert not DataIssue.objects.filter(code="unpriced_gpu").exists()


def test_a_price_holds_from_its_time_to_the_next_one(books: Books) -> None:
    half = (TEN + HOUR / 2).isoformat()
    books.configure(prices(({}, "2"), ({"valid_from": f"'{half}'"}, "6")))
    held_hour(books)
    books.settle()
    assert report("usage")[0]["charge"] == "4.000000"  # half an hour of 2, half of 6
    rows = report("usage", by="hour,model", **{"from": half})
    assert [row["charge"] for row in rows] == ["3.000000"]


def test_a_change_inside_a_window_counts_from_the_next_window(books: Books) -> None:
    inside = TEN + timedelta(minutes=32)  # the window began at 10:30
    # refused in the setup file and on pages; a price of an older database may begin there
    books.configure(prices(({}, "2"), ({"valid_from": f"'{TEN.isoformat()}'"}, "6")))
    UnitPrice.objects.filter(rate_per_gpu_hour=6).update(valid_from=inside)
    UnitPrice.objects.filter(rate_per_gpu_hour=2).update(valid_to=inside)
    held_hour(books)
    books.settle()
    # 35 minutes of 2 and 25 of 6: 7/12 * 2 + 5/12 * 6
    assert report("usage")[0]["charge"] == "3.666667"


Row = dict[str, Any]


def _ledger() -> Row:
    [row] = report("ledger")
    return row


@pytest.mark.parametrize(
    ("tier_rate", "team_pays", "platform"),
    [
        ("1", "1.000000", "3.000000"),  # a discount costs the platform 1
        ("5", "5.000000", "-1.000000"),  # a surcharge is its gain
        ("2", "2.000000", "2.000000"),
        ("0", "0.000000", "4.000000"),
    ],
)
def test_the_platform_takes_what_a_tiers_rate_differs(
    books: Books, tier_rate: str, team_pays: str, platform: str
) -> None:
    """Two GPUs for an hour at 2: one held by tier `low`, one free. Together always 4."""
    books.configure(prices(({}, "2"), ({"tier": "low"}, tier_rate)))
    pod = books.pod(tier="low")
    books.hours(books.gpu("GPU-1"), TEN, TEN + HOUR, pod)
    books.hours(books.gpu("GPU-2"), TEN, TEN + HOUR, state="free")
    books.settle()
    [usage] = report("usage")
    assert usage["charge"] == team_pays
    row = _ledger()
    assert row["busy_charge"] == team_pays
    assert row["free_charge"] == platform
    assert row["wall_charge"] == "4.000000"


def test_what_a_tier_differs_is_kept_beside_free_gpus_without_a_price(
    books: Books,
) -> None:
    """All free time was of a model without a price: the total lost the difference."""
    books.configure(prices(({}, "2"), ({"tier": "low"}, "1.5")))
    books.hours(books.gpu("GPU-1"), TEN, TEN + HOUR, books.pod(tier="low"))
    unpriced = books.gpu("GPU-2", model="NVIDIA-A10")
    books.hours(unpriced, TEN, TEN + HOUR, state="free")
    books.settle()
    row = _ledger()
    assert (row["busy_charge"], row["free_charge"]) == ("1.500000", "0.500000")
    assert row["wall_charge"] == "2.000000"
    by_model = report("ledger", by="model")
    assert [one["wall_charge"] for one in by_model] == [None, "2.000000"]


def test_what_a_tier_differs_is_in_the_row_of_its_gpu_and_hour(books: Books) -> None:
    books.configure(prices(({}, "2"), ({"tier": "low"}, "1.5")))
    pod = books.pod(tier="low")
    books.hours(books.gpu("GPU-1"), TEN, TEN + HOUR, pod)
    books.hours(books.gpu("GPU-2"), TEN, TEN + HOUR, state="free")
    books.settle()
    by_gpu = {row["gpu"]: row for row in report("ledger", by="gpu")}
    assert by_gpu["GPU-1"]["busy_charge"] == "1.500000"
    assert by_gpu["GPU-1"]["free_charge"] == "0.500000"
    assert by_gpu["GPU-2"]["free_charge"] == "2.000000"
    for by in ("hour", "node", "cluster", "day", "model", "lifecycle"):
        total = sum(Decimal(row["wall_charge"]) for row in report("ledger", by=by))
        assert total == 4, by


def test_a_lifecycle_is_the_gpus_own_and_makes_no_difference(books: Books) -> None:
    books.configure(prices(({}, "2"), ({"lifecycle": "spot"}, "1")))
    held_hour(books, lifecycle="spot")
    books.settle()
    row = _ledger()
    assert (row["busy_charge"], row["free_charge"]) == ("1.000000", "0.000000")


def test_a_tier_with_a_price_of_its_own_on_a_gpu_without_one(books: Books) -> None:
    """The team knows what it pays; what the GPU is worth nobody knows: null, and an issue."""
    books.configure(prices(({"tier": "low"}, "1")))
    held_hour(books)
    books.settle()
    assert report("usage")[0]["charge"] == "1.000000"
    row = _ledger()
    assert row["wall_charge"] is None
    [issue] = DataIssue.objects.filter(code="unpriced_gpu", resolved_at=None)
    assert issue.at_stake_ms == HOUR_MS


def test_every_combination_is_conserved(books: Books) -> None:
    """Money of all states is milliseconds times the GPU's own rate, whatever teams pay."""
    books.configure(
        prices(
            *(({"lifecycle": "spot"}, "0.7"), ({}, "1.1")),
            *(({"tier": "low"}, "0.3"), ({"tier": "high"}, "9")),
        )
    )
    wanted = Decimal(0)
    for n, (lifecycle, tier) in enumerate(
        product(("spot", "on-demand"), ("low", "high", ""))
    ):
        gpu = books.gpu(f"GPU-{n}", lifecycle=lifecycle)
        pod = books.pod(f"pod-{n}", tier=tier)
        books.write(gpu, TEN, pod, busy=100_001 + n, idle=50_000, unknown=7)
        books.write(gpu, TEN, free=149_992 - n, stray=0)
        wanted += (Decimal("0.7") if lifecycle == "spot" else Decimal("1.1")) / 12
    books.settle()
    row = _ledger()
    assert row["wall_charge"] == f"{wanted:.6f}"
