"""What a new rate would change, before it is saved (money.md M21).

Of the time whose price changes, the lines at the old and at the new price are computed as
bookings compute them: with conversions, the method of each month and what it spreads.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import connection, transaction

from accounting.access.models.teams import Team
from accounting.core.charge_lines import PLATFORM
from accounting.core.unmapped import UNMAPPED
from accounting.kit.reads.selection import stored_period
from accounting.kit.rows import GpuHours, TextOrNull, column, listed, member
from accounting.months.tasks import compute, own_lines
from accounting.months.tasks.periods import (
    PeriodTerms,
    closed_revisions,
    first_day,
    next_to_close,
)
from accounting.prices.models.price import PriceKind, UnitPrice
from accounting.prices.rules.charge import split_charges
from accounting.prices.rules.price_placing import place
from accounting.prices.sql import line_sql, price_change_sql
from accounting.prices.sql.charge_sql import parameters

HOUR = timedelta(hours=1)
_LINES = line_sql.own_lines(
    line_sql.dated(price_change_sql.TABLE, price_change_sql.BOOK)
)
_MONTHS = (
    f"SELECT DISTINCT to_char(billing_on, 'YYYY-MM') FROM {price_change_sql.TABLE}"
)
# Equal time at two prices with one amount cancels out.
_CHANGED = """
    SELECT corrects, team, billing_on, kind, status, sum(ms) AS ms, sum(raw) AS raw
    FROM booking_line GROUP BY corrects, team, billing_on, kind, status
    HAVING sum(ms) <> 0 OR sum(raw) <> 0
"""
_AMOUNTS = f"""
    SELECT corrects, team, coalesce(sum(raw), 0) FROM ({_CHANGED}) changed
    GROUP BY corrects, team ORDER BY corrects, team COLLATE "C"
"""
_TIMES = f"""
    SELECT count(DISTINCT billing_on),
           coalesce(sum(ms) FILTER (WHERE status = 'priced' AND kind = 'usage'), 0),
           coalesce(sum(ms) FILTER (WHERE status = 'unconverted'), 0)
    FROM ({_CHANGED}) changed
"""


@dataclass(frozen=True, slots=True)
class NewRate:
    """A rate that is not saved; "" and None match anything, as in the price book.

    Attributes:
        valid_from, valid_to: on five-minute borders; None is open.
    """

    model: str
    rate: Decimal
    currency: str
    valid_from: datetime
    valid_to: datetime | None = None
    cluster_id: int | None = None
    profile: str = ""
    lifecycle: str = ""
    tier: str = ""


@listed("TeamEffect")
class TeamEffect:
    """What a new price changes for a team, in the billing currency."""

    team: str = column("slug, `unmapped` or `platform`")
    open: Decimal = column("in months that are not closed")
    corrections: Decimal = column("of closed months")
    name: str

    @property
    def difference(self) -> Decimal:
        """Over all months."""
        return self.open + self.corrections


@listed("MonthEffect")
class MonthEffect:
    """What a new price changes in a month, in the billing currency."""

    period: str = column("YYYY-MM")
    is_closed: bool = column()
    difference: Decimal = column()

    @property
    def first(self) -> date:
        """Its first day."""
        return first_day(self.period)


@listed("PriceEffect")
class PriceEffect:
    """What a new price would change; amounts are in minor units of the billing currency.

    Attributes:
        teams: the largest difference first.
        months: those that change, in their order.
        raw: the exact differences in currency-milliseconds, by month and team.
    """

    days: int = column("billing days that change", default=0)

    @member()
    def total(self) -> Decimal:
        """Over all teams and the platform."""
        return sum((team.difference for team in self.teams), Decimal(0))

    @member("of closed months")
    def corrections(self) -> Decimal:
        """Of closed months, over all teams and the platform."""
        return sum((team.corrections for team in self.teams), Decimal(0))

    corrected_in: TextOrNull = column(
        "the month that takes the corrections; null without any", default=""
    )
    newly_priced_ms: GpuHours = column(
        "held time that gets an amount, less time that loses it",
        name="newly_priced_gpu_hours",
        default=0,
    )
    unconverted_ms: GpuHours = column(
        "time that gets a price without a conversion",
        name="unconverted_gpu_hours",
        default=0,
    )
    teams: tuple[TeamEffect, ...] = column(default=())
    months: tuple[MonthEffect, ...] = column(default=())
    raw: Mapping[tuple[str, str], Decimal] | None = None

    @property
    def closed(self) -> tuple[MonthEffect, ...]:
        """The closed months that change."""
        return tuple(month for month in self.months if month.is_closed)

    @property
    def first_corrected_in(self) -> date | None:
        """The first day of the month that takes the corrections; None without any."""
        return first_day(self.corrected_in) if self.corrected_in else None

    @property
    def open(self) -> Decimal:
        """Of months that are not closed, over all teams and the platform."""
        return self.total - self.corrections


def price_effect(new: NewRate, places: int) -> PriceEffect:
    """Compare the lines of stored hours before and after a rate.

    Hours whose price has precedence over the new one (M14) do not change. Hours do not
    distinguish profiles: for a profile, and for parts of an hour, five-minute facts are read, as
    far back as they are stored (N32).

    Args:
        new: the rate.
        places: of the minor unit of the billing currency.

    Raises:
        PriceMeetsError: the rate has an end and meets another one that sets the same.
    """
    return list_effect([new], places)


def list_effect(rates: Iterable[NewRate], places: int) -> PriceEffect:
    """The effects of several rates together: the lines of all their changes, computed once.

    Where two of them match the same time, both differences count: the booking takes the more
    specific one.

    Args:
        rates: at most as many as a page may wait for: the changes of each are gathered apart.
        places: as for `price_effect`.

    Raises:
        PriceMeetsError: as `price_effect`.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(price_change_sql.TABLES)
        compute.prepare()
        for number, new in enumerate(rates, start=1):
            _gather(new, price_change_sql.NO_PRICE - number)
        closed = {one.period: one for one in closed_revisions()}
        for (period,) in _fetched(_MONTHS, {}):
            revision = closed.get(period)
            terms = PeriodTerms.booked(revision) if revision else PeriodTerms.of(period)
            own_lines.insert(terms, period, _LINES)
        raw = {(row[0], row[1]): row[2] for row in _fetched(_AMOUNTS, {})}
        [(days, newly_priced_ms, unconverted_ms)] = _fetched(_TIMES, {})
        with connection.cursor() as cursor:
            cursor.execute(price_change_sql.DROP)
            cursor.execute("DROP TABLE booking_line, booking_statement")
    found = PriceEffect(
        days=days,
        newly_priced_ms=int(newly_priced_ms),
        unconverted_ms=int(unconverted_ms),
        raw=raw,
    )
    return _split(found, places)


def _split(found: PriceEffect, places: int) -> PriceEffect:
    """The effect with its exact differences as amounts of teams and months."""
    amounts = split_charges(found.raw or {}, places)
    closed = frozenset(one.period for one in closed_revisions())
    months = _months(amounts, closed)
    is_corrected = any(month.is_closed for month in months)
    return replace(
        found,
        teams=_teams(amounts, closed),
        months=months,
        corrected_in=next_to_close() or "" if is_corrected else "",
    )


Amounts = Mapping[tuple[str, str], Decimal]


def _teams(amounts: Amounts, closed: frozenset[str]) -> tuple[TeamEffect, ...]:
    names = dict(Team.objects.values_list("slug", "name"))
    names |= {UNMAPPED: "Unmapped", PLATFORM: "Platform"}
    found = []
    for team in sorted({team for _, team in amounts}):
        sums = {True: Decimal(0), False: Decimal(0)}
        for (period, one), amount in amounts.items():
            if one == team:
                sums[period in closed] += amount
        if any(sums.values()):
            found.append(
                TeamEffect(
                    team=team,
                    name=names.get(team, team),
                    open=sums[False],
                    corrections=sums[True],
                )
            )
    return tuple(sorted(found, key=lambda e: (-abs(e.difference), e.name)))


def _months(amounts: Amounts, closed: frozenset[str]) -> tuple[MonthEffect, ...]:
    sums: dict[str, Decimal] = {}
    for (period, _), amount in amounts.items():
        sums[period] = sums.get(period, Decimal(0)) + amount
    return tuple(
        MonthEffect(period=period, is_closed=period in closed, difference=amount)
        for period, amount in sorted(sums.items())
    )


def _gather(new: NewRate, number: int) -> None:
    """Add what a rate changes to the table of changes, as that of a price with this id."""
    sets = {name: getattr(new, name) for name in ("model", "profile", "lifecycle")}
    sets |= {"cluster_id": new.cluster_id, "tier": new.tier}
    same = UnitPrice.objects.filter(kind=PriceKind.RATE, **sets)
    placed = place(same, new.valid_from, new.valid_to)
    replaced = placed.replaced
    values = sets | {
        "id": number,
        "rate": new.rate,
        "price_currency": new.currency,
        "replaced": replaced.pk if replaced else price_change_sql.NO_PRICE,
    }
    with connection.cursor() as cursor:
        cursor.execute(price_change_sql.NEW_PRICE, values)
    _insert(values | {"applies": True}, new.valid_from, placed.valid_to)
    until = placed.valid_to
    if replaced and until and (replaced.valid_to is None or until < replaced.valid_to):
        _insert(values | {"applies": False}, until, replaced.valid_to)


def _insert(values: dict[str, Any], since: datetime, until: datetime | None) -> None:
    """Add the changes in [since, until): of hours, and of facts where hours are too coarse."""
    first = since.replace(minute=0, second=0, microsecond=0)
    first += HOUR if first < since else timedelta(0)
    last = until.replace(minute=0, second=0, microsecond=0) if until else None
    if values["profile"] or (last is not None and last < first):
        _insert_facts(values, since, until)
        return
    _insert_facts(values, since, first)
    with connection.cursor() as cursor:
        span = {"since": first, "until": last}
        cursor.execute(price_change_sql.CHANGES_OF_HOURS, values | span)
    if last is not None:
        _insert_facts(values, last, until)


def _insert_facts(
    values: dict[str, Any], since: datetime, until: datetime | None
) -> None:
    stored = stored_period()
    if stored is None:
        return
    start, end = max(stored.start, since), min(stored.end, until or stored.end)
    if end <= start:
        return
    gpus = [row[0] for row in _fetched(price_change_sql.GPUS, values)]
    bounds = parameters(values["cluster_id"], start, end, gpus, values["model"])
    with connection.cursor() as cursor:
        cursor.execute(price_change_sql.CHANGES_OF_FACTS, values | bounds)


def _fetched(query: str, values: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        yield from cursor.fetchall()
