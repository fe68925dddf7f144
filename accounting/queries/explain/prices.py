"""All prices behind an amount of money, with the amount of each.

The amounts add up to the figure that they explain, to the last place of the currency: no
price is left out, and all are rounded as one list (rules.md N28).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from django.db import connection

from accounting.domain.billing.charge import price_amounts
from accounting.domain.core.money import NOTHING, Money, amount_of
from accounting.queries.relation.relation import relation
from accounting.queries.selection import Selection
from accounting.rating.states_sql import held, wall


@dataclass(frozen=True, slots=True)
class PriceUsed:
    """A price that was used, the time that it priced, and its amount.

    `rate` and `amount` are None for time without a price; its `currency` is "".
    """

    model: str
    profile: str
    lifecycle: str
    tier: str
    rate: Decimal | None
    currency: str
    valid_from: datetime | None
    valid_to: datetime | None
    milliseconds: int
    amount: Money | None = None


@dataclass(frozen=True, slots=True)
class PaidTime:
    """The time behind an amount of money: milliseconds, rows and price."""

    milliseconds: str
    rows: str
    tier: str
    rate: str
    price_id: str


_IS_HELD = "u.namespace_id <> 0"
HELD_TIME = PaidTime(held("u"), _IS_HELD, "u.tier", "u.rate", "u.price_id")
IDLE_TIME = PaidTime("u.idle_ms", _IS_HELD, "u.tier", "u.rate", "u.price_id")
# The whole GPU's own price also of what is held: what a price by profile or tier differs
# from it is the platform's, with the opposite sign (N27).
ALL_TIME = PaidTime(wall("u"), "true", "''", "u.gpu_rate", "u.gpu_price_id")


_OF_A_PRICE = "model, profile, lifecycle, tier, rate, currency, valid_from, valid_to"


def prices_used(
    selection: Selection, paid: PaidTime, places: int
) -> tuple[PriceUsed, ...]:
    """Every price of a selection, largest amount first; time without a price comes last."""
    chosen = relation(selection, ())
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT {_OF_A_PRICE}, sum(milliseconds)::bigint
            FROM (
                SELECT u.model, coalesce(p.profile, '') AS profile, u.lifecycle,
                       {paid.tier} AS tier, {paid.rate} AS rate, u.currency,
                       p.valid_from, p.valid_to, {paid.milliseconds} AS milliseconds
                {chosen.tables}
                LEFT JOIN accounting_unitprice p ON p.id = {paid.price_id}
                WHERE {chosen.condition} AND {paid.rows}
            ) line
            GROUP BY {_OF_A_PRICE}
            HAVING sum(milliseconds) > 0
            ORDER BY {_OF_A_PRICE}
            """,  # built from this module's own constants
            chosen.parameters,
        )
        found = [PriceUsed(*row) for row in cursor.fetchall()]
    return tuple(sorted(_with_amounts(found, places), key=_by_amount))


def _with_amounts(found: Sequence[PriceUsed], places: int) -> Iterable[PriceUsed]:
    quantities = [(one.milliseconds, one.rate, one.currency) for one in found]
    for one, amount in zip(found, price_amounts(quantities, places), strict=True):
        yield replace(one, amount=amount)


def _by_amount(one: PriceUsed) -> tuple[bool, Decimal, int]:
    return one.amount is None, -(amount_of(one.amount) or Decimal(0)), -one.milliseconds


def amounts_of(prices: Iterable[PriceUsed]) -> tuple[Money, ...]:
    """The sums of the amounts of prices, one for each currency; empty if none is known."""
    sums: dict[str, Money] = defaultdict(lambda: NOTHING)
    for one in prices:
        if one.amount is not None:
            sums[one.currency] += one.amount
    return tuple(sums.values())
