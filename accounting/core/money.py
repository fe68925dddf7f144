"""Amounts with a currency, and the decimal places of currencies (ISO 4217 minor units)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from accounting.core.rounding import Key, half_even, split_money

_PLACES = {
    code: places
    for places, codes in (
        (0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"),
        (3, "BHD IQD JOD KWD LYD OMR TND"),
        (4, "CLF UYW"),
    )
    for code in codes.split()
}


def minor_places(currency: str) -> int:
    """Decimal places of a currency; 2 unless ISO 4217 has another number."""
    return _PLACES.get(currency, 2)


class CurrencyError(ValueError):
    """Amounts of different currencies cannot be added."""


_set = object.__setattr__


@dataclass(frozen=True, slots=True, init=False)
class Money:
    """An exact amount in a currency. Only zero may have none: it adds to any currency.

    Raises:
        TypeError: the amount is not a Decimal; a float is not exact.
        ValueError: an amount without a currency.
    """

    amount: Decimal
    currency: str

    def __init__(self, amount: Decimal, currency: str) -> None:
        # by hand: a page makes 60,000, and the generated one takes twice as long
        if not isinstance(amount, Decimal):
            raise TypeError(f"{amount!r} is not a Decimal")
        if amount and not currency:
            raise ValueError(f"{amount} has no currency")
        _set(self, "amount", amount)
        _set(self, "currency", currency)

    def __add__(self, other: "Money") -> "Money":
        return Money(self.amount + other.amount, self._common(other))

    def __sub__(self, other: "Money") -> "Money":
        return Money(self.amount - other.amount, self._common(other))

    @property
    def cell(self) -> tuple[Decimal, str]:
        """The amount and currency, for a list that is rounded again."""
        return self.amount, self.currency

    def __str__(self) -> str:
        """`EUR 12,345.00`, with the decimal places of the currency."""
        shown = self.rounded()
        return f"{self.currency} {shown.amount:,.{minor_places(self.currency)}f}"

    def rounded(self) -> "Money":
        """Rounded half-even to the currency's decimal places; lists use `split_money`."""
        places = minor_places(self.currency)
        return Money(half_even(self.amount, places), self.currency)

    def _common(self, other: "Money") -> str:
        mine, theirs = self.currency, other.currency
        if mine != theirs and mine and theirs:
            raise CurrencyError(f"{mine} and {theirs} have no sum")
        return mine or theirs


NOTHING = Money(Decimal(0), "")


Cell = tuple[Fraction | Decimal, str]  # an unrounded amount and its currency


def sum_money(several: Iterable[Money | None]) -> Money | None:
    """The sum of the known amounts.

    None if no amount is known, or if there are several currencies. The sum of an empty list is
    zero.
    """
    found = list(several)
    known = [one for one in found if one is not None]
    currencies = {one.currency for one in known} - {""}
    if (found and not known) or len(currencies) > 1:
        return None
    return Money(sum((one.amount for one in known), Decimal(0)), "".join(currencies))


def money_of_time(parts: Iterable[tuple[int, Money | None]]) -> Money | None:
    """The money of several times together, in milliseconds each (rules.md N26).

    None if none of the time has a price (a time of 0 costs nothing and says nothing of the rest),
    or if there are several currencies. Of no parts it is zero.
    """
    found = list(parts)
    is_known = any(
        amount is not None and (time or amount.amount) for time, amount in found
    )
    if not is_known and any(amount is None for _, amount in found):
        return None
    return sum_money(amount for _, amount in found)


def sums_by_currency(several: Iterable[Money]) -> tuple[Money, ...]:
    """The sums of amounts, one for each currency, in their order; () if there are none."""
    sums: dict[str, Money] = {}
    for one in several:
        sums[one.currency] = sums.get(one.currency, NOTHING) + one
    return tuple(sums.values())


def split_list(
    cells: Mapping[Key, Cell],
    places: int = 6,
    divisor: int = 1,
    total: Money | None = None,
) -> dict[Key, Money]:
    """Rounded amounts that add up to their total; each currency is a list.

    Args:
        cells: amounts by key.
        places, divisor: as for `split_money`.
        total: total of the list by currency, if another list has rounded it already.
    """
    lists: dict[str, dict[Key, Fraction | Decimal]] = {}
    for key, (amount, currency) in cells.items():
        lists.setdefault(currency, {})[key] = amount
    found: dict[Key, Money] = {}
    for currency, one in lists.items():
        is_given = total is not None and total.currency == currency
        given = amount_of(total) if is_given else None
        amounts = split_money(one, places, divisor, given)
        found |= {key: Money(amount, currency) for key, amount in amounts.items()}
    return found


def amount_of(money: Money | None) -> Decimal | None:
    """Only the number, for sorting, ratios and charts."""
    return money.amount if money is not None else None
