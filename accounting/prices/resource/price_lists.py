"""Price lists: read by everybody who reads prices, created by administrators.

A list is changed by PATCH: `accounting/prices/api/price_lists.py`.
"""

from accounting.access.rights import (
    ADMINISTRATION,
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
from accounting.prices.actions.price_lists import (
    CreatePriceList,
    create_price_list,
)
from accounting.prices.reads.price_lists import (
    PriceListRow,
    price_list_key,
    price_list_row,
    price_list_rows,
)


def _read(scope: Scope, filters: Filters, seek: Seek = ALL_ROWS) -> list[PriceListRow]:
    del filters
    return price_list_rows(scope, seek)


PRICE_LISTS = Resource(
    "price-lists",
    PriceListRow,
    SIGNED_IN,
    _read,
    "Every list, by its kind and name.",
    item=price_list_row,
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
