"""The journal of a month: its columns and rows, from the statements of a revision."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from accounting.core.charge_lines import NAMES
from accounting.core.read_once import read_once
from accounting.exports.models import JournalSettings
from accounting.exports.rules.column_types import FileColumn, decimal_column
from accounting.exports.rules.journal import (
    AMOUNTS,
    JournalHead,
    JournalMap,
    JournalPayer,
    journal_rows,
    to_post,
    without_cost_center,
)
from accounting.exports.sql.file_tables import ExportTable, What
from accounting.months.models.period import Statement
from accounting.months.reads.lines import Booking, booking_of
from accounting.months.reads.payers import Payer, payer_of, payers_of_booking

NOT_SET_UP = "no journal is set up: add the section `journal` to the setup file"


class JournalError(ValueError):
    """The journal cannot be written."""


def journal_map() -> JournalMap | None:
    """The column map of the setup file; None without one."""
    found = JournalSettings.objects.first()
    return None if found is None else JournalMap.of(found.settings)


@read_once
def has_journal() -> bool:
    """Whether there is one."""
    return JournalSettings.objects.exists()


def journal_table(form: JournalMap) -> ExportTable:
    """Its columns; the cells of a row are an array of texts."""
    columns = tuple(
        decimal_column(one.name, 6) if one.field in AMOUNTS else FileColumn(one.name)
        for one in form.columns
    )
    cells = {
        one.name: f"nullif(l.cells ->> {number}, '')::numeric"
        if one.field in AMOUNTS
        else f"coalesce(l.cells ->> {number}, '')"
        for number, one in enumerate(form.columns)
    }
    return ExportTable(What.JOURNAL, columns, cells)


def rows_to_post(
    form: JournalMap, booking: Booking, team: str | None
) -> tuple[list[list[str]], Decimal]:
    """The lines of a booking, and the sum of their debits.

    Args:
        form: the column map.
        booking: a closed revision, or the running one as a draft.
        team: only its lines.

    Raises:
        JournalError: a payer has no cost center, and a column of the file has it.
    """
    posted: dict[JournalPayer, Decimal] = {}
    if booking.revision > 1:
        posted = _payables(booking_of(booking.period, booking.revision - 1), team)
    amounts = to_post(_payables(booking, team), posted)
    if form.names_cost_centers:
        _check_cost_centers(booking, amounts, posted)
    last = booking.ends_at.astimezone(ZoneInfo(booking.timezone)) - timedelta(days=1)
    # of a draft it is another one: an ERP system refuses the second import of a reference
    name = booking.name if booking.is_closed else f"{booking.period}-draft"
    head = JournalHead(booking.period, name, last.date(), booking.currency)
    debits = sum((abs(amount) for amount in amounts.values()), Decimal(0))
    return journal_rows(form, head, amounts), debits


def _check_cost_centers(
    booking: Booking,
    amounts: Mapping[JournalPayer, Decimal],
    posted: Mapping[JournalPayer, Decimal],
) -> None:
    """Refuse payers without a cost center; a closed revision keeps those that it froze."""
    if lacking := without_cost_center(one for one in amounts if one not in posted):
        raise JournalError(
            f"a journal needs the cost center of each payer; without one: {_named(lacking)}"
        )
    if lacking := without_cost_center(amounts):
        raise JournalError(
            f"{booking.period}-r{booking.revision - 1} was closed without the cost center of"
            f" {_named(lacking)}, and the difference to it needs one: take the column of cost"
            " centers out of the section `journal`, and export both revisions without it"
        )


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _payables(booking: Booking, team: str | None) -> dict[JournalPayer, Decimal]:
    payers = payers_of_booking(booking)
    found = Statement.objects.filter(revision_id=booking.revision_id)
    if team is not None:
        found = found.filter(team=team)
    payables = found.exclude(team__in=NAMES).values_list("team", "payable")
    return {_payer(slug, payers): payable for slug, payable in payables}


def _payer(slug: str, payers: dict[str, Payer]) -> JournalPayer:
    one = payer_of(payers, slug)
    return JournalPayer(slug, one.name, one.department, one.cost_centre)
