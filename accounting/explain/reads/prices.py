"""All prices behind an amount of money, with the amount of each.

The amounts add up to the figure that they explain, to the last place of the currency: no
price is left out, and all are rounded as one list (rules.md N28). Of closed billing days they are
the charges that were booked, of open ones time x price (money.md M5).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Annotated, Any

from django.db import connection

from accounting.core.money import Money, amount_of, sum_money, sums_by_currency
from accounting.kit.reads.selection import Selection
from accounting.kit.rows import GpuHours, OffsetInstant, TextOrNull, column, listed
from accounting.metering.sql.states_sql import held, wall
from accounting.prices.rules.charge import price_amounts
from accounting.usage.reads.booked import BookedPart, booked_part
from accounting.usage.reads.relation.relation import Relation, relation


@listed("Amount")
class AmountRow:
    """An amount with its currency."""

    amount: Decimal = column()
    currency: TextOrNull = column()


Amount = Annotated[Money, AmountRow]


@listed("UsedPrice")
class PriceUsed:
    """A price that was used, and what it comes to.

    Attributes:
        revision_id: of the close that booked the amount; 0 for none.
    """

    model: str = column()
    profile: TextOrNull = column()
    lifecycle: str = column()
    tier: TextOrNull = column()
    rate: Decimal | None = column("null without a price")
    currency: TextOrNull = column(name="rate_currency")
    valid_from: OffsetInstant | None = column()
    valid_to: OffsetInstant | None = column()
    milliseconds: GpuHours | None = column(
        "null without time of its own, and for booked days that the time cuts",
        name="gpu_hours",
    )
    amount: Amount | None = column("null without a price", default=None)
    kind: TextOrNull = column("of booked lines; null for time x price", default="")
    revision_id: int = 0


@dataclass(frozen=True, slots=True)
class PaidTime:
    """The time behind an amount of money: milliseconds, rows and price.

    Attributes:
        lines: the same time of closed days: a condition over booked lines `u`.
        is_held: only what teams held.
    """

    milliseconds: str
    rows: str
    tier: str
    rate: str
    price_id: str
    lines: str
    is_held: bool


_IS_HELD = "u.namespace_id <> 0"
_HELD_PRICE = ("u.tier", "u.rate", "u.price_id")
HELD_TIME = PaidTime(held("u"), _IS_HELD, *_HELD_PRICE, "true", is_held=True)
IDLE_TIME = PaidTime(
    *("u.idle_ms", _IS_HELD, *_HELD_PRICE),
    lines="u.kind = 'usage' AND u.state = 'idle'",
    is_held=True,
)
# The whole GPU's own price also of what is held: what a price by profile or tier differs
# from it is the platform's, with the opposite sign (N27).
ALL_TIME = PaidTime(
    *(wall("u"), "true", "''", "u.gpu_rate", "u.gpu_price_id", "true"), is_held=False
)


_OF_A_PRICE = "model, profile, lifecycle, tier, rate, currency, valid_from, valid_to"


def prices_used(
    selection: Selection, paid: PaidTime, places: int
) -> tuple[PriceUsed, ...]:
    """Every price of a selection, largest amount first; time without a price comes last.

    A price that several closes booked is there once for each of them.
    """
    booked = booked_part(selection, (), is_held=paid.is_held, of_lines=True)
    chosen = relation(selection, ())
    values = chosen.parameters | booked.parameters
    opened = _fetched(_of_open_days(chosen, paid, booked), values)
    closed = _fetched(_of_closed_days(paid, booked), values) if booked.rows else []
    quantities = [(one.milliseconds or 0, one.rate, one.currency) for one in opened]
    amounts = price_amounts(quantities, places, [one.amount for one in closed])
    found = [
        replace(one, amount=amount)
        for one, amount in zip([*opened, *closed], amounts, strict=True)
    ]
    return tuple(sorted(found, key=_by_amount))


def _of_open_days(chosen: Relation, paid: PaidTime, booked: BookedPart) -> str:
    """A SELECT of the time of each price, of what is not booked; without amounts."""
    return f"""
        SELECT {_OF_A_PRICE}, sum(milliseconds)::bigint, NULL::numeric, '', '', 0
        FROM (
            SELECT u.model, coalesce(p.profile, '') AS profile, u.lifecycle,
                   {paid.tier} AS tier, {paid.rate} AS rate, u.currency,
                   p.valid_from, p.valid_to, {paid.milliseconds} AS milliseconds
            {chosen.tables}
            LEFT JOIN accounting_unitprice p ON p.id = {paid.price_id}
            WHERE {chosen.condition} AND {paid.rows} AND NOT ({booked.condition})
        ) line
        GROUP BY {_OF_A_PRICE}
        HAVING sum(milliseconds) > 0
        ORDER BY {_OF_A_PRICE}
    """  # built from this module's own constants


_OF_LINES = """u.model, u.profile, u.lifecycle, u.tier, u.rate, u.price_currency, u.status,
    u.kind, u.revision_id"""
_HAS_TIME = "u.kind IN ('usage', 'platform')"


def _of_closed_days(paid: PaidTime, booked: BookedPart) -> str:
    """The same of booked lines, with their charges, for each price and close."""
    return f"""
        SELECT u.model, u.profile, u.lifecycle, u.tier, u.rate, u.price_currency,
               NULL::timestamptz, NULL::timestamptz,
               CASE WHEN u.status <> 'priced' THEN sum(u.unpriced_part)
                    WHEN {_HAS_TIME} AND count(u.hour_start) = 0 THEN sum(u.ms)
               END::bigint,
               sum(u.charge_part), max(u.currency), u.kind, u.revision_id
        FROM ({booked.rows}) u
        WHERE {paid.lines}
        GROUP BY {_OF_LINES}
        HAVING {_HAS_TIME} OR sum(u.charge_part) <> 0
        ORDER BY {_OF_LINES}
    """  # built from this module's own constants


def _fetched(query: str, parameters: Mapping[str, Any]) -> list[PriceUsed]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return [_price(row) for row in cursor.fetchall()]


def _price(row: tuple[Any, ...]) -> PriceUsed:
    """From the columns of `_OF_A_PRICE`, milliseconds, charge, currency, kind and revision."""
    *price, charge, currency, kind, revision_id = row
    amount = None if charge is None else Money(charge, currency)
    names = (one.name for one in fields(PriceUsed))  # in the order of the columns
    said: dict[str, Any] = dict(zip(names, price, strict=False))
    return PriceUsed(**said, amount=amount, kind=kind, revision_id=revision_id)


def _by_amount(one: PriceUsed) -> tuple[bool, Decimal, int]:
    amount = amount_of(one.amount)
    return amount is None, -(amount or Decimal(0)), -(one.milliseconds or 0)


def amounts_of(prices: Iterable[PriceUsed]) -> tuple[Money, ...]:
    """The sums of the amounts of prices, one for each currency; empty if none is known."""
    return sums_by_currency(one.amount for one in prices if one.amount is not None)


def merged_closes(prices: Iterable[PriceUsed]) -> list[PriceUsed]:
    """The same prices, those that several closes booked as one; in the order of `prices_used`."""
    found: dict[tuple[bool, PriceUsed], list[PriceUsed]] = defaultdict(list)
    for one in prices:
        price = replace(one, milliseconds=None, amount=None, revision_id=0)
        found[one.amount is None, price].append(one)
    merged = [_merged(several) for several in found.values()]
    return sorted(merged, key=_by_amount)


def _merged(several: Sequence[PriceUsed]) -> PriceUsed:
    """One of several prices with the sum of all: a bill has one currency (money.md M16)."""
    times = [one.milliseconds for one in several if one.milliseconds is not None]
    return replace(
        several[0],
        milliseconds=sum(times) if len(times) == len(several) else None,
        amount=sum_money(one.amount for one in several),
    )
