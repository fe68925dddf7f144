"""Price lists with the number of their prices (money.md M13)."""

from dataclasses import dataclass

from django.db.models import Count

from accounting.access import Scope
from accounting.models import PriceKind, PriceList
from accounting.queries.paging import ALL_ROWS, Key, Seek, seek_rows


@dataclass(frozen=True, slots=True)
class PriceListRow:
    """One list. Only finance and admins see lists of costs, and sources."""

    id: int
    kind: str
    name: str
    currency: str
    source: str
    price_count: int


def price_list_key(row: PriceListRow) -> Key:
    """The position of a list in `price_list_rows`."""
    return row.kind, row.name, row.id


def price_list_rows(scope: Scope, seek: Seek = ALL_ROWS) -> list[PriceListRow]:
    """Every list by its kind and name, for everybody who may read prices."""
    if not scope.sees_any:
        return []
    rows = PriceList.objects.annotate(price_count=Count("unitprice"))
    if not scope.is_finance:
        rows = rows.filter(kind=PriceKind.RATE)
    return [
        PriceListRow(
            *(row.pk, row.kind, row.name, row.currency),
            row.source if scope.is_finance else "",
            row.price_count,  # type: ignore[attr-defined]  # annotated
        )
        for row in seek_rows(rows, ("kind", "name", "pk"), seek)
    ]


def price_list_row(scope: Scope, number: int) -> PriceListRow | None:
    """One of `price_list_rows`; None if it is not among them."""
    return next((row for row in price_list_rows(scope) if row.id == number), None)
