"""Prices by MIG profile (rules.md N26, N27): the books of one GPU cut into instances."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounting.core.interval import Interval, to_ms
from accounting.metering.models.cluster import Gpu, GpuGeometry, Node
from accounting.metering.models.ledger import DirtyHour
from accounting.metering.models.pod import Pod, PodHold
from accounting.months.reads.invariants.verify import verdicts
from accounting.months.tasks.price_effect import NewRate, price_effect
from accounting.prices.actions.prices import set_unit_price
from tests.integration.metering.support import report
from tests.integration.prices.books import TEN, WINDOW_MS, Books
from tests.integration.prices.test_price import HOUR, PARTS, prices

SMALL, LARGE = "1g.10gb", "3g.40gb"


def cut(gpu: Gpu, *instances: tuple[int, str], at: timedelta = -HOUR) -> None:
    GpuGeometry.objects.create(
        gpu=gpu, from_ms=to_ms(TEN + at), instances=[list(one) for one in instances]
    )


def mig_hour(books: Books) -> None:
    """An hour of a GPU: 3/7 held as 3g by `big`, 1/7 held as 1g by `small`, 3/7 free."""
    gpu = books.gpu()
    cut(gpu, (1, LARGE), (2, SMALL), (3, SMALL))
    big, small = books.pod("big", tier="low"), books.pod("small", tier="low")
    for n in range(12):
        at = TEN + n * timedelta(milliseconds=WINDOW_MS)
        third, seventh = 128_571, 42_857
        books.write(gpu, at, big, instance=1, busy=third)
        books.write(gpu, at, small, instance=2, idle=seventh)
        books.write(gpu, at, instance=3, free=WINDOW_MS - third - seventh)
    books.settle()


def charges() -> dict[str, str]:
    return {row["pod"]: row["charge"] for row in report("usage", by="pod")}


def conserved() -> None:
    """The money of the hour is 7 EUR, on rollups and on facts; `verify` says so too."""
    assert report("ledger")[0]["wall_charge"] == "7.000000"
    assert report("ledger", by="gpu")[0]["wall_charge"] == "7.000000"
    found = verdicts(Interval(to_ms(TEN), to_ms(TEN + HOUR)))
    [money] = [one for one in found if "money is conserved" in one.check.name]
    assert not money.violations


def test_without_a_price_by_profile_an_instance_pays_its_share(books: Books) -> None:
    books.configure(prices(({}, "7")))
    mig_hour(books)
    assert charges() == {"big": "2.999990", "small": "0.999997"}
    conserved()


def test_each_profile_pays_its_rate_and_the_platform_the_difference(
    books: Books,
) -> None:
    """A rate by profile is per whole GPU-hour: of 14 a 1g of 7 slices pays 1/7, not 14."""
    books.configure(
        prices(({}, "7"), ({"profile": SMALL}, "14"), ({"profile": LARGE}, "3.5"))
    )
    mig_hour(books)
    assert charges() == {"big": "1.499995", "small": "1.999993"}
    row = report("ledger")[0]
    # free 128,572 ms a window at 7, and what both rates differ, the other way round
    assert row["free_charge"] == "3.500012"
    conserved()


def test_a_price_for_another_profile_is_not_taken(books: Books) -> None:
    books.configure(prices(({}, "7"), ({"profile": "2g.20gb"}, "70")))
    mig_hour(books)
    assert charges() == {"big": "2.999990", "small": "0.999997"}
    conserved()


@pytest.mark.parametrize(
    ("parts", "profile_wins"),
    [(dict([PARTS[0]]), False), (dict([PARTS[2]]), True), (dict(PARTS), False)],
    ids=["cluster", "tier", "all-three"],
)
def test_a_profile_ranks_after_the_cluster_and_before_the_tier(
    books: Books, parts: dict[str, str], profile_wins: bool
) -> None:
    if "lifecycle" in parts:
        parts["lifecycle"] = "on-demand"
    books.configure(prices(({}, "7"), (parts, "21"), ({"profile": SMALL}, "14")))
    mig_hour(books)
    assert charges()["small"] == ("1.999993" if profile_wins else "2.999990")


def test_a_new_price_by_profile_rolls_its_hours_again(books: Books) -> None:
    books.configure(prices(({}, "7")))
    mig_hour(books)
    set_unit_price(
        model="NVIDIA-L40S",
        profile="1G.10GB",  # any spelling
        rate_per_gpu_hour=Decimal(14),
        cost_per_gpu_hour=None,
        currency="EUR",
        valid_from=TEN,
        actor="tests",
        reason="A new contract.",
    )
    assert list(DirtyHour.objects.values_list("hour_start", "reason")) == [
        (TEN, "price")
    ]
    books.settle()
    assert report("usage")[0]["charge"] == "4.999983"  # 2.99999 + 1.999993
    assert charges() == {"big": "2.999990", "small": "1.999993"}
    conserved()


@pytest.mark.parametrize(
    ("parts", "difference"),
    [
        ({}, "1.00"),  # 1/7 of an hour at 14 in place of 7
        ({"lifecycle": "spot"}, "0"),  # the GPU is on demand
        ({"tier": "low"}, "1.00"),
    ],
    ids=["profile", "spot", "tier"],
)
def test_what_a_price_by_profile_changes_is_shown_before(
    books: Books, parts: dict[str, str], difference: str
) -> None:
    """What is shown is what the books then say; no price by profile was there before."""
    books.configure(prices(({}, "7")))
    mig_hour(books)
    before = sum(Decimal(one) for one in charges().values())
    asked = {"model": "NVIDIA-L40S", "profile": SMALL, **parts}
    new = NewRate(**asked, rate=Decimal(14), currency="EUR", valid_from=TEN)  # type: ignore[arg-type]
    shown = price_effect(new, places=2)
    of_teams = sum(one.difference for one in shown.teams if one.team != "platform")
    assert (of_teams, shown.days) == (
        Decimal(difference),
        int(difference != "0"),
    )
    set_unit_price(
        **asked,  # type: ignore[arg-type]
        rate_per_gpu_hour=Decimal(14),
        cost_per_gpu_hour=None,
        currency="EUR",
        valid_from=TEN,
        actor="tests",
        reason="A new contract.",
    )
    books.settle()
    after = sum(Decimal(one) for one in charges().values())
    assert round(after - before, 2) == Decimal(difference)


def test_a_price_by_profile_leaves_what_goes_before_it(books: Books) -> None:
    """A price of the cluster goes before one of a profile (N26): nothing would change."""
    books.configure(prices(({}, "7"), (dict([PARTS[0]]), "21")))
    mig_hour(books)
    shown = price_effect(
        NewRate("NVIDIA-L40S", Decimal(14), "EUR", TEN, profile=SMALL), places=2
    )
    assert (shown.total, shown.teams) == (Decimal(0), ())


def test_a_window_takes_the_profile_that_its_instance_had_at_its_start(
    books: Books,
) -> None:
    """Number 1 is 3g until 10:32, then 1g: the window of 10:30 is still of 3g (N24)."""
    books.configure(
        prices(({}, "7"), ({"profile": SMALL}, "14"), ({"profile": LARGE}, "28"))
    )
    gpu, pod = books.gpu(), books.pod()
    cut(gpu, (1, LARGE), at=timedelta(minutes=2))  # first known inside the window
    cut(gpu, at=timedelta(minutes=32))  # whole for a minute
    cut(gpu, (1, SMALL), at=timedelta(minutes=33))
    for n in range(12):
        at = TEN + n * timedelta(milliseconds=WINDOW_MS)
        books.write(gpu, at, pod, instance=1, busy=WINDOW_MS)
    books.settle()
    # 7 windows of 28 and 5 of 14 an hour
    assert charges() == {"train": "22.166667"}
    assert report("usage")[0]["charge"] == "22.166667"
    conserved()


def hold(pod: Pod, resource: str, bound: timedelta) -> None:
    PodHold.objects.create(
        pod=pod,
        node=Node.objects.get(),
        resource=resource,
        units=1,
        share_numerator=1,
        share_denominator=7,
        bound_ms=to_ms(TEN + bound),
        booked_until_ms=to_ms(TEN + HOUR),
    )


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb"),
        ("nvidia.com/mig-1g.10gb.shared", "nvidia.com/mig-3g.40gb.shared"),
        ("nvidia.com/gpu", "nvidia.com/gpu"),  # the single strategy
    ],
)
def test_a_number_that_is_used_again_in_a_window_is_of_two_profiles(
    books: Books, first: str, then: str
) -> None:
    """Number 1 is 1g until 10:02:30, then 3g: each pod pays the profile that it held."""
    books.configure(
        prices(({}, "7"), ({"profile": SMALL}, "14"), ({"profile": LARGE}, "28"))
    )
    gpu, old, new = books.gpu(), books.pod("old"), books.pod("new")
    cut(gpu, (1, SMALL))
    cut(gpu, (1, LARGE), at=timedelta(minutes=2, seconds=30))
    books.write(gpu, TEN, old, instance=1, busy=WINDOW_MS // 2)
    books.write(gpu, TEN, new, instance=1, busy=WINDOW_MS // 2)
    hold(old, first, -HOUR)
    hold(new, then, timedelta(minutes=2))
    books.settle()
    # 150 s of 14 and of 28 an hour
    assert charges() == {"old": "0.583333", "new": "1.166667"}
    assert report("usage", by="team")[0]["charge"] == "1.750000"
