"""The rows of one statement, as `manage.py statement` prints them."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from accounting.core.interval import HOUR_MS
from accounting.months.models.period import PeriodRevision, Statement
from accounting.months.reads.charges import ChargeRow, charge_rows
from accounting.months.reads.corrections import correction_rows
from accounting.months.reads.lines import Booking

_OWN = ("kind", "model", "tier", "state")
_ORDER = ("usage", "platform", "spread", "difference", "credit", "adjustment")


def statement_table(booking: Booking, team: str) -> list[dict[str, str]]:
    """What a team pays: each row is in the sum, and the last one is the payable.

    Amounts have six places. Time is in GPU-hours.
    """
    rows = [
        *_own(charge_rows(booking, _OWN, {"team": [team], "corrects": [""]})),
        *_entries(booking, team),
        *_corrections(booking, team),
    ]
    found = Statement.objects.get(revision_id=booking.revision_id, team=team)
    rounding = found.payable - found.total6
    if rounding:
        rows.append(_row("rounding", "", "", None, rounding))
    rows.append(_row("payable", "", "", None, found.payable))
    return rows


def notes(booking: Booking, team: str) -> Iterator[str]:
    """What a reader must know beside the amounts."""
    found = Statement.objects.get(revision_id=booking.revision_id, team=team)
    if found.without_money_ms:
        yield (
            f"{_hours(found.without_money_ms)} GPU-hours have no price or conversion and are "
            "not charged"
        )
    if found.idle_ms:
        yield f"{_hours(found.idle_ms)} GPU-hours were held and not used"
    revision = PeriodRevision.objects.get(pk=booking.revision_id)
    for check in revision.checks:
        if one := check["override"]:
            yield (
                f"closed although {check['message']}: {one['reason']} "
                f"({one['requested_by']}, {one['confirmed_by']})"
            )


def _own(rows: list[ChargeRow]) -> Iterator[dict[str, str]]:
    """Usage, platform, spread and difference; entries and rounding have rows of their own."""
    wanted = [row for row in rows if row.fields["kind"] in _ORDER[:4]]
    for row in sorted(wanted, key=_place):
        of = " ".join(filter(None, (row.fields["model"], row.fields["tier"])))
        yield _row(row.fields["kind"], of, row.fields["state"], row.ms, row.charge)


def _place(row: ChargeRow) -> tuple[Any, ...]:
    fields: Mapping[str, Any] = row.fields
    return _ORDER.index(fields["kind"]), *(fields[name] for name in _OWN[1:])


def _entries(booking: Booking, team: str) -> Iterator[dict[str, str]]:
    filters = {"team": [team], "corrects": [""], "kind": list(_ORDER[4:])}
    for row in charge_rows(booking, ("day", "reference", "kind"), filters):
        of = f"{row.fields['reference']} of {row.fields['day']}"
        yield _row(row.fields["kind"], of, "", None, row.charge)


def _corrections(booking: Booking, team: str) -> Iterator[dict[str, str]]:
    for row in correction_rows(booking, [team]):
        yield _row("correction", row.corrects, row.cause, row.ms, row.charge)


def _row(
    part: str, of: str, state: str, ms: int | None, charge: Decimal
) -> dict[str, str]:
    return {
        "part": part,
        "of": of,
        "state": state,
        "gpu_hours": "" if ms is None else _hours(ms),
        "charge": f"{charge:.6f}",
    }


def _hours(ms: int) -> str:
    return f"{Decimal(ms) / HOUR_MS:.4f}"
