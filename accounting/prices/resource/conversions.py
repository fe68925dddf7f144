"""Conversion rates: read by everybody who reads prices, set by finance."""

from accounting.access.rights import (
    SET_CONVERSIONS,
    SIGNED_IN,
)
from accounting.access.scope import Scope
from accounting.kit.reads.paging import (
    ALL_ROWS,
    Seek,
)
from accounting.kit.resources.resource import (
    Filters,
    Resource,
    Verb,
)
from accounting.prices.actions.conversions import (
    SetConversion,
    set_conversion_rate,
)
from accounting.prices.reads.conversions import (
    ConversionRow,
    conversion_key,
    conversion_row,
    conversion_rows,
)


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
