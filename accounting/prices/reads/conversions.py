"""Conversion rates, as they are listed."""

from datetime import date
from decimal import Decimal
from typing import Annotated

from accounting.access.scope import Scope
from accounting.core.decimal_text import plain
from accounting.kit.reads.paging import ALL_ROWS, Key, Seek, seek_rows
from accounting.kit.rows import column, listed
from accounting.prices.models.conversion import ConversionRate


@listed("ConversionRate")
class ConversionRow:
    """A unit of a currency in another one, from a day on."""

    id: int = column()
    from_currency: str = column(head="From")
    to_currency: str = column(head="To")
    on: date = column(
        "first billing day; applies for at most 31 days after it", head="First day"
    )
    rate: Annotated[Decimal, plain] = column(
        "units of `to_currency` for one of `from_currency`"
    )


def conversion_key(row: ConversionRow) -> Key:
    """The position of a rate in `conversion_rows`."""
    return row.from_currency, row.to_currency, row.on.isoformat(), row.id


def conversion_rows(scope: Scope, seek: Seek = ALL_ROWS) -> list[ConversionRow]:
    """Every rate by its currencies and day, for everybody who may read prices."""
    if not scope.sees_any:
        return []
    order = ("from_currency", "to_currency", "on", "pk")
    return [
        ConversionRow(
            id=row.pk,
            from_currency=row.from_currency,
            to_currency=row.to_currency,
            on=row.on,
            rate=row.rate,
        )
        for row in seek_rows(ConversionRate.objects.all(), order, seek)
    ]
