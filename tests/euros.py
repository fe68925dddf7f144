"""Amounts of money as tests write and add them: in euros."""

from collections.abc import Iterable
from decimal import Decimal

from accounting.core.money import Money


def eur(amount: str | int | Decimal) -> Money:
    """An amount in euros."""
    return Money(Decimal(amount), "EUR")


def number(money: Money | None) -> Decimal:
    """The number alone; 0 where it is not known."""
    return Decimal(0) if money is None else money.amount


def added(several: Iterable[Money | None]) -> Decimal:
    """The sum of what is known, as a number."""
    return sum(map(number, several), Decimal(0))
