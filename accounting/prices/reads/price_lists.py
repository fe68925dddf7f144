"""Price lists with the number of their prices (money.md M13)."""

from django.db.models import Count

from accounting.access.scope import Scope
from accounting.kit.reads.paging import ALL_ROWS, Key, Seek, seek_rows
from accounting.kit.rows import column, listed
from accounting.prices.models.price import PriceKind, PriceList


@listed("ListOfPrices")
class PriceListRow:
    """Prices of one kind, in one currency, from one source."""

    id: int = column()
    kind: str = column("`rate` or `cost`")
    name: str = column()
    currency: str = column()
    source: str = column("a contract or a list; for finance")
    price_count: int = column(head="Prices")


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
            id=row.pk,
            kind=row.kind,
            name=row.name,
            currency=row.currency,
            source=row.source if scope.is_finance else "",
            price_count=row.price_count,  # type: ignore[attr-defined]  # annotated
        )
        for row in seek_rows(rows, ("kind", "name", "pk"), seek)
    ]
