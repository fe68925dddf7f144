"""Which price applies, by hand (N24, N26, N27).

Against the SQL: `tests/integration/prices/test_price_match.py`.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest

from accounting.prices.rules.price_match import (
    PricedTime,
    match_price,
    own_price,
    specificity,
)

TEN = datetime(2026, 10, 6, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)


@dataclass
class Price:
    """A price with an open end that matches anything of a model."""

    model: str = "L40S"
    cluster_id: int | None = None
    profile: str = ""
    lifecycle: str = ""
    tier: str = ""
    valid_from: datetime = TEN
    valid_to: datetime | None = None


TIME = PricedTime("L40S", 1, "spot", TEN, profile="1g.6gb", tier="low")
SETS = {"cluster_id": 1, "profile": "1g.6gb", "lifecycle": "spot", "tier": "low"}
ORDER = list(SETS)  # of ties (N26)
CHOICES = [set(some) for size in range(5) for some in combinations(ORDER, size)]


def price(names: set[str]) -> Price:
    return Price(**{name: SETS[name] for name in names})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "names", CHOICES, ids=lambda names: "+".join(sorted(names)) or "plain"
)
def test_the_price_that_sets_more_goes_first(names: set[str]) -> None:
    for other in CHOICES:
        best = max(
            (names, other),
            key=lambda some: (len(some), [name in some for name in ORDER]),
        )
        assert match_price([price(names), price(other)], TIME) == price(best)


@pytest.mark.parametrize(
    "other",
    [
        {"model": "L40"},
        {"cluster_id": 2},
        {"profile": "2g.12gb"},
        {"lifecycle": "on-demand"},
        {"tier": "high"},
        {"valid_from": TEN + HOUR},
        {"valid_from": TEN - HOUR, "valid_to": TEN},
    ],
)
def test_a_price_for_something_else_does_not_match(other: dict[str, object]) -> None:
    assert match_price([replace(Price(), **other)], TIME) is None  # type: ignore[arg-type]


def test_an_unknown_lifecycle_and_no_tier_match_prices_without_them() -> None:
    time = replace(TIME, lifecycle="unknown", tier="")
    prices = [Price(lifecycle="spot"), Price(tier="low")]
    assert match_price(prices, time) is None
    assert match_price([*prices, Price()], time) == Price()


def test_the_own_price_knows_no_profile_and_no_tier() -> None:
    plain, spot = Price(), Price(lifecycle="spot")
    some = [plain, spot, Price(profile="1g.6gb"), Price(tier="low", cluster_id=1)]
    assert own_price(some, TIME) == spot
    assert own_price(some[2:], TIME) is None


def test_validity_is_half_open() -> None:
    first = Price(valid_to=TEN + HOUR)
    later = Price(valid_from=TEN + HOUR)
    assert match_price([first, later], TIME) == first
    assert match_price([first, later], replace(TIME, at=TEN + HOUR)) == later


def test_specificity_counts_before_it_orders() -> None:
    assert specificity(price({"lifecycle", "tier"})) > specificity(
        price({"cluster_id"})
    )
