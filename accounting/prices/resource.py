"""Price lists and conversion rates: read by everybody who reads prices."""

from accounting.access.rights import ADMINISTRATION, SET_CONVERSIONS, SIGNED_IN
from accounting.kit.resources.resource import Resource, Verb
from accounting.prices.actions.conversions import SetConversion, set_conversion_rate
from accounting.prices.actions.price_lists import CreatePriceList, create_price_list
from accounting.prices.reads.conversions import (
    ConversionRow,
    conversion_key,
    conversion_rows,
)
from accounting.prices.reads.price_lists import (
    PriceListRow,
    price_list_key,
    price_list_rows,
)

PRICE_LISTS = Resource(
    "price-lists",
    PriceListRow,
    SIGNED_IN,
    price_list_rows,
    "Every list, by its kind and name.",
    key=price_list_key,
    verbs=(
        Verb(
            "",
            create_price_list,
            CreatePriceList,
            ADMINISTRATION,
            "Create a list without prices.",
        ),
    ),
)
"""A list is changed by PATCH: `accounting/prices/api/price_lists.py`."""

SET_RATE = Verb(
    "",
    set_conversion_rate,
    SetConversion,
    SET_CONVERSIONS,
    "Add the rate of a day (201), or correct it (200).",
    done="The rate is saved.",
    title="Set a conversion rate",
)
CONVERSIONS = Resource(
    "conversion-rates",
    ConversionRow,
    SIGNED_IN,
    conversion_rows,
    "Every rate, by its currencies and day.",
    key=conversion_key,
    verbs=(SET_RATE,),
)
