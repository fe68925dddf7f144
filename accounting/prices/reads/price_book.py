"""The prices of the price book as rows."""

from decimal import Decimal

from accounting.access.scope import Scope
from accounting.kit.reads.paging import ALL_ROWS, Key, Seek, seek_rows
from accounting.kit.rows import OffsetInstant, column, listed
from accounting.prices.models.price import PriceKind, UnitPrice


@listed("Price")
class PriceRow:
    """A price; only finance and admins see what a GPU costs."""

    id: int = column()
    kind: str = column("`rate` or `cost`")
    price_list: str = column()
    model: str = column()
    profile: str = column()
    lifecycle: str = column()
    cluster: str = column()
    tier: str = column()
    currency: str = column()
    rate_per_gpu_hour: Decimal | None = column("null for a cost")
    cost_per_gpu_hour: Decimal | None = column("null for a rate")
    valid_from: OffsetInstant = column()
    valid_to: OffsetInstant | None = column()
    source_note: str = column("where it is from; only for finance and admins")

    @property
    def only_for(self) -> tuple[str, ...]:
        """What it matches in addition to the model, in the order of N26; () is everything."""
        said = (self.cluster, self.profile, self.lifecycle, self.tier)
        return tuple(one for one in said if one)


def price_key(row: PriceRow) -> Key:
    """The position of a price in `price_rows`."""
    return row.model, row.valid_from.isoformat(), row.id


def price_rows(scope: Scope, seek: Seek = ALL_ROWS) -> list[PriceRow]:
    """Every price, by model and start."""
    if not scope.sees_any:
        return []
    rows = UnitPrice.objects.select_related("cluster", "price_list")
    if not scope.is_finance:
        rows = rows.filter(kind=PriceKind.RATE)
    return [
        PriceRow(
            id=row.pk,
            kind=row.kind,
            price_list=row.price_list.name if row.price_list else "",
            model=row.model,
            profile=row.profile,
            lifecycle=row.lifecycle,
            cluster=row.cluster.name if row.cluster else "",
            tier=row.tier,
            currency=row.currency,
            rate_per_gpu_hour=row.rate_per_gpu_hour
            if row.kind == PriceKind.RATE
            else None,
            cost_per_gpu_hour=row.rate_per_gpu_hour
            if row.kind == PriceKind.COST
            else None,
            valid_from=row.valid_from,
            valid_to=row.valid_to,
            source_note=row.source_note if scope.is_finance else "",
        )
        for row in seek_rows(rows, ("model", "valid_from", "pk"), seek)
    ]
