"""What each team would pay by each method, side by side (money.md M24). Nothing is stored."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal

from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled

from accounting.access.reads.billing_settings import billing_day
from accounting.core.billing_calendar import DayRange, months_later
from accounting.core.charge_lines import PLATFORM
from accounting.metering.sql.largest_remainder_sql import half_even
from accounting.months.rules.methods import METHODS, Base, Method, Spread
from accounting.months.tasks import compute, entries, own_lines
from accounting.months.tasks.periods import PeriodTerms

NOTHING = Decimal("0.000000")
MOST_ROWS = 150_000  # of usage by day: about ten seconds
LONGEST_S = 20  # for one page


class ComparisonTooLarge(Exception):
    """The usage of the days is more than was allowed, or takes longer."""


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One team.

    Attributes:
        team: slug, `unmapped` or `platform`.
        in_effect: total6 by the methods of the months.
        totals: total6 by the id of each method.
    """

    team: str
    in_effect: Decimal
    totals: Mapping[str, Decimal]

    def difference(self, method: str) -> Decimal:
        """What the team would pay more by a method."""
        return self.totals[method] - self.in_effect


Totals = dict[str, Decimal]


def days_to_compare(first: date, now: datetime) -> DayRange | None:
    """The billing days of a month that are over.

    Args:
        first: of the month.
        now: the current instant.

    Returns:
        None on the first day of the month, and before it.
    """
    after = min(months_later(first, 1), billing_day(now))
    return DayRange(first, after) if first < after else None


def compare_within(
    days: DayRange, most_rows: int = MOST_ROWS, longest_s: float = LONGEST_S
) -> list[MethodRow]:
    """The same as `compare`, for a page: with a limit of rows and of time.

    Raises:
        ComparisonTooLarge: there is more usage, or it takes longer.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) FROM (
                   SELECT FROM usage_day WHERE billing_on >= %s AND billing_on < %s LIMIT %s
               ) counted""",
            [days.first, days.after, most_rows + 1],
        )
        if cursor.fetchone()[0] > most_rows:
            raise ComparisonTooLarge(
                f"These days have more than {most_rows:,} rows of usage by day."
            )
    try:
        with transaction.atomic():
            return compare(days, _Clock(longest_s))
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise ComparisonTooLarge(
                f"The comparison took longer than {longest_s:g} seconds."
            ) from None
        raise


@dataclass(slots=True)
class _Clock:
    """Cancels the statement that is running when the time is over."""

    longest_s: float
    began: float = field(default_factory=time.monotonic)

    def wind(self) -> None:
        """Give the statements that follow the rest of the time; in a transaction."""
        left_ms = int((self.began + self.longest_s - time.monotonic()) * 1000)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('statement_timeout', %s, true)",
                [str(max(left_ms, 1))],
            )


def compare(days: DayRange, clock: _Clock | None = None) -> list[MethodRow]:
    """The total of each team over whole billing days, with entries and without corrections.

    The usage is priced once for each base; its spreads are added to it one after the other.
    """
    pieces = list(_pieces(days))
    found: dict[str, Totals] = {}
    for base in Base:
        found |= _totals_of(base, pieces, clock)
    chosen = {piece.method.id for piece in pieces}
    in_effect = found[chosen.pop()] if len(chosen) == 1 else _mixed(pieces)
    teams = sorted({team for totals in found.values() for team in totals})
    return [
        MethodRow(
            team,
            in_effect.get(team, NOTHING),
            {one.id: found[one.id].get(team, NOTHING) for one in METHODS},
        )
        for team in teams
    ]


def _totals_of(
    base: Base, pieces: list[PeriodTerms], clock: _Clock | None
) -> dict[str, Totals]:
    """Total6 by method and team of all methods with a base."""
    found = {}
    with transaction.atomic():
        compute.prepare()
        if clock:
            clock.wind()
        _insert([replace(piece, method=Method(base)) for piece in pieces])
        for spread in Spread:
            if clock:
                clock.wind()
            for piece in pieces:
                own_lines.insert_spread(replace(piece, method=Method(base, spread)))
            found[Method(base, spread).id] = _totals()
            _forget("spread")
        _forget()
    return found


def _mixed(pieces: list[PeriodTerms]) -> Totals:
    """Total6 by team where months have different methods."""
    with transaction.atomic():
        compute.prepare()
        _insert(pieces)
        found = _totals()
        _forget()
    return found


def _insert(pieces: list[PeriodTerms]) -> None:
    for piece in pieces:
        own_lines.insert(piece)
    entries.insert(replace(pieces[0], after=pieces[-1].after))


# Own lines have no charges yet: their sum is the rounded sum of raw (M4b). Entries have charges.
_TOTALS = f"""
SELECT team, ({half_even("own", own_lines.MICRO_RAW)}) * 0.000001 + entered
FROM (
    SELECT team, coalesce(sum(raw) FILTER (WHERE charge IS NULL), 0) AS own,
           coalesce(sum(charge), 0) AS entered
    FROM (SELECT team, raw, charge FROM booking_line
          UNION ALL SELECT '{PLATFORM}', NULL, NULL) lines
    GROUP BY team
) summed
"""


def _totals() -> Totals:
    with connection.cursor() as cursor:
        cursor.execute(_TOTALS)
        return {team: Decimal(f"{total:.6f}") for team, total in cursor.fetchall()}


def _forget(kind: str = "") -> None:
    """Remove the lines of a kind, or the tables."""
    with connection.cursor() as cursor:
        if kind:
            cursor.execute("DELETE FROM booking_line WHERE kind = %s", [kind])
        else:
            cursor.execute("DROP TABLE booking_line, booking_statement")


def _pieces(days: DayRange) -> Iterator[PeriodTerms]:
    """The parts of months that the days are in."""
    first: date = days.first
    while first < days.after:
        terms = PeriodTerms.of(f"{first:%Y-%m}")
        after = min(months_later(terms.first, 1), days.after)
        yield replace(terms, first=first, after=after)
        first = after
