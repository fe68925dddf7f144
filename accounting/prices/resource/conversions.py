"""Conversion rates: read by everybody who reads prices, set by finance."""

from accounting.access import Scope
from accounting.actions.finance.conversions import SetConversion, set_conversion_rate
from accounting.queries.finance.conversions import (
    ConversionRow,
    conversion_key,
    conversion_row,
    conversion_rows,
)
from accounting.queries.paging import ALL_ROWS, Seek
from accounting.resources.resource import Filters, Resource, Verb
from accounting.rights import SET_CONVERSIONS, SIGNED_IN


def _read(scope: Scope, filters: Filters, seek: Seek = ALL_ROWS) -> list[ConversionRow]:
    del filters
    return conversion_rows(scope, seek)


CONVERSIONS = Resource(
    "conversion-rates",
    ConversionRow,
    SIGNED_IN,
    _read,
    "Every rate, by its currencies and day.",
    item=conversion_row,
    key=conversion_key,
    verbs=(
        Verb(
            "",
            set_conversion_rate,
            SetConversion,
            SET_CONVERSIONS,
            "Add the rate of a day (201), or correct it (200).",
        ),
    ),
)
