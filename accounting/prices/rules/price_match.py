"""Which price applies to some GPU time (rules.md N24, N26, N27).

This is the rule over values. `accounting/prices/sql/price_sql.py` says the same in SQL, for facts
and rollups; a test compares both on random price books.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol, TypeVar


class PriceTerms(Protocol):
    """What a price sets: "" and a missing cluster match anything. Valid in [from, to)."""

    @property
    def model(self) -> Any:
        """Of the GPU."""

    @property
    def cluster_id(self) -> Any:
        """None matches any."""

    @property
    def profile(self) -> Any:
        """An empty text matches any."""

    @property
    def lifecycle(self) -> Any:
        """An empty text matches any."""

    @property
    def tier(self) -> Any:
        """An empty text matches any."""

    @property
    def valid_from(self) -> Any:
        """Its start."""

    @property
    def valid_to(self) -> Any:
        """Its end; None is open."""


P = TypeVar("P", bound=PriceTerms)


@dataclass(frozen=True, slots=True)
class PricedTime:
    """Time of a GPU, or of a part of it, that needs a price.

    Attributes:
        at: start of the window (N24).
        profile: of the MIG instance; "" for a whole GPU.
        tier: priority class of the pod; "" for none.
    """

    model: str
    cluster_id: int
    lifecycle: str
    at: datetime
    profile: str = ""
    tier: str = ""


def match_price(prices: Iterable[P], time: PricedTime) -> P | None:
    """The most specific of the matching prices; None if no price matches."""
    matching = [price for price in prices if _matches(price, time)]
    return max(matching, key=specificity, default=None)


def own_price(prices: Iterable[P], time: PricedTime) -> P | None:
    """The price of the whole GPU, for any pod on its parts: no profile and no tier."""
    return match_price(prices, replace(time, profile="", tier=""))


def specificity(price: PriceTerms) -> tuple[int, bool, bool, bool, bool]:
    """How much a price sets; ties in the order cluster, profile, lifecycle, tier (N26)."""
    sets = (
        price.cluster_id is not None,
        bool(price.profile),
        bool(price.lifecycle),
        bool(price.tier),
    )
    return (sum(sets), *sets)


def _matches(price: PriceTerms, time: PricedTime) -> bool:
    return (
        price.model == time.model
        and price.cluster_id in (None, time.cluster_id)
        and price.profile in ("", time.profile)
        and price.lifecycle in ("", time.lifecycle)
        and price.tier in ("", time.tier)
        and price.valid_from <= time.at
        and (price.valid_to is None or time.at < price.valid_to)
    )
