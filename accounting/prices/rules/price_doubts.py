"""Prices that are probably mistakes: warned about, never refused (money.md M13)."""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from itertools import product
from typing import Any

from accounting.prices.rules.price_match import PricedTime, match_price

MOST_TIMES = 10  # from the price before it
Sets = tuple[Any, ...]
Convert = Callable[[str, datetime], Decimal | None]
"""The conversion of a currency into the billing currency at an instant; None for none."""


class Doubt(StrEnum):
    """Why a price is probably a mistake."""

    ZERO = "zero"
    HIGH = "over_ten_times"
    LOW = "under_a_tenth"


@dataclass(frozen=True, slots=True)
class DatedPrice:
    """A price of the book or a new one; valid in [from, to).

    Attributes:
        cluster_id: an id or a name, the same for all; None for any cluster.
        rate_per_gpu_hour: the price, whatever its kind.
    """

    kind: str
    model: str
    cluster_id: Any
    profile: str
    lifecycle: str
    tier: str
    rate_per_gpu_hour: Decimal
    currency: str
    valid_from: datetime
    valid_to: datetime | None = None

    @property
    def sets(self) -> Sets:
        """Its kind and what it sets."""
        return (
            *(self.kind, self.model, self.cluster_id),
            *(self.profile, self.lifecycle, self.tier),
        )


@dataclass(frozen=True, slots=True)
class PriceDoubt:
    """A doubt about one price.

    Attributes:
        before: the price before it; None for a price of 0.
    """

    doubt: Doubt
    before: DatedPrice | None = None

    @property
    def text(self) -> str:
        """A sentence for people."""
        if self.before is None:
            return "The price is 0: this time is free of charge."
        than = (
            "more than 10 times" if self.doubt is Doubt.HIGH else "less than a tenth of"
        )
        old = f"{self.before.currency} {self.before.rate_per_gpu_hour.normalize():f}"
        return f"The price is {than} the price before it ({old})."


class KnownPrices:
    """Prices by what they set, to find the one before a new price."""

    def __init__(self, prices: Iterable[DatedPrice]) -> None:
        self._by_sets: dict[Sets, list[DatedPrice]] = defaultdict(list)
        for price in prices:
            insort(self._by_sets[price.sets], price, key=_start)

    def before(self, new: DatedPrice) -> DatedPrice | None:
        """The price before a new one; None without any.

        It is the latest other one that sets the same and begins at or before its start. Without
        one, it is the price that applies at its start to time that has just what it sets.
        """
        same = self._latest(new.sets, new)
        if same is not None:
            return same
        fewer = product(
            *({one, none} for one, none in zip(new.sets[2:], _ANY, strict=True))
        )
        wider = [self._latest((new.kind, new.model, *one), new) for one in fewer]
        time = PricedTime(
            *(new.model, new.cluster_id, new.lifecycle, new.valid_from),
            *(new.profile, new.tier),
        )
        return match_price([one for one in wider if one is not None], time)

    def _latest(self, sets: Sets, new: DatedPrice) -> DatedPrice | None:
        known = self._by_sets.get(sets, ())
        number = bisect_right(known, new.valid_from, key=_start)
        while number and known[number - 1] is new:
            number -= 1
        return known[number - 1] if number else None


_ANY = (None, "", "", "")  # a cluster, profile, lifecycle and tier that match anything


def _start(price: DatedPrice) -> datetime:
    return price.valid_from


def doubt_of(
    new: DatedPrice, before: DatedPrice | None, convert: Convert
) -> PriceDoubt | None:
    """A doubt about a price; None for none.

    Prices in two currencies are compared by their conversions at the start of the new one (M16);
    without one of them they are not compared.
    """
    if not new.rate_per_gpu_hour:
        return PriceDoubt(Doubt.ZERO)
    if before is None or not before.rate_per_gpu_hour:
        return None
    ours: Decimal | None = Decimal(1)
    theirs: Decimal | None = Decimal(1)
    if new.currency != before.currency:
        ours = convert(new.currency, new.valid_from)
        theirs = convert(before.currency, new.valid_from)
    if ours is None or theirs is None:
        return None
    price, old = new.rate_per_gpu_hour * ours, before.rate_per_gpu_hour * theirs
    if price > MOST_TIMES * old:
        return PriceDoubt(Doubt.HIGH, before)
    return PriceDoubt(Doubt.LOW, before) if price * MOST_TIMES < old else None
