"""Charges as REST lists them: of a booking or of billing days, page by page (money.md M5, M47)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from django.db import connection
from psycopg import sql

from accounting.kit.reads.paging import ALL_ROWS, Key, Seek
from accounting.months.models.charge import ChargeLine, RunningLine
from accounting.months.reads.charges import (
    DIMENSIONS,
    ChargeError,
    ChargeRow,
    column_of,
)
from accounting.months.reads.lines import Booking, bookings_between

_READ = (*DIMENSIONS.values(), "ms", "charge")
NOT_OF_DAYS = ("credit", "adjustment", "rounding")
_TABLES = {
    True: ChargeLine._meta.db_table,  # noqa: SLF001  # Django's public name for it
    False: RunningLine._meta.db_table,  # noqa: SLF001  # Django's documented API
}


@dataclass(frozen=True, slots=True)
class ChargeSelection:
    """Which lines are summed.

    Attributes:
        bookings: whose lines; all of one currency.
        filters: accepted values by name of a dimension.
        days: first day and the one after the last; None: all lines of the bookings, with entries,
            rounding, and corrections of earlier months.
        is_corrected: of days: with entries and corrections of these days, whichever month has
            booked them.
    """

    bookings: tuple[Booking, ...]
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    days: tuple[date, date] | None = None
    is_corrected: bool = False

    @property
    def currency(self) -> str:
        """Of every amount; "" without a booking."""
        return next((one.currency for one in self.bookings), "")

    @property
    def closed_hash(self) -> str:
        """The hash of the only booking, if it is closed; "" where rows can change."""
        if len(self.bookings) != 1 or self.is_corrected:
            return ""
        return self.bookings[0].hash

    @property
    def snapshot(self) -> str:
        """Another text when one of the bookings was computed again, closed or opened again."""
        return ",".join(one.snapshot for one in self.bookings)


def bookings_of_days(
    first: date, after: date, *, is_corrected: bool
) -> tuple[Booking, ...]:
    """The bookings in effect with lines of some days, in order; with later ones if corrected.

    Raises:
        ChargeError: the first of these days is before the first booking.
    """
    earliest = next(iter(bookings_between("0000-00", "9999-12")), None)
    if earliest is None:
        return ()
    if f"{first:%Y-%m}" < earliest.period and first.year > 1970:
        raise ChargeError(f"charges begin with {earliest.period}-01")
    last = date.fromordinal(after.toordinal() - 1)
    until = "9999-12" if is_corrected else f"{last:%Y-%m}"
    return tuple(bookings_between(f"{first:%Y-%m}", until))


def listed_charges(
    selection: ChargeSelection, by: Sequence[str], seek: Seek = ALL_ROWS
) -> list[ChargeRow]:
    """Sums of lines by fields, in the order of their texts.

    Args:
        selection: which lines.
        by: names of dimensions; none: one row.
        seek: the rows of a page; a key is `charge_key` of a row.

    Raises:
        ChargeError: a name is not a dimension, or bookings differ in their currency.
    """
    if len({one.currency for one in selection.bookings}) > 1:
        raise ChargeError("these months have different currencies: select one of them")
    if not selection.bookings:
        return []
    texts = [_text(name) for name in by]
    named = sql.SQL("").join(sql.SQL("{}, ").format(text) for text in texts)
    statement = sql.SQL("""
        SELECT {named} sum(ms)::bigint, coalesce(sum(charge), 0),
               coalesce(sum(ms) FILTER (WHERE charge IS NULL), 0)::bigint, count(*)
        FROM ({lines}) line {grouped} {ordered} LIMIT {limit}
    """).format(
        named=named,
        lines=_lines(selection, texts, seek.after),
        grouped=sql.SQL("GROUP BY {}").format(sql.SQL(", ").join(texts))
        if texts
        else sql.SQL("HAVING count(*) > 0"),
        ordered=sql.SQL("ORDER BY {}").format(sql.SQL(", ").join(texts))
        if texts
        else sql.SQL(""),
        limit=sql.Literal(seek.limit),
    )
    with connection.cursor() as cursor:
        cursor.execute(statement.as_string())  # the audit's hook expects text
        found = cursor.fetchall()
    return [_row(by, row, selection.currency) for row in found]


def charge_key(row: ChargeRow) -> Key:
    """The position of a row in its list."""
    return ["" if value is None else value for value in row.fields.values()]


def _text(name: str) -> sql.Composed:
    return sql.SQL("coalesce({}::text, '') COLLATE \"C\"").format(column_of(name))


def _row(by: Sequence[str], row: tuple[Any, ...], currency: str) -> ChargeRow:
    values = dict(zip(by, row, strict=False))
    if values.get("day") == "":
        values["day"] = None
    ms, charge, without_money_ms, count = row[len(by) :]
    return ChargeRow(values, ms, charge, without_money_ms, count, currency)


def _lines(
    selection: ChargeSelection, texts: Sequence[sql.Composed], after: Key | None
) -> sql.Composed:
    """The lines of all bookings: closed ones and running ones are in two tables."""
    where = [
        sql.SQL("{} = ANY({})").format(_text(name), list(values))
        for name, values in selection.filters.items()
    ]
    if selection.days is not None:
        first, end = selection.days
        where.append(sql.SQL("billing_on >= {} AND billing_on < {}").format(first, end))
        if not selection.is_corrected:
            where.append(
                sql.SQL("corrects = '' AND kind <> ALL({})").format([*NOT_OF_DAYS])
            )
    if after is not None and texts:
        key = sql.SQL(", ").join(sql.Literal(value) for value in after)
        row = sql.SQL(", ").join(texts)
        where.append(sql.SQL("({}) > ({})").format(row, key))
    parts = []
    for is_closed, table in _TABLES.items():
        ids = [
            one.revision_id for one in selection.bookings if one.is_closed is is_closed
        ]
        if ids:
            own = sql.SQL("revision_id = ANY({})").format(ids)
            parts.append(
                sql.SQL("SELECT {} FROM {} WHERE {}").format(
                    sql.SQL(", ").join(map(sql.Identifier, _READ)),
                    sql.Identifier(table),
                    sql.SQL(" AND ").join([own, *where]),
                )
            )
    return sql.SQL(" UNION ALL ").join(parts)
