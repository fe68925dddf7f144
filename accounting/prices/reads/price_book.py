"""The prices of the price book as rows."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from accounting.access.scope import Scope
from accounting.kit.reads.paging import (
    ALL_ROWS,
    Key,
    Seek,
    seek_rows,
)
from accounting.prices.models.price import (
    PriceKind,
    UnitPrice,
)


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One price. Only finance and admins see what a GPU costs, and the contract.

    `rate_per_gpu_hour` is None for a cost, `cost_per_gpu_hour` for a rate.
    """

    id: int
    kind: str
    price_list: str
    model: str
    profile: str
    lifecycle: str
    cluster: str
    tier: str
    currency: str
    rate_per_gpu_hour: Decimal | None
    cost_per_gpu_hour: Decimal | None
    valid_from: datetime
    valid_to: datetime | None
    source_note: str

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
            row.pk,
            row.kind,
            row.price_list.name if row.price_list else "",
            row.model,
            row.profile,
            row.lifecycle,
            row.cluster.name if row.cluster else "",
            row.tier,
            row.currency,
            row.rate_per_gpu_hour if row.kind == PriceKind.RATE else None,
            row.rate_per_gpu_hour if row.kind == PriceKind.COST else None,
            row.valid_from,
            row.valid_to,
            row.source_note if scope.is_finance else "",
        )
        for row in seek_rows(rows, ("model", "valid_from", "pk"), seek)
    ]
