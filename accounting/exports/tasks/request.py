"""What a file is to have, what is known of its rows, and its name (money.md M45)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from importlib.util import find_spec
from typing import Any

from django.db import connection

from accounting.exports.rules.focus.columns import PROFILES
from accounting.exports.rules.focus.row import FocusContext
from accounting.exports.sql.file_tables import ExportTable, What, table_of
from accounting.exports.tasks.days import DayBounds, day_bounds
from accounting.exports.tasks.journal import (
    NOT_SET_UP,
    JournalError,
    journal_map,
    journal_table,
    rows_to_post,
)
from accounting.exports.tasks.rows_sql import group_totals
from accounting.months.models.period import Statement
from accounting.months.reads.lines import Booking, booked_days, booking_of
from accounting.months.reads.payers import Payer, payers_of_booking

MOST_STREAMED = 1_000_000  # rows that are sent while they are read; more need a worker


class Format(StrEnum):
    """Formats of files; the value is the ending of their names."""

    CSV = "csv"
    PARQUET = "parquet"
    XLSX = "xlsx"


CONTENT_TYPES: Mapping[Format, str] = {
    Format.CSV: "text/csv; charset=utf-8",
    Format.PARQUET: "application/vnd.apache.parquet",
    Format.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


LIBRARIES: Mapping[Format, str] = {
    Format.PARQUET: "pyarrow",
    Format.XLSX: "xlsxwriter",
}
"""Of the formats that are extras of an installation."""


def installed_formats() -> list[Format]:
    """The formats that this installation can write."""
    return [one for one in Format if _is_installed(LIBRARIES.get(one))]


def _is_installed(library: str | None) -> bool:
    return library is None or find_spec(library) is not None


class ExportError(ValueError):
    """The export cannot be written as requested."""


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """One file.

    Attributes:
        period: YYYY-MM.
        profile: of FOCUS rows.
        team: only its rows; None for all.
        revision: None for the latest that was not reopened.

    Raises:
        ExportError: the profile does not exist.
    """

    what: What
    period: str
    profile: str = "focus-1.4"
    team: str | None = None
    format: Format = Format.CSV
    revision: int | None = None

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            known = ", ".join(PROFILES)
            raise ExportError(f"{self.profile!r} is not a profile. Profiles: {known}")


@dataclass(frozen=True, slots=True)
class LineGroup:
    """Lines of one kind and team, in the order of the file."""

    kind: str
    team: str
    row_count: int
    charge: Decimal
    without_money_ms: int


@dataclass(frozen=True, slots=True)
class Export:
    """A file to be written: what is read, and what its rows come to.

    Attributes:
        groups: of lines; empty for statements.
        payers: what its teams are called, by slug.
        row_count: rows without the header.
        charge: sum of the charges; of statements, of their payables; of a journal, of its debits.
        payable: of the team, or of the period.
        without_money_ms: time that is in no sum, because it has no price or conversion.
        journal: the cells of its rows.
    """

    request: ExportRequest
    table: ExportTable
    booking: Booking
    days: DayBounds
    groups: tuple[LineGroup, ...]
    row_count: int
    charge: Decimal
    payable: Decimal
    without_money_ms: int
    payers: Mapping[str, Payer]
    journal: Sequence[Sequence[str]] = ()

    @property
    def name(self) -> str:
        """The name of the file; a FOCUS file is named with its version."""
        return name_of(self.request, self.booking)

    def parameters(self) -> dict[str, Any]:
        """Parameters of every statement over its rows."""
        booking = self.booking
        return {
            "revision_id": booking.revision_id,
            "period": booking.period,
            "revision": booking.revision,
            "is_closed": booking.is_closed,
            "starts_at": instant(booking.starts_at),
            "ends_at": instant(booking.ends_at),
            "currency": booking.currency,
            "method": booking.method,
            "organization_id": booking.organization_id,
            "organization_name": booking.organization_name,
            "payers": json.dumps({s: asdict(one) for s, one in self.payers.items()}),
            "first_day": self.days.first,
            "day_starts": [instant(start) for start, _ in self.days.bounds],
            "day_ends": [instant(end) for _, end in self.days.bounds],
            "team": self.request.team,
            "journal": json.dumps(self.journal),
        }

    def context(self) -> FocusContext:
        """What its FOCUS rows have in common."""
        booking = self.booking
        return FocusContext(
            period=booking.period,
            revision=booking.revision,
            is_closed=booking.is_closed,
            starts_at=booking.starts_at,
            ends_at=booking.ends_at,
            currency=booking.currency,
            method=booking.method,
            organization_id=booking.organization_id,
            organization_name=booking.organization_name,
            team_names={slug: one.name for slug, one in self.payers.items()},
            days=self.days.by_day(),
        )


def name_of(request: ExportRequest, booking: Booking) -> str:
    """The name of a file: content, month, revision, and the team if it is of one."""
    what = request.profile if request.what == What.FOCUS else request.what
    team = f"_{request.team}" if request.team else ""
    stem = f"{what}_{booking.period}_{booking.revision_name}"
    return f"gpu-ledger_{stem}{team}.{request.format}"


def prepare(request: ExportRequest) -> Export:
    """Find the booking and count its rows; in the transaction that reads them.

    Raises:
        BookingError: the period has no booking.
        ExportError: the team has no statement in it, or a journal is not set up or lacks a cost
            center.
    """
    booking = booking_of(request.period, request.revision)
    days = day_bounds(booked_days(booking))
    payers = payers_of_booking(booking)
    statements = Statement.objects.filter(revision_id=booking.revision_id)
    payable = booking.payable
    if request.team is not None:
        statements = statements.filter(team=request.team)
        only = statements.first()
        if only is None:
            raise ExportError(f"{request.team} has no statement in {booking.name}")
        payable = only.payable
    if request.what is What.JOURNAL:
        return _journal(request, booking, days, payable, payers)
    table = table_of(request.what, request.profile)
    if request.what is What.STATEMENTS:
        rows = list(statements)
        lost = sum(row.without_money_ms for row in rows)
        total = sum((row.payable for row in rows), Decimal(0))
        return Export(
            request, table, booking, days, (), len(rows), total, payable, lost, payers
        )
    groups = _groups(table, booking, request.team)
    return Export(
        request,
        table,
        booking,
        days,
        groups,
        sum(group.row_count for group in groups),
        sum((group.charge for group in groups), Decimal(0)),
        payable,
        sum(group.without_money_ms for group in groups),
        payers,
    )


def _journal(
    request: ExportRequest,
    booking: Booking,
    days: DayBounds,
    payable: Decimal,
    payers: Mapping[str, Payer],
) -> Export:
    """A journal has no lines of the booking: its rows are made from statements."""
    form = journal_map()
    if form is None:
        raise ExportError(NOT_SET_UP)
    try:
        rows, debits = rows_to_post(form, booking, request.team)
    except JournalError as error:
        raise ExportError(str(error)) from None
    table = journal_table(form)
    return Export(
        request, table, booking, days, (), len(rows), debits, payable, 0, payers, rows
    )


def _groups(
    table: ExportTable, booking: Booking, team: str | None
) -> tuple[LineGroup, ...]:
    with connection.cursor() as cursor:
        cursor.execute(
            group_totals(table, booking),
            {"revision_id": booking.revision_id, "only_team": team},
        )
        return tuple(LineGroup(*row) for row in cursor.fetchall())


def instant(at: datetime) -> str:
    """ISO 8601 in UTC with `Z`; milliseconds only where there are any."""
    moment = at.astimezone(UTC)
    digits = f".{moment.microsecond // 1000:03d}" if moment.microsecond else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}{digits}Z"
