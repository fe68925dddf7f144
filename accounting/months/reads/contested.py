"""What a team can contest on its statement: the whole, a row, or a line (money.md M34)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from accounting.core.charge_lines import KIND_TITLES
from accounting.months.models.charge import ChargeLine, RunningLine
from accounting.months.models.contest import Contested
from accounting.months.reads.lines import Booking
from accounting.months.reads.statement_document import (
    PARTS,
    StatementDocument,
    document,
)
from accounting.months.reads.statements import StatementRow

PART_TITLES = {
    "usage": "",
    "platform": "Held by nobody",
    "spread": "Spread",
    "differences": "Difference to other prices",
    "entries": "Entry",
    "corrections": "Correction",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that can be contested, as it is now.

    Attributes:
        of: statement, row or line.
        key: "" of the statement; JSON of a row's part and labels; the id of a line.
        title: in words.
        amount: None where none of its time has a price.
    """

    of: str
    key: str
    title: str
    amount: Decimal | None


def row_key(part: str, label: tuple[str, ...]) -> str:
    """The key of a row of a statement: the same for the same labels, in every revision."""
    return json.dumps([part, *label], ensure_ascii=False, separators=(",", ":"))


def subjects(row: StatementRow, found: StatementDocument) -> Iterator[Subject]:
    """The whole statement and its rows, in their order. Rounding cannot be contested alone."""
    yield Subject(Contested.STATEMENT, "", "The whole statement", row.payable.amount)
    for part in PARTS:
        for item in getattr(found, part):
            words = [one for one in (PART_TITLES[part], item.title) if one]
            yield Subject(
                Contested.ROW,
                row_key(part, item.label),
                " · ".join(words) or part.capitalize(),
                None if item.has_no_amount else item.amount.amount,
            )


def subject_of(
    booking: Booking, row: StatementRow, of: str, key: str
) -> Subject | None:
    """What a key names on a statement; None if there is no such thing."""
    if of == Contested.LINE:
        return _line(booking, row.team, key)
    return next(
        (
            one
            for one in subjects(row, document(booking, row))
            if (one.of, one.key) == (of, key)
        ),
        None,
    )


def _line(booking: Booking, team: str, line_id: str) -> Subject | None:
    model = ChargeLine if booking.is_closed else RunningLine
    line = model.objects.filter(
        revision_id=booking.revision_id, line_id=line_id, team=team
    ).first()
    if line is None:
        return None
    place = "/".join(
        one for one in (line.namespace, line.workload_kind, line.workload) if one
    )
    day: date | None = line.billing_on
    words = (
        KIND_TITLES.get(line.kind, line.kind),
        f"{day:%-d %b %Y}" if day else "",
        *(line.cluster, place, line.model, line.state),
    )
    title = " · ".join(one for one in words if one)
    return Subject(Contested.LINE, line_id, title, line.charge)
