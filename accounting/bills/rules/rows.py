"""A row of a bill: its account, its cost by billing day, and its resource (money.md M41)."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import NamedTuple

from accounting.bills.rules.columns import BillColumns
from accounting.core.interval import DAY_MS, to_ms
from accounting.core.rounding import largest_remainder

PLACES = 16
LARGEST_DIGITS = 15  # before the decimal point
COUNTED = ("Usage", "Credit", "Adjustment")
LEFT_OUT = {"Purchase": "purchase", "Tax": "tax"}
LONGEST_MS = 366 * DAY_MS  # of a charge period
YEARS = range(2000, 2200)
LONGEST = {"resource": 2048, "resource_name": 2048}
LONGEST_TEXT = 253  # of other texts
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_REMEMBERED = 8192

DayParts = Sequence[tuple[date, int]]


class BillKey(NamedTuple):
    """What one bill is: an account and a billing period in UTC milliseconds."""

    account: str
    start_ms: int
    end_ms: int


class RowError(ValueError):
    """A row that cannot be used.

    Attributes:
        word: one of `words.FAULTS`.
    """

    def __init__(self, word: str, message: str) -> None:
        super().__init__(message)
        self.word = word


@dataclass(frozen=True, slots=True)
class BilledRow:
    """One row.

    Attributes:
        word: why it is left out; else "".
        parts: its cost by billing day, exact; none if it is left out.
        is_elsewhere: its charge period is not in the billing period, as that of a correction.
    """

    bill: BillKey
    currency: str
    provider: str
    word: str
    parts: tuple[tuple[date, Decimal], ...] = ()
    sub_account: str = ""
    resource: str = ""
    resource_name: str = ""
    service: str = ""
    is_elsewhere: bool = False


class RowReader:
    """Reads the rows of one file.

    Args:
        columns: of the file.
        currencies: ISO 4217 codes that are known.
        days: the billing days of [start, end) in milliseconds, each with its milliseconds of it.
    """

    def __init__(
        self,
        columns: BillColumns,
        currencies: Collection[str],
        days: Callable[[int, int], DayParts],
    ) -> None:
        self._columns = columns
        self._currencies = currencies
        self._days = lru_cache(maxsize=_REMEMBERED)(days)
        self._instant = lru_cache(maxsize=_REMEMBERED)(instant_ms)
        self._currency_of: dict[BillKey, str] = {}

    def read(self, cells: Sequence[str]) -> BilledRow:
        """A row as a value.

        Raises:
            RowError: with its word and what is wrong.
        """
        if len(cells) != self._columns.count:
            raise RowError(
                "bad_row",
                f"{len(cells)} cells, and the header has {self._columns.count}",
            )
        bill = self._bill(cells)
        currency = self._currency(cells, bill)
        provider = self._text(cells, "provider")
        category = self._text(cells, "category")
        if category in LEFT_OUT:
            return BilledRow(bill, currency, provider, LEFT_OUT[category])
        if category not in COUNTED:
            allowed = ", ".join((*COUNTED, *LEFT_OUT))
            raise RowError(
                "bad_category", f"ChargeCategory {category!r}: use {allowed}"
            )
        start, end = self._period(cells, "start", "end")
        if end - start > LONGEST_MS:
            raise RowError("bad_period", "the charge period is longer than 366 days")
        return BilledRow(
            bill,
            currency,
            provider,
            "",
            spread_over(cost_of(self._cell(cells, "cost")), self._days(start, end)),
            self._text(cells, "sub_account"),
            self._text(cells, "resource"),
            self._text(cells, "resource_name"),
            self._text(cells, "service"),
            not (bill.start_ms <= start and end <= bill.end_ms),
        )

    def _bill(self, cells: Sequence[str]) -> BillKey:
        account = self._text(cells, "account")
        if not account:
            raise RowError("no_account", "BillingAccountId is empty")
        start, end = self._period(cells, "period_start", "period_end")
        if end == start:
            raise RowError("bad_period", "the billing period is empty")
        return BillKey(account, start, end)

    def _currency(self, cells: Sequence[str], bill: BillKey) -> str:
        currency = self._text(cells, "currency")
        if currency not in self._currencies:
            raise RowError("bad_currency", f"{currency!r} is not an ISO 4217 code")
        above = self._currency_of.setdefault(bill, currency)
        if above != currency:
            raise RowError(
                "bad_currency",
                f"{currency}, but rows above of this account and billing period are in {above}",
            )
        return currency

    def _period(self, cells: Sequence[str], start: str, end: str) -> tuple[int, int]:
        first, after = (self._instant(self._cell(cells, name)) for name in (start, end))
        if after < first:
            raise RowError("bad_period", "the end is before the start")
        return first, after

    def _cell(self, cells: Sequence[str], field: str) -> str:
        at = self._columns.at.get(field)
        return "" if at is None else cells[at].strip()

    def _text(self, cells: Sequence[str], field: str) -> str:
        text = self._cell(cells, field)
        longest = LONGEST.get(field, LONGEST_TEXT)
        if len(text) > longest:
            raise RowError("bad_text", f"{field} is longer than {longest} characters")
        if "\0" in text:
            raise RowError("bad_text", f"{field} has a NUL character")
        return text


def instant_ms(text: str) -> int:
    """An ISO 8601 time in milliseconds; without an offset it is UTC, as FOCUS says.

    Raises:
        RowError: another text, or a year that no bill has.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.year not in YEARS:
        raise RowError(
            "bad_date", f"{text[:40]!r} is not a time like 2026-10-01T00:00:00Z"
        )
    return to_ms(found if found.tzinfo else found.replace(tzinfo=UTC))


def cost_of(text: str) -> Decimal:
    """A cost, exact.

    Raises:
        RowError: not a number, too large, or with more than 16 places.
    """
    if not _NUMBER.fullmatch(text) or len(text) > 2 * PLACES + LARGEST_DIGITS:
        raise RowError("bad_number", f"EffectiveCost {text[:40]!r} is not a number")
    try:
        cost = Decimal(text)
    except InvalidOperation:  # pragma: no cover  # the pattern has allowed it
        raise RowError("bad_number", f"EffectiveCost {text[:40]!r}") from None
    if not cost:
        return Decimal(0)
    if cost.adjusted() >= LARGEST_DIGITS:
        raise RowError("bad_number", f"EffectiveCost {text[:40]!r} is too large")
    _, digits, exponent = cost.as_tuple()
    needed = len("".join(map(str, digits)).rstrip("0"))
    places = -int(exponent) - (len(digits) - needed)
    if places > PLACES:
        raise RowError(
            "too_precise",
            f"EffectiveCost {text[:40]!r} has {places} places, at most 16",
        )
    return cost


def spread_over(cost: Decimal, days: DayParts) -> tuple[tuple[date, Decimal], ...]:
    """A cost by billing day: by largest remainder of its time, in units of 10^-16.

    Args:
        cost: with at most 16 places.
        days: with the milliseconds of each, in order; one day may have none.
    """
    if len(days) == 1:
        return ((days[0][0], cost),)
    above, below = cost.as_integer_ratio()
    units = above * 10**PLACES // below
    whole = sum(ms for _, ms in days)
    shares = largest_remainder([(day, units * ms) for day, ms in days], whole, units)
    return tuple((day, Decimal(f"{part}E-{PLACES}")) for day, part in shares.items())
