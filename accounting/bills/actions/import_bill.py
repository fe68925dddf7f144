"""Imports the bills of a file: a dry run, then all or nothing (money.md M41)."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import IO, Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet
from psycopg.errors import QueryCanceled

from accounting.access.reads.billing_settings import billing_at
from accounting.bills.actions.finals import set_final
from accounting.bills.actions.match_lines import match_again, match_all
from accounting.bills.actions.read_file import Bounds
from accounting.bills.actions.stage_rows import RowFault, StagedBill, stage_rows
from accounting.bills.models import Bill
from accounting.bills.rules.columns import BillFileError
from accounting.bills.rules.words import MATCHED, UNMATCHED
from accounting.core.interval import to_instant
from accounting.kit.audit import Actor, act
from accounting.kit.locks import lock, try_lock
from accounting.prices.sql.conversion_sql import fx

_JOINED = """
    FROM bill_row r JOIN bill_match m
      ON m.bill = r.bill AND m.billing_on = r.billing_on
     AND m.sub_account = r.sub_account AND m.resource = r.resource
"""
_SUMS = (
    f"SELECT r.bill, m.word, sum(r.rows), sum(r.cost) {_JOINED} GROUP BY r.bill, m.word"
)
_CONVERTED = f"""
    SELECT bill, sum(cost * rate), coalesce(sum(rows) FILTER (WHERE rate IS NULL), 0)
    FROM (
        SELECT r.bill, r.rows, r.cost, {fx("b.currency", "r.billing_on")} AS rate
        FROM bill_row r
        JOIN unnest(%(bills)s::int[], %(currencies)s::text[]) AS b(bill, currency) USING (bill)
    ) row GROUP BY bill
"""
_LINES = f"""
    INSERT INTO accounting_billline
        (bill_id, billing_on, sub_account, resource, resource_name, service, rows, cost,
         word, node_id, cluster_id)
    SELECT %s, r.billing_on, r.sub_account, r.resource, max(r.resource_name), r.service,
           sum(r.rows), sum(r.cost), m.word, m.node_id, m.cluster_id
    {_JOINED}
    WHERE r.bill = %s
    GROUP BY r.billing_on, r.sub_account, r.resource, r.service, m.word, m.node_id, m.cluster_id
"""


@dataclass(slots=True)
class ReadBill:
    """One bill of a file.

    Attributes:
        rows: by word, left out ones too.
        cost: by word, exact, in `currency`.
        revision: that it gets, or has.
        is_known: the same file is in effect already: nothing is imported.
        elsewhere: rows whose charge period is not in the billing period.
        unconverted_rows: rows without a conversion (M16).
        billed: in the billing currency; None where a row has no conversion.
        number: of the stored bill; None in a dry run.
    """

    account: str
    provider: str
    month: str
    starts_at: datetime
    ends_at: datetime
    currency: str
    revision: int
    is_known: bool
    elsewhere: int
    rows: Counter[str] = field(default_factory=Counter)
    cost: dict[str, Decimal] = field(default_factory=dict)
    unconverted_rows: int = 0
    billed: Decimal | None = None
    number: int | None = None

    @property
    def total(self) -> Decimal:
        """What it comes to."""
        return sum(self.cost.values(), Decimal(0))

    @property
    def matched(self) -> Decimal:
        """What is of nodes and clusters."""
        return sum((self.cost.get(word, Decimal(0)) for word in MATCHED), Decimal(0))

    @property
    def unmatched_rows(self) -> int:
        """Rows that are of no node and no cluster."""
        return sum(self.rows[word] for word in UNMATCHED)


@dataclass(frozen=True, slots=True)
class BillImport:
    """What an import, or its dry run, found.

    Attributes:
        rows: of the file.
        fault_words, faults: rows that cannot be used, by word and the first ones; with any of
            them nothing is imported.
    """

    file_name: str
    rows: int
    bills: Sequence[ReadBill]
    fault_words: Counter[str]
    faults: Sequence[RowFault]
    is_saved: bool


class BillsBusy(Exception):
    """Another file is being imported or checked; nothing was done."""

    retry_after_s = 30


def bounds_of_request() -> Bounds:
    """What a file that a request sends may take: a request has to end before its proxy gives up."""
    return Bounds(lines=2_000_000, characters=512 << 20, seconds=45)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is imported, how and by whom."""

    name: str
    sha256: str
    saves: bool
    is_final: bool
    actor: Actor
    now: datetime
    bounds: Bounds


def import_bill(
    file: IO[bytes],
    *,
    name: str,
    saves: bool,
    is_final: bool = False,
    actor: Actor,
    now: datetime,
    bounds: Bounds | None = None,
) -> BillImport:
    """Read a file and, with `saves`, store its bills; without it, change nothing.

    A bill whose file is already in effect is not stored again; its lines are matched again.
    Another file for the same account and billing period is the next revision.

    Args:
        file: CSV, compressed CSV or Parquet; can be read again from its start.
        name: of the file, for people.
        is_final: the provider has closed the billing period.
        bounds: of a request, which does not wait for the import of another file either; None: of
            a command.

    Raises:
        BillFileError: the file cannot be used, or needs more than the bounds; nothing was
            imported.
        BillsBusy: another file is being imported; not without bounds.
    """
    file.seek(0)
    sha256 = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # any file
    wanted = _Wanted(
        name[:253], sha256, saves, is_final, actor, now, bounds or Bounds()
    )
    try:
        with act(actor, f"Import the bill {name}"[:200]):
            if bounds is None:
                lock("bills", 0)
            elif not try_lock("bills", 0):
                raise BillsBusy("another file is being imported: try again in a minute")
            found = _import(file, wanted)
            if not found.is_saved:
                transaction.set_rollback(True)
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise wanted.bounds.late() from error
        raise
    return found


def _import(file: IO[bytes], wanted: _Wanted) -> BillImport:
    _limit_statements(wanted.bounds)
    staged = stage_rows(file, wanted.bounds)
    if not staged.rows:
        raise BillFileError("the file has no rows")
    pairs = [(bill, _read_bill(bill, wanted)) for bill in staged.bills.values()]
    _limit_statements(wanted.bounds)
    _match(pairs, wanted.bounds)
    _convert(pairs, billing_at(wanted.now).currency)
    is_saved = wanted.saves and not staged.faults
    if is_saved:
        _limit_statements(wanted.bounds)
        for bill, read in pairs:
            if not read.is_known:
                _store(bill, read, wanted)
        for _, read in pairs:
            if read.is_known:
                _seen_again(read, wanted)
    return BillImport(
        file_name=wanted.name,
        rows=staged.rows,
        bills=[read for _, read in pairs],
        fault_words=staged.fault_words,
        faults=staged.faults,
        is_saved=is_saved,
    )


def _read_bill(bill: StagedBill, wanted: _Wanted) -> ReadBill:
    starts_at, ends_at = to_instant(bill.key.start_ms), to_instant(bill.key.end_ms)
    latest = _revisions(bill.key.account, starts_at, ends_at).first()
    is_known = latest is not None and latest.sha256 == wanted.sha256
    before = latest.revision if latest else 0
    return ReadBill(
        account=bill.key.account,
        provider=bill.provider,
        month=f"{starts_at + (ends_at - starts_at) / 2:%Y-%m}",
        starts_at=starts_at,
        ends_at=ends_at,
        currency=bill.currency,
        revision=before if is_known else before + 1,
        is_known=is_known,
        elsewhere=bill.elsewhere,
        rows=Counter(bill.left_out),
        number=latest.pk if latest and is_known else None,
    )


def _revisions(account: str, starts_at: datetime, ends_at: datetime) -> QuerySet[Bill]:
    """The bills of an account and billing period, newest first."""
    found = Bill.objects.filter(account=account, starts_at=starts_at, ends_at=ends_at)
    return found.order_by("-revision")


def _limit_statements(bounds: Bounds) -> None:
    """No statement of this transaction outlasts the time that is left."""
    bounds.check_time()
    if bounds.left_ms is not None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {bounds.left_ms or 1:d}")


def _match(pairs: Sequence[tuple[StagedBill, ReadBill]], bounds: Bounds) -> None:
    """Match the rows, and sum them by word."""
    match_all(
        "SELECT DISTINCT bill, billing_on, sub_account, resource FROM bill_row",
        {bill.number: read.account for bill, read in pairs},
        bounds.check_time,
    )
    by_number = {bill.number: read for bill, read in pairs}
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE bill_row, bill_match")
        cursor.execute(_SUMS)
        for number, word, rows, cost in cursor.fetchall():
            by_number[number].rows[word] += rows
            by_number[number].cost[word] = cost


def _convert(pairs: Sequence[tuple[StagedBill, ReadBill]], currency: str) -> None:
    """What each bill comes to in the billing currency, as reports will say."""
    by_number = {bill.number: read for bill, read in pairs}
    values: dict[str, Any] = {
        "bills": list(by_number),
        "currencies": [read.currency for read in by_number.values()],
        "currency": currency,
    }
    with connection.cursor() as cursor:
        cursor.execute(_CONVERTED, values)
        for number, billed, unconverted in cursor.fetchall():
            by_number[number].unconverted_rows = unconverted
            by_number[number].billed = None if unconverted else billed


def _seen_again(read: ReadBill, wanted: _Wanted) -> None:
    bill = Bill.objects.get(pk=str(read.number))
    match_again(bill, actor=wanted.actor)
    if wanted.is_final and not bill.is_final:
        reason = "The same file was imported as final."
        set_final(bill, actor=wanted.actor, reason=reason)


def _store(staged: StagedBill, read: ReadBill, wanted: _Wanted) -> None:
    same = _revisions(read.account, read.starts_at, read.ends_at)
    for before in same.filter(replaced_at=None):
        before.replaced_at = wanted.now
        before.save(update_fields=["replaced_at"])
    actor = wanted.actor
    bill = Bill.objects.create(
        account=read.account,
        provider=read.provider,
        starts_at=read.starts_at,
        ends_at=read.ends_at,
        month=read.month,
        revision=read.revision,
        currency=read.currency,
        file_name=wanted.name,
        sha256=wanted.sha256,
        rows=dict(read.rows) | {"elsewhere": read.elsewhere},
        is_final=wanted.is_final,
        imported_at=wanted.now,
        imported_by=actor if isinstance(actor, AbstractBaseUser) else None,  # type: ignore[misc]  # ours
    )
    with connection.cursor() as cursor:
        cursor.execute(_LINES, [bill.pk, staged.number])
    read.number = bill.pk
