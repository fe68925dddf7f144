"""Charges of a booked period, summed by fields of its lines (money.md M5).

Sums of stored charges, so every way to divide a period has the same total, to the last place.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import connection
from psycopg import sql

from accounting.core.charge_lines import FIELDS
from accounting.months.reads.lines import Booking

NAMES = {"day": "billing_on"}  # of a field in reports, where it is another one
MEASURES = frozenset({"rate", "fx", "ms", "raw", "charge"})
DIMENSIONS = {
    **{name: name for name in FIELDS if name not in MEASURES | {"billing_on"}},
    **NAMES,
}
"""The field of a line for each name that a report may be divided or filtered by."""


class ChargeError(ValueError):
    """A field that a report of charges does not have."""


@dataclass(frozen=True, slots=True)
class ChargeRow:
    """Charges of some lines.

    Attributes:
        fields: value of each field that the report is divided by.
        ms: time; unallocated time and spread time included.
        charge: sum of the stored charges, six places.
        without_money_ms: time in no sum, because it has no price or conversion.
    """

    fields: Mapping[str, Any]
    ms: int
    charge: Decimal
    without_money_ms: int
    line_count: int
    currency: str = ""


def charge_rows(
    booking: Booking,
    by: Sequence[str] = ("team",),
    filters: Mapping[str, Sequence[str]] | None = None,
) -> list[ChargeRow]:
    """The charges of a booking, divided by fields, in their order.

    Args:
        booking: from `months.reads.lines`.
        by: names of `DIMENSIONS`; none: one row.
        filters: accepted values by name; "" is a missing value.

    Raises:
        ChargeError: a name is not a dimension.
    """
    return list(_read(booking, [*by], dict(filters or {})))


def _read(
    booking: Booking, by: list[str], filters: dict[str, Sequence[str]]
) -> Iterator[ChargeRow]:
    columns = [column_of(name) for name in by]
    where = [sql.SQL("revision_id = {}").format(booking.revision_id)]
    for name, values in filters.items():
        text = sql.SQL("coalesce({}::text, '')").format(column_of(name))
        where.append(sql.SQL("{} = ANY({})").format(text, list(values)))
    grouped = sql.SQL("GROUP BY {}").format(sql.SQL(", ").join(columns))
    ordered = sql.SQL("ORDER BY {}").format(
        sql.SQL(", ").join(sql.SQL("{} NULLS FIRST").format(one) for one in columns)
    )
    statement = sql.SQL("""
        SELECT {fields} sum(ms)::bigint, coalesce(sum(charge), 0),
               coalesce(sum(ms) FILTER (WHERE charge IS NULL), 0)::bigint, count(*)
        FROM {table} WHERE {where} {grouped} {ordered}
    """).format(
        fields=sql.SQL("").join(sql.SQL("{}, ").format(one) for one in columns),
        table=sql.Identifier(booking.table),
        where=sql.SQL(" AND ").join(where),
        grouped=grouped if columns else sql.SQL("HAVING count(*) > 0"),
        ordered=ordered if columns else sql.SQL(""),
    )
    with connection.cursor() as cursor:
        cursor.execute(statement.as_string())  # the audit's hook expects text
        for row in cursor.fetchall():
            fields = dict(zip(by, row, strict=False))
            ms, charge, without_money_ms, count = row[len(by) :]
            yield ChargeRow(
                fields, ms, charge, without_money_ms, count, booking.currency
            )


def column_of(name: str) -> sql.Identifier:
    """The column of a dimension.

    Raises:
        ChargeError: the name is not a dimension.
    """
    if name not in DIMENSIONS:
        known = ", ".join(sorted(DIMENSIONS))
        raise ChargeError(f"charges have no field {name!r}. Fields: {known}")
    return sql.Identifier(DIMENSIONS[name])
