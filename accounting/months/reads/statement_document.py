"""The document of one statement: its tables, which add up to its payable (money.md M33).

Amounts of a document are in the currency's places. What the month's time comes to, entries and
corrections are a list each, whose total is the one in the table of the month (M6).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from operator import attrgetter
from typing import Any

from accounting.core.charge_lines import PLATFORM
from accounting.core.decimal_text import plain
from accounting.core.ledger_line import HELD_STATES
from accounting.core.money import NOTHING, Money, split_list
from accounting.months.reads.charges import ChargeRow, charge_rows
from accounting.months.reads.corrections import correction_rows
from accounting.months.reads.entries import EntryNote, entry_notes
from accounting.months.reads.lines import Booking
from accounting.months.reads.statements import StatementRow

ENTRY_KINDS = ("credit", "adjustment")
CAUSES = {
    "facts": "changed time",
    "mapping": "time of another team",
    "price": "changed price",
    "derived": "follows from other corrections",
}
"""Why a closed month would be another one today, in words (M32)."""
SHOWN_WORKLOADS = 20


@dataclass(frozen=True, slots=True)
class Item:
    """One row of a statement: what it is, its time by state, and its amount in cents.

    Attributes:
        raw_amount: six places; shown where the amount in the currency's places is 0.
        raw: of a correction, in currency-milliseconds, exact; shown where six places are 0, too.
        without_money_ms: the part of its time that has no price or conversion.
        entry: what a row of an entry says beside its amount.
    """

    label: tuple[str, ...]
    amount: Money
    raw_amount: Money
    ms: int = 0
    states: Mapping[str, int] = field(default_factory=dict)
    raw: Decimal = Decimal(0)
    without_money_ms: int = 0
    entry: EntryNote | None = None

    @property
    def is_held(self) -> bool:
        """Whether its states are those of held time."""
        return any(state in HELD_STATES for state in self.states)

    @property
    def has_no_amount(self) -> bool:
        """Whether none of its time has a price: its amount is not 0, it is not known."""
        return bool(self.without_money_ms) and self.without_money_ms == self.ms

    @property
    def title(self) -> str:
        """Its labels in one text; empty ones are left out."""
        if self.entry is not None:
            return self.entry.title
        text = " · ".join(one for one in self.label if one)
        return f"{text[:1].upper()}{text[1:]}"

    @property
    def exact_raw(self) -> str:
        """The raw amount without trailing zeros."""
        return plain(self.raw)


@dataclass(frozen=True, slots=True)
class StatementDocument:
    """The tables of one statement; those in the sum add up to the payable.

    Attributes:
        usage: by (model, tier), with time by state.
        platform: time that nobody held, by (model, state); only the platform's statement has it.
        spread: by state; entries: by (number, kind, day); corrections: by (month, cause).
        workloads, days: outside the sum, in six places: the 20 largest, and each day.
    """

    usage: tuple[Item, ...]
    platform: tuple[Item, ...]
    spread: tuple[Item, ...]
    differences: tuple[Item, ...]
    entries: tuple[Item, ...]
    corrections: tuple[Item, ...]
    rounding: tuple[Item, ...]
    total: Money
    workloads: tuple[Item, ...]
    other_workloads: Item | None
    days: tuple[Item, ...]
    idle: Item

    @property
    def free_ms(self) -> int:
        """Time that nobody held."""
        return sum(one.ms for one in self.platform)


PARTS = ("usage", "platform", "spread", "differences", "entries", "corrections")
_TOTALS: dict[str, Callable[[StatementRow], Money]] = {
    "entries": attrgetter("entries"),
    "corrections": attrgetter("corrections"),
}
_ROUNDING = ("rounding", "rounding")
_BY = ("kind", "model", "tier", "state", "reference", "day")


def document(booking: Booking, row: StatementRow) -> StatementDocument:
    """The tables of a team's statement, from its lines."""
    only = {"team": [row.team]}
    own = charge_rows(booking, _BY, only | {"corrects": [""]})
    cells = _cells(own) | _corrections(booking, row.team)
    amounts = _rounded(cells, row, booking)
    notes = entry_notes(
        (key[2] for key in cells if key[0] == "entries"),
        is_platform=row.team == PLATFORM,
    )
    parts: dict[str, list[Item]] = {}
    for (part, *label), cell in sorted(cells.items()):
        key = (part, *label)
        parts.setdefault(part, []).append(
            Item(
                tuple(label),
                amounts[key],
                Money(cell.charge, booking.currency),
                cell.ms,
                cell.states,
                cell.raw,
                cell.without_money_ms,
                notes.get(label[1]) if part == "entries" else None,
            )
        )
    workloads = _by_charge(booking, only, ("namespace", "workload_kind", "workload"))
    days = charge_rows(booking, ("day",), only | {"kind": ["usage"], "corrects": [""]})
    return StatementDocument(
        **{name: tuple(parts.get(name, ())) for name in (*PARTS, "rounding")},
        total=row.payable,
        workloads=tuple(workloads[:SHOWN_WORKLOADS]),
        other_workloads=_other(workloads[SHOWN_WORKLOADS:], booking.currency),
        days=tuple(_item(one, ("day",), booking.currency) for one in days),
        idle=_idle(booking, only),
    )


@dataclass(slots=True)
class _Cell:
    charge: Decimal = Decimal(0)
    ms: int = 0
    states: dict[str, int] = field(default_factory=dict)
    raw: Decimal = Decimal(0)
    without_money_ms: int = 0


def _cells(rows: Iterable[ChargeRow]) -> dict[tuple[str, ...], _Cell]:
    """The finest cells of a document: one amount for each row that it shows."""
    cells: dict[tuple[str, ...], _Cell] = {}
    for row in rows:
        cell = cells.setdefault(_place(row.fields), _Cell())
        cell.charge += row.charge
        cell.ms += row.ms
        cell.without_money_ms += row.without_money_ms
        state = row.fields["state"]
        cell.states[state] = cell.states.get(state, 0) + row.ms
    return cells


def _rounded(
    cells: dict[tuple[str, ...], _Cell], row: StatementRow, booking: Booking
) -> dict[tuple[str, ...], Money]:
    """Amounts by cell, each list to its rounded total; a cell of rounding is what then is left."""
    amounts: dict[tuple[str, ...], Money] = {}
    own = [part for part in PARTS if part not in _TOTALS]
    lists = [([part], _TOTALS[part](row)) for part in _TOTALS] + [(own, row.charge)]
    for parts, total in lists:
        mine = {
            key: (cell.charge, booking.currency)
            for key, cell in cells.items()
            if key[0] in parts
        }
        amounts |= split_list(mine, booking.minor_places, total=total.rounded())
    left = row.payable - sum(amounts.values(), NOTHING)
    if left.amount or _ROUNDING in cells:
        cells.setdefault(_ROUNDING, _Cell())
        amounts[_ROUNDING] = left
    return amounts


def _corrections(booking: Booking, team: str) -> dict[tuple[str, ...], _Cell]:
    """Differences to closed months by cause; time is one number, as states differ in sign."""
    return {
        ("corrections", one.corrects, CAUSES[one.cause]): _Cell(
            one.charge, one.ms, raw=one.raw
        )
        for one in correction_rows(booking, [team])
    }


def _place(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The part of the document, and the labels there."""
    kind = fields["kind"]
    if kind in ENTRY_KINDS:
        return ("entries", str(fields["day"]), fields["reference"], kind)
    return {
        "usage": ("usage", fields["model"], fields["tier"]),
        "platform": ("platform", fields["model"], fields["state"]),
        "spread": ("spread", fields["state"]),
        "difference": ("differences", fields["model"], fields["tier"]),
    }.get(kind, ("rounding", kind))


def _by_charge(
    booking: Booking, only: Mapping[str, Sequence[str]], by: tuple[str, ...]
) -> list[Item]:
    rows = charge_rows(booking, by, {**only, "kind": ["usage"], "corrects": [""]})
    items = [_item(row, by, booking.currency) for row in rows]
    return sorted(items, key=lambda one: (-one.amount.amount, one.label))


def _item(row: ChargeRow, by: tuple[str, ...], currency: str) -> Item:
    amount = Money(row.charge, currency)
    label = tuple(
        value.isoformat() if isinstance(value, date) else value
        for value in (row.fields[name] for name in by)
    )
    return Item(label, amount, amount, row.ms, without_money_ms=row.without_money_ms)


def _other(rest: Sequence[Item], currency: str) -> Item | None:
    if not rest:
        return None
    amount = Money(sum((one.amount.amount for one in rest), Decimal(0)), currency)
    return Item(
        (str(len(rest)),),
        amount,
        amount,
        sum(one.ms for one in rest),
        without_money_ms=sum(one.without_money_ms for one in rest),
    )


def _idle(booking: Booking, only: Mapping[str, Sequence[str]]) -> Item:
    """Held time that was observed and not used: paid, or the platform's by busy-v1."""
    filters = {**only, "kind": ["usage"], "state": ["idle"], "corrects": [""]}
    rows = charge_rows(booking, (), filters)
    if not rows:
        nothing = Money(Decimal(0), booking.currency)
        return Item(("idle",), nothing, nothing)
    [row] = rows
    amount = Money(row.charge, booking.currency)
    return Item(
        ("idle",), amount, amount, row.ms, without_money_ms=row.without_money_ms
    )
