"""Prices, valid from a time on. A change rolls hours up again and reads no metrics."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from accounting.access.reads.billing_settings import billing_at
from accounting.core.interval import to_ms
from accounting.kit.audit import Actor, act
from accounting.kit.locks import lock
from accounting.metering.models.cluster import Cluster
from accounting.metering.rules.units.mig_profiles import normal
from accounting.metering.sources.catalogue import normal_model
from accounting.prices.models.price import PriceKind, PriceList, UnitPrice
from accounting.prices.rules.price_placing import PriceMeetsError, place

BORDER_MS = 300_000  # windows are five minutes long


class PriceError(ValueError):
    """The price is not valid; nothing was changed.

    Attributes:
        field: the argument that is wrong.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class PriceOverlapError(PriceError):
    """A price of the same kind that sets the same applies at a part of the time."""

    def __init__(self, error: PriceMeetsError) -> None:
        super().__init__("valid_to", str(error))


def reprice(since: datetime | None = None, model: str | None = None) -> int:
    """Mark the hours dirty whose amounts a price change affects; returns their number."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO accounting_dirtyhour (cluster_id, hour_start, marked_at, reason)
            SELECT DISTINCT cluster_id, hour_start, statement_timestamp(), 'price'
            FROM usage_hour
            WHERE (%s::timestamptz IS NULL OR hour_start >= date_trunc('hour', %s::timestamptz))
              AND (%s::text IS NULL OR model = %s)
            ON CONFLICT (cluster_id, hour_start) DO UPDATE SET marked_at = excluded.marked_at
            """,
            [since, since, model, model],
        )
        return int(cursor.rowcount)


def set_unit_price(
    *,
    model: str,
    rate_per_gpu_hour: Decimal | None,
    cost_per_gpu_hour: Decimal | None,
    currency: str,
    valid_from: datetime,
    valid_to: datetime | None = None,
    profile: str = "",
    lifecycle: str = "",
    cluster: Cluster | None = None,
    tier: str = "",
    source_note: str = "",
    price_list: PriceList | None = None,
    actor: Actor,
    reason: str,
) -> UnitPrice:
    """Add a rate, a cost or both, valid from a time on (money.md M13, M15).

    A price of the same kind that sets the same and has the same start is replaced. Without
    `valid_to`, the price in effect ends at that time, and a later price is kept and ends this one.
    Model and profile may be spelled as an exporter or a node does.

    Args:
        rate_per_gpu_hour: what teams are charged.
        cost_per_gpu_hour: what a GPU costs; it has no profile and no tier.
        currency: of both; a cost is in the billing currency.
        valid_from, valid_to: five-minute borders; None is open.
        price_list: of the only price that is given, in its currency; None is the list of its kind
            and currency.

    Returns:
        The rate, or the cost if there is no rate.

    Raises:
        PriceError: the price is not valid; nothing was changed.
        PriceOverlapError: another price applies in [valid_from, valid_to).
    """
    terms: dict[str, Any] = {
        "model": normal_model(model),
        "profile": normal(profile),
        "lifecycle": lifecycle,
        "cluster": cluster,
        "tier": tier,
    }
    amounts = {PriceKind.RATE: rate_per_gpu_hour, PriceKind.COST: cost_per_gpu_hour}
    given = {kind: value for kind, value in amounts.items() if value is not None}
    for kind in given:
        check_price(kind, terms, currency, valid_from, valid_to)
    if not given:
        raise PriceError("rate_per_gpu_hour", "give a rate, a cost or both")
    if price_list is not None:
        check_price_list(price_list, list(given), currency)
    with act(actor, reason):
        lock("prices", 0)  # of two that overlap, the later one sees the other
        prices = [
            _add(
                kind,
                terms,
                valid_from,
                valid_to,
                currency=currency,
                rate_per_gpu_hour=value,
                source_note=source_note,
                price_list=price_list or default_list(kind, currency),
            )
            for kind, value in given.items()
        ]
        reprice(valid_from, terms["model"])
    return prices[0]


def check_price(
    kind: str,
    terms: Mapping[str, Any],
    currency: str,
    valid_from: datetime,
    valid_to: datetime | None,
) -> None:
    """Refuse what cannot be a price, whatever else is in the book.

    Raises:
        PriceError: with the field that is wrong.
    """
    if kind == PriceKind.COST and (terms["profile"] or terms["tier"]):
        raise PriceError(
            "cost_per_gpu_hour",
            "a cost is of whole GPUs: it has no profile and no tier",
        )
    ours = billing_at(valid_from).currency
    if kind == PriceKind.COST and currency != ours:
        raise PriceError("currency", f"costs are in the billing currency, {ours}")
    for field, at in (("valid_from", valid_from), ("valid_to", valid_to)):
        if at is not None and to_ms(at) % BORDER_MS:
            raise PriceError(field, "the time must align to a five-minute boundary")
    if valid_to is not None and valid_to <= valid_from:
        raise PriceError("valid_to", "the price ends before it begins")


def check_price_list(
    price_list: PriceList, kinds: Sequence[str], currency: str
) -> None:
    """Refuse a list that is not for these prices.

    Raises:
        PriceError: it is of another kind or currency.
    """
    if list(kinds) != [price_list.kind]:
        message = f"the list {price_list.name!r} has prices of the kind {price_list.kind} only"
        raise PriceError("price_list", message)
    if price_list.currency != currency:
        message = f"the list {price_list.name!r} is in {price_list.currency}"
        raise PriceError("price_list", message)


def default_list(kind: str, currency: str) -> PriceList:
    """The list of prices for which none was named."""
    name = f"{'Rates' if kind == PriceKind.RATE else 'Costs'} in {currency}"
    found, _ = PriceList.objects.get_or_create(
        kind=kind, name=name, defaults={"currency": currency}
    )
    return found


def _add(
    kind: str,
    terms: Mapping[str, Any],
    valid_from: datetime,
    valid_to: datetime | None,
    **values: Any,
) -> UnitPrice:
    """Write one price into the book, in the transaction of the caller."""
    same = UnitPrice.objects.select_for_update().filter(kind=kind, **terms)
    try:
        placed = place(same, valid_from, valid_to)
    except PriceMeetsError as error:
        raise PriceOverlapError(error) from error
    if placed.replaced:
        placed.replaced.delete()
    if placed.ended:
        placed.ended.valid_to = valid_from
        placed.ended.save(update_fields=["valid_to"])
    price = UnitPrice(
        kind=kind,
        valid_from=valid_from,
        valid_to=placed.valid_to,
        **terms,
        **values,
    )
    # Django's check of overlaps ignores the cluster; `place` and the database make it.
    price.full_clean(validate_constraints=False)
    price.save()
    return price
