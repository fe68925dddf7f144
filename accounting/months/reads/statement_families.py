"""The families of workloads of one statement, from its booked lines (money.md M5, rules.md N41)."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import connection

from accounting.core.interval import HOUR_MS
from accounting.core.money import NOTHING, Money
from accounting.core.rounding import half_even
from accounting.months.reads.lines import Booking
from accounting.months.reads.statement_document import Item
from accounting.months.reads.statement_table import PartsTable, parts_table
from accounting.months.reads.statements import StatementRow
from accounting.usage.reads.relation.families import lines_with_family

SHOWN = 25
RATE_PLACES = 4
# Workloads are summed before their family is looked up: a workload has a line for each day.
_OF_TEAM = """(SELECT cluster, namespace, workload_kind, workload, model,
    sum(ms)::bigint AS ms, sum(charge) AS charge,
    (coalesce(sum(ms) FILTER (WHERE charge IS NULL), 0))::bigint AS without_money_ms,
    coalesce(sum(charge) FILTER (WHERE state = 'idle'), 0) AS idle_charge
    FROM {table}
    WHERE revision_id = %(revision)s AND team = %(team)s AND kind = 'usage'
      AND coalesce(corrects, '') = ''
    GROUP BY cluster, namespace, workload_kind, workload, model)"""


@dataclass(frozen=True, slots=True)
class StatementFamily:
    """A family on a statement.

    Attributes:
        item: its time and charge; several families have no name.
        idle: the part of its charge for time that was held and idle.
        runs: workloads of the family.
        models: of its GPUs, by name.
        count: how many families this is: 1, or all that are not shown by themselves.
    """

    namespace: str
    family: str
    item: Item
    idle: Money
    runs: int
    models: tuple[str, ...]
    count: int = 1

    @property
    def rate(self) -> Decimal | None:
        """What a charged GPU-hour cost on average; None if nothing was charged."""
        ms = self.item.ms - self.item.without_money_ms
        if not ms:
            return None
        return half_even(self.item.amount.amount * HOUR_MS / ms, RATE_PLACES)


@dataclass(frozen=True, slots=True)
class StatementFamilies:
    """Families with their amounts in cents, and what else adds up to the payable.

    Attributes:
        row: the statement.
        rest: titles and amounts; those of nothing are left out.
    """

    row: StatementRow
    rows: tuple[tuple[StatementFamily, Money], ...]
    rest: tuple[tuple[str, Money], ...]
    payable: Money


def statement_families(booking: Booking, row: StatementRow) -> StatementFamilies:
    """The families of a statement, the dearest first; those after `SHOWN` are one row.

    Args:
        booking: of the statement.
        row: the statement.
    """
    found = _read(booking, row.team)
    shown, rest = found[:SHOWN], found[SHOWN:]
    families = [*shown, _together(rest)] if rest else shown
    parts = parts_table([one.item for one in families], row)
    amounts = [amount for _, amount in parts.rows]
    return StatementFamilies(
        row,
        tuple(zip(families, amounts, strict=True)),
        tuple((title, amount) for title, amount in _rest(parts, row) if amount.amount),
        row.payable,
    )


def _rest(parts: PartsTable, row: StatementRow) -> list[tuple[str, Money]]:
    """What no family has: `parts.other` and `parts.rounding`, by what it is."""
    entries, corrections = row.entries.rounded(), row.corrections.rounded()
    other = (parts.other or NOTHING) - entries - corrections
    return [
        ("Unallocated time, differences and spread", other),
        ("Entries", entries),
        ("Corrections", corrections),
        ("Rounding", parts.rounding or NOTHING),
    ]


def _read(booking: Booking, team: str) -> list[StatementFamily]:
    lines = lines_with_family(_OF_TEAM.format(table=booking.table))
    query = f"""SELECT namespace, family, sum(ms)::bigint AS ms,
            coalesce(sum(charge), 0) AS charge,
            sum(without_money_ms)::bigint, sum(idle_charge),
            count(DISTINCT (cluster, workload_kind, workload)),
            array_remove(array_agg(DISTINCT model ORDER BY model), '')
        FROM {lines} l GROUP BY namespace, family
        ORDER BY coalesce(sum(charge), 0) DESC, sum(ms) DESC, namespace, family"""
    with connection.cursor() as cursor:
        cursor.execute(query, {"revision": booking.revision_id, "team": team})
        return [_family(one, booking.currency) for one in cursor.fetchall()]


def _family(found: tuple[Any, ...], currency: str) -> StatementFamily:
    namespace, family, ms, charge, without_money_ms, idle, runs, models = found
    amount = Money(charge, currency)
    item = Item(
        (namespace, family), amount, amount, ms, without_money_ms=without_money_ms
    )
    return StatementFamily(
        namespace, family, item, Money(idle, currency), runs, tuple(models)
    )


def _together(rest: list[StatementFamily]) -> StatementFamily:
    amount = sum((one.item.amount for one in rest), NOTHING)
    item = Item(
        (),
        amount,
        amount,
        sum(one.item.ms for one in rest),
        without_money_ms=sum(one.item.without_money_ms for one in rest),
    )
    models = {model for one in rest for model in one.models}
    return StatementFamily(
        namespace="",
        family="",
        item=item,
        idle=sum((one.idle for one in rest), NOTHING),
        runs=sum(one.runs for one in rest),
        models=tuple(sorted(models)),
        count=len(rest),
    )
