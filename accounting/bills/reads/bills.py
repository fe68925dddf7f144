"""Bills of providers: what each came to, what was matched, and what was not (money.md M41-M43)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from accounting.access.scope import Scope
from accounting.bills.models import Bill
from accounting.bills.reads.bill_variance import Variance, total_variance, variance_rows
from accounting.bills.rules.words import LEFT_OUT, MATCHED, UNMATCHED
from accounting.core.interval import HOUR_MS
from accounting.kit.reads.paging import ALL_ROWS, Key, Seek, seek_rows
from accounting.kit.rows import TextOrNull, column, derived, listed, member
from accounting.prices.sql import conversion_sql

MOST_UNMATCHED = 200  # groups of lines that are shown

_SUMS = f"""
WITH daily AS (
    SELECT bill_id, word, billing_on, sum(rows) AS rows, sum(cost) AS cost
    FROM accounting_billline WHERE bill_id = ANY(%(bills)s)
    GROUP BY bill_id, word, billing_on
), dated AS (
    SELECT d.*, d.cost * {conversion_sql.fx("b.currency", "d.billing_on")} AS amount
    FROM daily d JOIN accounting_bill b ON b.id = d.bill_id
)
SELECT bill_id, word, sum(rows)::bigint, sum(cost), sum(amount),
       coalesce(sum(rows) FILTER (WHERE amount IS NULL), 0)::bigint
FROM dated GROUP BY bill_id, word
"""
_UNMATCHED = """
SELECT word, service, resource, max(resource_name) AS resource_name, sub_account,
       min(billing_on) AS first, max(billing_on) AS last, sum(rows)::bigint AS rows,
       sum(cost) AS cost
FROM accounting_billline
WHERE bill_id = %(bill)s AND word = ANY(%(words)s)
GROUP BY word, service, resource, sub_account
ORDER BY abs(sum(cost)) DESC, word, service, resource, sub_account
LIMIT %(most)s
"""
_MONTHS = f"""
SELECT to_char(billing_on, 'YYYY-MM') AS month, sum(cost_raw) / {HOUR_MS}
FROM usage_day_total GROUP BY month
"""


@dataclass(frozen=True, slots=True)
class WordSum:
    """Rows of a bill with one word.

    Attributes:
        cost: in the currency of the bill.
        amount: in the billing currency, without rows that have no conversion.
        unconverted: rows without a conversion (M16).
    """

    rows: int
    cost: Decimal
    amount: Decimal | None
    unconverted: int


NOTHING = WordSum(0, Decimal(0), Decimal(0), 0)


@listed("Bill")
class BillRow:
    """A provider's bill of one account and billing period.

    Attributes:
        state: `reconciled`, `final`, or `replaced` by another file.
        variance: of what is matched; None where nothing is.
    """

    id: int = column()
    month: str = column("YYYY-MM")
    provider: TextOrNull = column()
    account: str = column()
    starts_at: datetime = column(name="period_from")
    ends_at: datetime = column(name="period_to")
    revision: int = column("1 for the first file")
    state: str = column("`reconciled`, `final`, or `replaced` by another file")

    @member("of the file")
    def rows(self) -> int:
        """Rows of the file, left out ones too."""
        left_out = sum(self.counted.get(word, 0) for word in LEFT_OUT)
        return left_out + sum(one.rows for one in self.sums.values())

    @member()
    def matched_rows(self) -> int:
        """Rows of nodes and clusters."""
        return sum(self.sums.get(word, NOTHING).rows for word in MATCHED)

    @member()
    def unmatched_rows(self) -> int:
        """Rows of no node and no cluster."""
        return sum(self.sums.get(word, NOTHING).rows for word in UNMATCHED)

    @member("purchases and taxes")
    def left_out_rows(self) -> int:
        """Rows of purchases and taxes."""
        return sum(self.counted.get(word, 0) for word in LEFT_OUT)

    currency: str = column(name="bill_currency")

    @member("in `bill_currency`")
    def cost(self) -> Decimal:
        """What the provider billed, in the currency of the bill."""
        return sum((one.cost for one in self.sums.values()), Decimal(0))

    @member("in the billing currency; null without a conversion")
    def billed(self) -> Decimal | None:
        """What the provider billed; None without a conversion."""
        return self._amount(self.sums)

    @member("in the billing currency; null without a conversion")
    def matched(self) -> Decimal | None:
        """What is of nodes and clusters."""
        return self._amount(word for word in self.sums if word in MATCHED)

    @member("in the billing currency; null without a conversion")
    def unmatched(self) -> Decimal | None:
        """What is of no node and no cluster."""
        return self._amount(word for word in self.sums if word in UNMATCHED)

    estimated = derived(
        Decimal | None,
        "variance.estimated",
        "our cost of what is matched; null if nothing is, or without a cost price",
    )
    variance_shown = derived(
        Decimal | None, "variance.variance", "matched - estimated", name="variance"
    )
    file_name: str = column()
    sha256: str = column()
    imported_at: datetime = column()
    imported_by: TextOrNull = column("null for a command")
    counted: Mapping[str, int]
    sums: Mapping[str, WordSum]
    variance: Variance | None

    @property
    def first(self) -> date:
        """The first day of its month."""
        return date.fromisoformat(f"{self.month}-01")

    @property
    def unconverted(self) -> int:
        """Rows that are in no amount of the billing currency."""
        return sum(one.unconverted for one in self.sums.values())

    def _amount(self, words: Iterable[str]) -> Decimal | None:
        found = [self.sums[word] for word in words]
        if any(one.unconverted for one in found):
            return None
        return sum((one.amount or Decimal(0) for one in found), Decimal(0))


@listed("BillUnmatched")
class UnmatchedRow:
    """Rows of one resource and service that are of no node and no cluster."""

    word: str = column()
    service: TextOrNull = column()
    resource: TextOrNull = column()
    resource_name: TextOrNull = column()
    sub_account: TextOrNull = column()
    first: date = column(name="first_on")
    last: date = column(name="last_on")
    rows: int = column()
    cost: Decimal = column("in the currency of the bill")

    @member(name="what_to_do")
    def advice(self) -> str:
        """What to do."""
        return UNMATCHED[self.word]


def bill_key(row: BillRow) -> Key:
    """The position of a bill in `bill_rows`."""
    return (row.id,)


def bill_rows(
    scope: Scope,
    currency: str,
    seek: Seek = ALL_ROWS,
    *,
    month: str = "",
    replaced: bool = False,
) -> list[BillRow]:
    """Bills in the order of their import, for finance and administrators.

    Args:
        currency: the billing currency.
        month: only of this one, YYYY-MM.
        replaced: also those that another file has replaced.
    """
    if not scope.is_finance:
        return []
    found = Bill.objects.select_related("imported_by")
    if month:
        found = found.filter(month=month)
    if not replaced:
        found = found.filter(replaced_at=None)
    return _rows(seek_rows(found, ("pk",), seek), currency)


def bill_row(scope: Scope, number: int, currency: str) -> BillRow | None:
    """One bill; None if there is none, or for others than finance and administrators."""
    if not scope.is_finance:
        return None
    found = _rows(
        Bill.objects.select_related("imported_by").filter(pk=number), currency
    )
    return found[0] if found else None


def _rows(found: Iterable[Bill], currency: str) -> list[BillRow]:
    bills = list(found)
    numbers = [bill.pk for bill in bills]
    sums = _sums(numbers, currency)
    variances = defaultdict(list)
    for row in variance_rows(numbers, currency):
        variances[row.bill].append(row)
    return [
        BillRow(
            id=bill.pk,
            account=bill.account,
            provider=bill.provider,
            month=bill.month,
            starts_at=bill.starts_at,
            ends_at=bill.ends_at,
            revision=bill.revision,
            currency=bill.currency,
            file_name=bill.file_name,
            sha256=bill.sha256,
            imported_at=bill.imported_at,
            imported_by=bill.imported_by.get_username() if bill.imported_by else "",
            state=state_of(bill),
            counted=bill.rows,
            sums=sums[bill.pk],
            variance=total_variance(variances[bill.pk])
            if bill.pk in variances
            else None,
        )
        for bill in bills
    ]


def state_of(bill: Bill) -> str:
    """`reconciled`, `final` or `replaced`."""
    if bill.replaced_at is not None:
        return "replaced"
    return "final" if bill.is_final else "reconciled"


def _sums(bills: Sequence[int], currency: str) -> Mapping[int, dict[str, WordSum]]:
    found: dict[int, dict[str, WordSum]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, {"bills": list(bills), "currency": currency})
        for bill, word, *values in cursor.fetchall():
            found[bill][word] = WordSum(*values)
    return found


def unmatched_rows(number: int, most: int | None = None) -> list[UnmatchedRow]:
    """Rows of a bill that are of no node, by resource and service, the largest first.

    Args:
        number: of the bill.
        most: of the groups; None for all.
    """
    values: dict[str, Any] = {"bill": number, "words": list(UNMATCHED), "most": most}
    with connection.cursor() as cursor:
        cursor.execute(_UNMATCHED, values)
        names = [one.name for one in cursor.description]
        return [
            UnmatchedRow(**dict(zip(names, row, strict=True)))
            for row in cursor.fetchall()
        ]


def estimated_by_month() -> dict[str, Decimal | None]:
    """Our cost of each month with usage, by month; None where no GPU time has a cost price."""
    with connection.cursor() as cursor:
        cursor.execute(_MONTHS)
        return dict(cursor.fetchall())
