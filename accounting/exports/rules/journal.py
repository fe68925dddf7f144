"""The journal of a month for an ERP system: what each payer is charged, as debits and credits.

Each statement of a team is two lines of one amount: its payable is debited to the expense account
and the cost center of the team, and credited to the recovery account and the cost center of the
platform, which has paid the bills. So each pair is balanced to the cent, and the file is. A payable
below zero swaps debit and credit. The platform's own statement and time without a team stay where
they are: nobody else pays them, and they have no lines.

A revision posts only the difference to the revision before it (decision 55).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

DEBIT, CREDIT = "debit", "credit"
AMOUNTS = frozenset({"debit", "credit", "amount", "signed_amount"})
FIELDS = AMOUNTS | {
    *("account", "cost_center", "department", "team", "name", "currency"),
    *("date", "period", "reference", "line", "side", "text"),
}
"""What a column of a journal can have; those of `AMOUNTS` are numbers, all others text."""
DATES = {
    "YYYY-MM-DD": "%Y-%m-%d",
    "YYYYMMDD": "%Y%m%d",
    "DD.MM.YYYY": "%d.%m.%Y",
    "MM/DD/YYYY": "%m/%d/%Y",
    "DD/MM/YYYY": "%d/%m/%Y",
}


@dataclass(frozen=True, slots=True)
class JournalColumn:
    """A column of the file: a field, or the same value in each row.

    Attributes:
        field: of `FIELDS`; "" if each row has `value`.
        format: of a date, a key of `DATES`.
        debit, credit: what the field `side` says, such as the posting keys 40 and 50.
    """

    name: str
    field: str = ""
    value: str = ""
    format: str = "YYYY-MM-DD"
    debit: str = DEBIT
    credit: str = CREDIT


@dataclass(frozen=True, slots=True)
class JournalMap:
    """How an ERP system names what a journal has.

    Attributes:
        expense_account: debited to teams.
        recovery_account: credited to the platform.
        cost_center, department: of the platform.
        text: of each line, with `{period}`, `{name}`, `{team}` and `{reference}`.
    """

    expense_account: str
    recovery_account: str
    columns: tuple[JournalColumn, ...]
    cost_center: str = ""
    department: str = ""
    text: str = "GPU time {period}, {name}"

    @property
    def names_cost_centers(self) -> bool:
        """Whether each line has to have one."""
        return any(one.field == "cost_center" for one in self.columns)

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "JournalMap":
        """The map from what is stored."""
        columns = tuple(JournalColumn(**one) for one in settings["columns"])
        return cls(**{**settings, "columns": columns})


@dataclass(frozen=True, slots=True)
class JournalPayer:
    """Who is charged, as the revision names it; another name alone is the same payer."""

    team: str
    name: str = field(compare=False)
    department: str
    cost_center: str


@dataclass(frozen=True, slots=True)
class JournalHead:
    """What all lines of a journal have in common.

    Attributes:
        reference: `2026-10-r1`; of a draft `2026-10-draft`.
        on: the day of posting, the last of the month.
    """

    period: str
    reference: str
    on: date
    currency: str


Payables = Mapping[JournalPayer, Decimal]


def to_post(payables: Payables, posted: Payables) -> dict[JournalPayer, Decimal]:
    """What is still to be posted by payer: what is paid now, less what was posted before.

    A payer is a team with its cost center: where that is another one than in the revision before,
    the old one is credited in full and the new one is charged in full.

    Args:
        payables: of this revision.
        posted: of the revision before it; empty for the first one.
    """
    payers = sorted(
        dict.fromkeys((*payables, *posted)), key=lambda one: (one.team, one.cost_center)
    )
    amounts = {
        one: payables.get(one, Decimal(0)) - posted.get(one, Decimal(0))
        for one in payers
    }
    return {payer: amount for payer, amount in amounts.items() if amount}


def journal_rows(
    form: JournalMap, head: JournalHead, amounts: Mapping[JournalPayer, Decimal]
) -> list[list[str]]:
    """The cells of each line, in the order of the columns; an amount is plain text or ""."""
    lines = _lines(form, head, amounts)
    return [
        [_cell(column, line, head, number) for column in form.columns]
        for number, line in enumerate(lines, start=1)
    ]


def without_cost_center(payers: Iterable[JournalPayer]) -> list[str]:
    """The names of the payers that no ERP system could post to."""
    return sorted({one.name for one in payers if not one.cost_center})


def _lines(
    form: JournalMap, head: JournalHead, amounts: Mapping[JournalPayer, Decimal]
) -> Iterator[dict[str, str]]:
    for payer, amount in amounts.items():
        common = {
            "team": payer.team,
            "name": payer.name,
            "currency": head.currency,
            "period": head.period,
            "reference": head.reference,
        }
        common["text"] = form.text.format_map(common)
        yield common | {
            "account": form.expense_account,
            "cost_center": payer.cost_center,
            "department": payer.department,
            **_amounts(amount),
        }
        yield common | {
            "account": form.recovery_account,
            "cost_center": form.cost_center,
            "department": form.department,
            **_amounts(-amount),
        }


def _amounts(debited: Decimal) -> dict[str, str]:
    """The amount of a line in each field that says it; below zero it is a credit."""
    size = f"{abs(debited):f}"
    is_debit = debited > 0
    return {
        "side": DEBIT if is_debit else CREDIT,
        "amount": size,
        "signed_amount": f"{debited:f}",
        "debit": size if is_debit else "",
        "credit": "" if is_debit else size,
    }


def _cell(
    column: JournalColumn, line: Mapping[str, str], head: JournalHead, number: int
) -> str:
    match column.field:
        case "":
            return column.value
        case "line":
            return str(number)
        case "date":
            return head.on.strftime(DATES[column.format])
        case "side":
            return column.debit if line["side"] == DEBIT else column.credit
    return line[column.field]
