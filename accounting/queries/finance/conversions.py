"""Conversion rates, as they are listed."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from accounting.access import Scope
from accounting.models import ConversionRate
from accounting.queries.paging import ALL_ROWS, Key, Seek, seek_rows


@dataclass(frozen=True, slots=True)
class ConversionRow:
    """A unit of a currency in another one, from a day on."""

    id: int
    from_currency: str
    to_currency: str
    on: date
    rate: Decimal


def conversion_key(row: ConversionRow) -> Key:
    """The position of a rate in `conversion_rows`."""
    return row.from_currency, row.to_currency, row.on.isoformat(), row.id


def conversion_row(row: ConversionRate) -> ConversionRow:
    """One rate."""
    return ConversionRow(
        row.pk, row.from_currency, row.to_currency, row.on, row.rate.normalize()
    )


def conversion_rows(scope: Scope, seek: Seek = ALL_ROWS) -> list[ConversionRow]:
    """Every rate by its currencies and day, for everybody who may read prices."""
    if not scope.sees_any:
        return []
    order = ("from_currency", "to_currency", "on", "pk")
    return [
        conversion_row(row)
        for row in seek_rows(ConversionRate.objects.all(), order, seek)
    ]
