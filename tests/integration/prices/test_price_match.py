"""The SQL of prices and money against the rule over values, on random price books and facts.

`accounting/*/rules` is the reference: for each five-minute fact it finds the price and
the exact money. Rollups, reports, the preview of a price and hours that are priced again must
agree with it: the same price ids, and the same raw money to the last digit.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounting.access.models.billing import Billing
from accounting.access.scope import EVERYTHING
from accounting.core.interval import Interval, to_ms
from accounting.core.ledger_line import HELD_STATES, PLATFORM_STATES
from accounting.kit.reads.selection import Selection
from accounting.metering.models.cluster import Cluster, Gpu, GpuGeometry
from accounting.metering.models.pod import Pod
from accounting.metering.sql.states_sql import held, wall
from accounting.metering.tasks.facts import partitions
from accounting.months.tasks.price_effect import NewRate, price_effect
from accounting.prices.actions.prices import PriceOverlapError, set_unit_price
from accounting.prices.models.price import UnitPrice
from accounting.prices.rules.charge import (
    charge_of,
    difference_of,
    raw_of,
    split_charges,
)
from accounting.prices.rules.price_match import PricedTime, match_price, own_price
from accounting.prices.rules.price_placing import PriceMeetsError
from accounting.prices.sql.charge_sql import difference, raw
from accounting.usage.reads.ledger import ledger_total
from accounting.usage.reads.usage import usage_rows
from accounting.usage.tasks.rollup import price_hour_again, roll_up_days, roll_up_hours
from tests.euros import added, number
from tests.integration.prices.books import TEN, WINDOW_MS, Books

Terms = dict[str, Any]  # of a price
HOUR = timedelta(hours=1)
WINDOW = timedelta(milliseconds=WINDOW_MS)
MODELS = ("NVIDIA-L40S", "NVIDIA-A10")
LIFECYCLES = ("spot", "on-demand", "unknown")
TIERS = ("", "low", "high")
SMALL, LARGE = "1g.6gb", "2g.12gb"
BORDERS = [TEN + n * 3 * WINDOW for n in range(-1, 6)]


@dataclass(frozen=True)
class Line:
    """One five-minute fact, by names of the world."""

    gpu: int
    pod: int | None
    window: int
    instance: int
    states: tuple[int, ...]


@dataclass
class World:
    """Two clusters, GPUs of every model and lifecycle, and a pod of each tier in each."""

    gpus: list[Gpu] = field(default_factory=list)
    lifecycles: dict[int, str] = field(default_factory=dict)
    pods: dict[int, list[Pod]] = field(default_factory=dict)  # by cluster


@pytest.fixture
def world(books: Books) -> World:
    """It stays for all examples of a test; prices and facts are of one example."""
    found = World()
    # once, not within an example, which is rolled back
    partitions.ensure(partitions.ALL, TEN - 48 * HOUR, TEN + 48 * HOUR)
    for cluster, model, lifecycle in product(("north", "south"), MODELS, LIFECYCLES):
        gpu = books.gpu(
            f"{cluster}-{model}-{lifecycle}",
            model=model,
            lifecycle=lifecycle,
            cluster=cluster,
        )
        GpuGeometry.objects.create(
            gpu=gpu, from_ms=to_ms(TEN - HOUR), instances=[[1, SMALL], [2, LARGE]]
        )
        found.gpus.append(gpu)
        found.lifecycles[gpu.pk] = lifecycle
    for home in Cluster.objects.all():
        found.pods[home.pk] = [
            books.pod(f"{home.name}-{tier}", tier=tier, on=home.name) for tier in TIERS
        ]
    return found


@st.composite
def price_books(draw: st.DrawFn) -> list[Terms]:
    """Prices of which no two set the same and overlap, as the table demands.

    What they set is often all that a fact has, so that many match and ties are common.
    """
    found: list[Terms] = []
    sets = st.tuples(
        st.sampled_from(MODELS),
        st.sampled_from((None, "north")),
        st.sampled_from(("", SMALL)),
        st.sampled_from(("", "spot")),
        st.sampled_from(("", "low")),
    )
    for model, cluster, profile, lifecycle, tier in draw(
        st.lists(sets, max_size=16, unique=True)
    ):
        cuts = sorted(
            draw(
                st.lists(st.sampled_from(BORDERS), min_size=1, max_size=2, unique=True)
            )
        )
        last = draw(st.sampled_from((None, BORDERS[-1] + HOUR)))
        ends = [*cuts[1:], last][: len(cuts)]
        for start, end in zip(cuts, ends, strict=True):
            found.append(
                {
                    "model": model,
                    "cluster": cluster,
                    "profile": profile,
                    "lifecycle": lifecycle,
                    "tier": tier,
                    "valid_from": start,
                    "valid_to": end,
                    "rate": draw(st.decimals(0, 999_999, places=6)),
                }
            )
    return found


@st.composite
def lines(draw: st.DrawFn) -> list[Line]:
    """Facts of one hour: at most one for a GPU, instance, pod and window."""
    keys = st.tuples(
        st.sampled_from((*[0] * 12, *range(12))),  # the first matches every price
        st.sampled_from((1, 1, 1, 0, 2, None)),
        st.integers(0, 11),
        st.sampled_from((1, 1, 2, -1)),
    )
    return [
        Line(
            *key,
            tuple(
                draw(st.integers(0, WINDOW_MS // 3))
                for _ in (PLATFORM_STATES if key[1] is None else HELD_STATES)
            ),
        )
        for key in draw(st.lists(keys, min_size=1, max_size=12, unique=True))
    ]


def set_prices(book: list[Terms]) -> None:
    """Write a price book."""
    clusters = {cluster.name: cluster for cluster in Cluster.objects.all()}
    for terms in book:
        sets = {k: v for k, v in terms.items() if k not in ("cluster", "rate")}
        UnitPrice.objects.create(
            **sets,
            cluster=clusters.get(str(terms["cluster"])),
            currency="EUR",
            rate_per_gpu_hour=terms["rate"],
        )


def store(books: Books, world: World, book: list[Terms], all_: list[Line]) -> None:
    """Write an example's prices and facts, and roll its hour and day up."""
    set_prices(book)
    with books.together():
        for line in all_:
            gpu = world.gpus[line.gpu]
            pod = None if line.pod is None else world.pods[gpu.cluster_id][line.pod]
            names = PLATFORM_STATES if pod is None else HELD_STATES
            books.write(
                gpu,
                TEN + line.window * WINDOW,
                pod,
                instance=line.instance,
                **dict(zip(names, line.states, strict=True)),
            )
    for cluster in Cluster.objects.all():
        roll_up_days(
            cluster.pk, sorted(roll_up_hours(cluster.pk, Interval.of(TEN, TEN + HOUR)))
        )


@dataclass(frozen=True)
class Priced:
    """A fact with its prices by the rule over values."""

    cluster: int
    line: UnitPrice | None
    own: UnitPrice | None
    is_held: bool
    milliseconds: int

    @property
    def wall_raw(self) -> Fraction:
        """The money of the ledger: none where one of the two prices is missing (N27)."""
        if self.line is None or self.own is None:
            return Fraction(0)
        found = raw_of(self.milliseconds, self.line.rate_per_gpu_hour)
        if self.is_held:
            rates = (self.line.rate_per_gpu_hour, self.own.rate_per_gpu_hour)
            found += difference_of(self.milliseconds, *rates)
        return found


def reference(world: World, all_: list[Line]) -> list[Priced]:
    """Each fact with its prices; nobody's time keeps the GPU's own price, whatever its part."""
    prices = list(UnitPrice.objects.all())
    profiles = {-1: "", 1: SMALL, 2: LARGE}
    found = []
    for line in all_:
        gpu = world.gpus[line.gpu]
        time = PricedTime(
            gpu.model,
            gpu.cluster_id,
            world.lifecycles[gpu.pk],
            TEN + line.window * WINDOW,
            profile="" if line.pod is None else profiles[line.instance],
            tier="" if line.pod is None else TIERS[line.pod],
        )
        found.append(
            Priced(
                gpu.cluster_id,
                match_price(prices, time),
                own_price(prices, time),
                line.pod is not None,
                sum(line.states),
            )
        )
    return found


def by_price(facts: list[Priced]) -> Counter[tuple[int, int, int, bool]]:
    """Milliseconds by cluster, price ids and whether a pod held them."""
    found: Counter[tuple[int, int, int, bool]] = Counter()
    for one in facts:
        ids = (one.line.pk if one.line else 0, one.own.pk if one.own else 0)
        found[one.cluster, *ids, one.is_held] += one.milliseconds
    return +found


def stored_by_price() -> Counter[tuple[int, int, int, bool]]:
    """The same of the rolled-up hour."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT cluster_id, price_id, gpu_price_id, namespace_id <> 0,
                       sum({wall()})::bigint
                FROM usage_hour GROUP BY 1, 2, 3, 4"""  # noqa: S608  # of this project
        )
        return +Counter({tuple(key): ms for *key, ms in cursor.fetchall()})


def stored_raw() -> tuple[Fraction, Fraction]:
    """What teams are charged, and the price of all time, raw, by the project's SQL."""
    both = f"{raw(wall('u'))} + {difference(held('u'))}"
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT coalesce(sum({raw(held("u"))}), 0), coalesce(sum({both}), 0)
                FROM usage_hour u"""  # noqa: S608  # of this project
        )
        charged, everything = cursor.fetchone()
    return Fraction(charged), Fraction(everything)


def check(facts: list[Priced]) -> None:
    """The stored hour, and reports of it, are what the rule says."""
    assert stored_by_price() == by_price(facts)
    charged = sum(
        (
            raw_of(one.milliseconds, one.line.rate_per_gpu_hour)
            for one in facts
            if one.is_held and one.line
        ),
        Fraction(0),
    )
    everything = sum((one.wall_raw for one in facts), Fraction(0))
    assert stored_raw() == (charged, everything)


def compare_reports(facts: list[Priced]) -> None:
    """Reports of rollups and of facts round the reference's raw money once."""
    everything = sum((one.wall_raw for one in facts), Fraction(0))
    total = ledger_total(Selection(EVERYTHING))
    assert number(total.wall_charge) == charge_of(everything)
    exact: dict[str, Fraction] = defaultdict(Fraction)
    for one in facts:
        if one.is_held and one.line:
            name = Cluster.objects.get(pk=one.cluster).name
            exact[name] += raw_of(one.milliseconds, one.line.rate_per_gpu_hour)
    cells: dict[str, Fraction | Decimal] = {**exact}
    expected = sum(split_charges(cells).values(), Decimal(0))
    for by in (("cluster",), ("gpu",)):  # of rollups, of facts
        rows = usage_rows(Selection(EVERYTHING), by)
        assert added(row.charge for row in rows) == expected


RANDOM = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)


@RANDOM
@given(book=price_books(), all_=lines())
def test_rollups_and_reports_price_as_the_rule_over_values(
    books: Books, world: World, book: list[Terms], all_: list[Line]
) -> None:
    with transaction.atomic():
        store(books, world, book, all_)
        facts = reference(world, all_)
        check(facts)
        compare_reports(facts)
        transaction.set_rollback(True)


@RANDOM
@given(
    book=price_books(),
    after=price_books(),
    all_=lines().map(lambda found: [line for line in found if line.instance == -1]),
)
def test_hours_without_facts_are_priced_again_by_the_same_rule(
    books: Books,
    world: World,
    book: list[Terms],
    after: list[Terms],
    all_: list[Line],
) -> None:
    """One price for the hour: it keeps no windows (N32), and no profile of a whole GPU."""
    start: datetime = TEN
    for terms in after:
        terms |= {"valid_from": start - HOUR, "valid_to": None}
    unique = {
        tuple(
            terms[k] for k in ("model", "cluster", "profile", "lifecycle", "tier")
        ): terms
        for terms in after
    }
    with transaction.atomic():
        store(books, world, book, all_)
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM usage_window")
        UnitPrice.objects.all().delete()
        set_prices(list(unique.values()))
        clusters = {world.gpus[line.gpu].cluster_id for line in all_}
        for cluster in clusters:
            price_hour_again(cluster, TEN)
        check(reference(world, all_))
        transaction.set_rollback(True)


@RANDOM
@given(
    book=price_books(),
    more=price_books().filter(bool),
    span=st.sampled_from(
        [
            (TEN, None),
            (TEN, TEN + HOUR / 4),
            (TEN + WINDOW, None),
            (BORDERS[2], BORDERS[4]),
        ]
    ),
    all_=lines(),
)
def test_the_preview_of_a_price_is_what_the_rule_changes(
    books: Books,
    world: World,
    book: list[Terms],
    more: list[Terms],
    span: tuple[datetime, datetime | None],
    all_: list[Line],
) -> None:
    """A new price in its time, against the same book with it: each team's raw money."""
    terms = more[0] | {"valid_from": span[0], "valid_to": span[1]}
    with transaction.atomic():
        Billing.objects.create(
            currency="EUR", timezone="UTC", valid_from=TEN - 48 * HOUR
        )
        store(books, world, book, all_)
        cluster = Cluster.objects.filter(name=str(terms["cluster"])).first()
        sets = {k: v for k, v in terms.items() if k not in ("cluster", "rate")}
        rate = NewRate(
            **sets,
            cluster_id=cluster.pk if cluster else None,
            rate=terms["rate"],
            currency="EUR",
        )
        before = reference(world, all_)
        try:
            found = price_effect(rate, places=6)
        except PriceMeetsError:
            with pytest.raises(PriceOverlapError), transaction.atomic():
                add(terms, cluster)
            transaction.set_rollback(True)
            return
        add(terms, cluster)
        change = Fraction(0)
        for old, new in zip(before, reference(world, all_), strict=True):
            if old.is_held:
                change += raw_at(new) - raw_at(old)
        raw = found.raw or {}
        assert change == sum(
            Fraction(amount) for (_, team), amount in raw.items() if team != "platform"
        )
        assert found.total == charge_of(sum(map(Fraction, raw.values()), Fraction(0)))
        transaction.set_rollback(True)


def add(terms: Terms, cluster: Cluster | None) -> None:
    """Save a price as people do."""
    sets = {k: v for k, v in terms.items() if k not in ("cluster", "rate")}
    set_unit_price(
        **sets,
        cluster=cluster,
        rate_per_gpu_hour=terms["rate"],
        cost_per_gpu_hour=None,
        currency="EUR",
        actor="tests",
        reason="A new contract.",
    )


def raw_at(one: Priced) -> Fraction:
    return difference_of(
        one.milliseconds,
        Decimal(0),
        one.line.rate_per_gpu_hour if one.line else Decimal(0),
    )
