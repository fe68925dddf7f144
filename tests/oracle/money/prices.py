"""Prices of time and their conversion (docs/money.md, M11 and M13-M16)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from tests.oracle.money.months import LONGEST, Calendar

FIELDS = ("cluster", "profile", "lifecycle", "tier")


@dataclass(frozen=True)
class Price:
    """A price that counts for some time; without a conversion, `fx` is None."""

    profile: str
    currency: str
    rate: Fraction
    fx: Fraction | None

    @property
    def converted(self) -> Fraction | None:
        return None if self.fx is None else self.rate * self.fx


@dataclass(frozen=True)
class PriceBook:
    """Rates and conversions of a world."""

    world: Mapping[str, Any]
    calendar: Calendar

    def match(
        self, fact: Mapping[str, Any], at: datetime, *, own: bool
    ) -> Price | None:
        """The most specific price; an own price has neither profile nor tier."""
        best: tuple[tuple[int, ...], Mapping[str, Any]] | None = None
        for price in self.world["prices"]:
            if price["kind"] != "rate" or not self._fits(price, fact, at):
                continue
            if own and (price["profile"] or price["tier"]):
                continue
            sets = [int(bool(price[name])) for name in FIELDS]
            rank = (sum(sets), *sets)
            if best is None or rank > best[0]:
                best = rank, price
        return self._price(best[1], self.calendar.day(at)) if best else None

    def _fits(
        self, price: Mapping[str, Any], fact: Mapping[str, Any], at: datetime
    ) -> bool:
        if price["model"] != fact["model"]:
            return False
        if any(price[name] and price[name] != fact[name] for name in FIELDS):
            return False
        if price["lifecycle"] and fact["lifecycle"] == "unknown":
            return False
        if at < self.calendar.instant(price["valid_from"]):
            return False
        until = price["valid_to"]
        return not until or at < self.calendar.instant(until)

    def _price(self, price: Mapping[str, Any], day: date) -> Price:
        rate = Fraction(price["per_gpu_hour"])
        fx = self._conversion(price["currency"], day)
        return Price(price["profile"], price["currency"], rate, fx)

    def _conversion(self, currency: str, day: date) -> Fraction | None:
        billing = self.world["billing"][0]["currency"]
        if currency == billing:
            return Fraction(1)
        rates = {
            date.fromisoformat(row["on"]): Fraction(row["rate"])
            for row in self.world["conversions"]
            if (row["from"], row["to"]) == (currency, billing)
            and date.fromisoformat(row["on"]) <= day
        }
        if not rates or day - max(rates) > LONGEST:
            return None
        return rates[max(rates)]
