"""The rows of a file in a temporary table, streamed: memory does not grow with them."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from typing import IO

from babel.numbers import list_currencies
from django.db import connection

from accounting.access.reads.billing_settings import (
    billing_day,
    billing_remembered,
    midnight,
)
from accounting.bills.actions.read_file import Bounds, NumberedRow, rows_of
from accounting.bills.rules.columns import columns_of
from accounting.bills.rules.rows import BilledRow, BillKey, RowError, RowReader
from accounting.core.billing_calendar import DAY
from accounting.core.interval import to_instant, to_ms
from accounting.metering.tasks.bulk_copy import copying

MOST_FAULTS = 50  # that are listed
_TABLE = """
    CREATE TEMPORARY TABLE bill_row (
        bill int, billing_on date, sub_account text, resource text, resource_name text,
        service text, rows int, cost numeric(38, 16)
    ) ON COMMIT DROP
"""


@dataclass(frozen=True, slots=True)
class RowFault:
    """A row that cannot be used: line, word and what is wrong."""

    line: int
    word: str
    message: str


@dataclass(slots=True)
class StagedBill:
    """One bill of a file: `bill` in the temporary table is its number.

    Attributes:
        left_out: rows by word that are not in the table.
        elsewhere: rows whose charge period is not in the billing period.
    """

    number: int
    key: BillKey
    currency: str
    provider: str
    left_out: Counter[str] = field(default_factory=Counter)
    elsewhere: int = 0


@dataclass(slots=True)
class Staged:
    """What was read of a file; `faults` are the first ones."""

    rows: int = 0
    bills: dict[BillKey, StagedBill] = field(default_factory=dict)
    fault_words: Counter[str] = field(default_factory=Counter)
    faults: list[RowFault] = field(default_factory=list)


def stage_rows(file: IO[bytes], bounds: Bounds) -> Staged:
    """Fill the temporary table `bill_row`, in the transaction of the caller.

    Raises:
        BillFileError: the file cannot be used.
    """
    staged = Staged()
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS bill_row")
        cursor.execute(_TABLE)
    with (
        billing_remembered(),
        closing(rows_of(file, bounds)) as rows,
        copying("COPY bill_row FROM STDIN") as copy,
    ):
        for bill, row in _read(rows, staged):
            for n, (day, cost) in enumerate(row.parts):
                copy.write_row(
                    (
                        *(bill.number, day, row.sub_account, row.resource),
                        *(row.resource_name, row.service, int(n == 0), cost),
                    )
                )
    return staged


def _read(
    rows: Iterator[NumberedRow], staged: Staged
) -> Iterator[tuple[StagedBill, BilledRow]]:
    """The rows that count; others are counted."""
    _, header = next(rows)
    reader = RowReader(columns_of(header), frozenset(list_currencies()), days_of)
    for line, cells in rows:
        staged.rows += 1
        try:
            row = reader.read(cells)
        except RowError as error:
            staged.fault_words[error.word] += 1
            if len(staged.faults) < MOST_FAULTS:
                staged.faults.append(RowFault(line, error.word, str(error)))
            continue
        bill = staged.bills.get(row.bill)
        if bill is None:
            bill = StagedBill(len(staged.bills), row.bill, row.currency, row.provider)
            staged.bills[row.bill] = bill
        bill.provider = bill.provider or row.provider
        if row.word:
            bill.left_out[row.word] += 1
            continue
        bill.elsewhere += row.is_elsewhere
        yield bill, row


def days_of(start_ms: int, end_ms: int) -> list[tuple[date, int]]:
    """The billing days of a charge period with their milliseconds of it; at least one."""
    day = billing_day(to_instant(start_ms))
    found = []
    while True:
        after = to_ms(midnight(day + DAY))
        found.append((day, min(after, end_ms) - start_ms))
        if after >= end_ms:
            return found
        start_ms, day = after, day + DAY
