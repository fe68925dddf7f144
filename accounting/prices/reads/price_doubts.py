"""New prices against the one before each of them (money.md M13, M16)."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal

from accounting.access.reads.billing_settings import billing_at, billing_day
from accounting.prices.models.conversion import ConversionRate
from accounting.prices.models.price import UnitPrice
from accounting.prices.rules.conversion import conversion_of
from accounting.prices.rules.price_doubts import (
    DatedPrice,
    KnownPrices,
    PriceDoubt,
    doubt_of,
)


def price_doubts(
    new: Sequence[DatedPrice], book: Iterable[DatedPrice]
) -> list[PriceDoubt | None]:
    """The doubt about each new price, None for none.

    Args:
        new: compared with each other, too.
        book: the prices that are known.
    """
    known = KnownPrices([*book, *new])
    conversions = _Conversions()
    return [doubt_of(one, known.before(one), conversions.at) for one in new]


def booked_prices(kind: str, model: str) -> list[DatedPrice]:
    """The prices of a kind and model in the book."""
    return [dated(row) for row in UnitPrice.objects.filter(kind=kind, model=model)]


def dated(row: UnitPrice) -> DatedPrice:
    """One price of the book, with the id of its cluster."""
    return DatedPrice(
        *(row.kind, row.model, row.cluster_id, row.profile, row.lifecycle, row.tier),
        *(row.rate_per_gpu_hour, row.currency, row.valid_from, row.valid_to),
    )


class _Conversions:
    """Conversions into the billing currency, read when the first one is needed."""

    def __init__(self) -> None:
        self._rows: list[ConversionRate] | None = None

    def at(self, currency: str, instant: datetime) -> Decimal | None:
        """The conversion of a currency on the billing day of an instant."""
        if self._rows is None:
            self._rows = list(ConversionRate.objects.all())
        to = billing_at(instant).currency
        return conversion_of(self._rows, currency, to, billing_day(instant))
