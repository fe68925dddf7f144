"""Where idle and unallocated cost are: rows that add up to it exactly (scheduling.md "Waste")."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal

from django.db import connection

from accounting.access.reads.billing_settings import midnight
from accounting.access.reads.teams import visible_teams
from accounting.core.billing_calendar import DAY, DayRange
from accounting.core.interval import Interval
from accounting.core.ledger_line import PLATFORM_STATES
from accounting.core.money import Money
from accounting.kit.reads.selection import Selection
from accounting.kit.rows import GpuHours, TextOrNull, column, derived, listed, member
from accounting.prices.rules.charge import charge_of
from accounting.usage.reads.ledger import ledger_total
from accounting.usage.reads.usage import usage_total
from scheduler_view.savings.reads.measured_days import measured_days, waste_days
from scheduler_view.savings.rules.finding import OF_FREE_TIME, WasteRule
from scheduler_view.savings.rules.wording import bridge_title, is_actionable

IDLE, UNALLOCATED = "idle", "unallocated"
REST, NOT_MEASURED, TOTAL = "rest", "not_measured", "total"
_FOUND = """
    SELECT f.rule, sum(f.ledger_ms)::bigint, sum(f.ledger_raw),
           sum(f.unpriced_ms) >= sum(f.gpu_ms)
    FROM scheduler_view_wastefinding f
    JOIN accounting_cluster c ON c.id = f.cluster_id
    LEFT JOIN accounting_team t ON t.id = f.team_id
    WHERE f.day >= %(first)s AND f.day < %(after)s AND f.ledger_ms > 0
      AND (%(clusters)s::text[] IS NULL OR c.name = ANY(%(clusters)s))
      AND (%(teams)s::text[] IS NULL
           OR (f.node_id IS NULL AND f.pool = '' AND (
               f.team_id = ANY(ARRAY(SELECT id FROM accounting_team WHERE slug = ANY(%(teams)s)))
               OR (t.id IS NULL AND 'unmapped' = ANY(%(teams)s)))))
    GROUP BY f.rule
"""


@listed("BridgeRow")
class BridgeRow:
    """A part of the idle or the unallocated cost of the chosen days; the last one is their sum.

    Attributes:
        cost: idle or unallocated.
        part: a rule, a state, `rest`, `not_measured`, or `total`.
        gpu_ms: share-weighted milliseconds.
        amount: None if the cost has no price, or several currencies.
        is_unpriced: none of its time has a price; its amount is 0, so that the parts add up.
    """

    cost: str = column("idle or unallocated")
    part: str = column(
        "a rule, a state, `rest`, `not_measured`, or `total`, the sum of the others"
    )

    @member()
    def title(self) -> str:
        """What it is, for readers."""
        return bridge_title(self.cost, self.part)

    gpu_ms: int = column("share-weighted milliseconds")
    gpu_hours = derived(GpuHours, "gpu_ms")
    amount: Decimal | None = column("null without a price, or in several currencies")
    currency: TextOrNull = column()
    is_unpriced: bool = False


@dataclass(frozen=True, slots=True)
class Bridge:
    """The parts of one cost; they sum to its total, in time and in money."""

    parts: Sequence[BridgeRow]
    total: BridgeRow

    @property
    def actionable(self) -> Money | None:
        """What is in findings that people can act on; None without a price."""
        if self.total.amount is None:
            return None
        found = (
            one.amount or Decimal(0) for one in self.parts if is_actionable(one.part)
        )
        return Money(sum(found, Decimal(0)), self.total.currency)

    @property
    def whole(self) -> Money | None:
        """The cost; None without a price."""
        one = self.total
        return None if one.amount is None else Money(one.amount, one.currency)

    @property
    def rows(self) -> list[BridgeRow]:
        """The parts, and the total."""
        return [*self.parts, self.total]


@dataclass(frozen=True, slots=True)
class _Part:
    """Milliseconds, and money that is 0 without a price."""

    ms: int = 0
    amount: Decimal = Decimal(0)
    is_unpriced: bool = False

    def __add__(self, other: "_Part") -> "_Part":
        return _Part(self.ms + other.ms, self.amount + other.amount)

    def __sub__(self, other: "_Part") -> "_Part":
        return _Part(self.ms - other.ms, self.amount - other.amount)


@dataclass(frozen=True, slots=True)
class _Costs:
    """The states of a cost; the first is the one whose time findings take.

    Attributes:
        currency: None without a price, or with several currencies.
    """

    states: Mapping[str, _Part]
    currency: str | None

    @property
    def whole(self) -> _Part:
        """All states."""
        return sum(self.states.values(), _Part())


def led_selection(selection: Selection) -> Selection | None:
    """The part of a selection whose waste a person may read; None if there is none.

    Finance and administrators read all of it, leads that of their teams.
    """
    scope = selection.scope
    if scope.sees_all:
        return selection
    asked = selection.filters.get("team")
    led = tuple(
        one.slug
        for one in visible_teams(scope).values()
        if one.id in scope.lead_of and (asked is None or one.slug in asked)
    )
    if not led:
        return None
    return replace(selection, filters={**selection.filters, "team": led})


def bridge_rows(selection: Selection, now: datetime, places: int) -> list[BridgeRow]:
    """The rows of a request; without a period, of the last 28 days."""
    led = led_selection(selection)
    if led is None:
        return []
    days = waste_days(led, now)
    by_cluster, _ = measured_days(days, led.filters.get("cluster", ()))
    measured = sorted({day for found in by_cluster.values() for day in found})
    return [row for one in bridges(led, days, measured, places) for row in one.rows]


def bridges(
    selection: Selection, days: DayRange, measured: Sequence[date], places: int
) -> list[Bridge]:
    """The idle cost, and for those who see every team and chose none, the unallocated cost.

    Args:
        selection: clusters and teams, only such as the person may read.
        days: of the range; `measured` are those whose findings are computed, in order.
        places: decimal places: each part is rounded, and the rest takes what that leaves.
    """
    readers: list[Callable[[Selection], _Costs]] = [_idle]
    if selection.scope.sees_all and not selection.filters.get("team"):
        readers.append(_unallocated)
    found = _found(selection, days)
    runs = [*_runs(measured)]
    made = []
    for read in readers:
        whole = read(replace(selection, period=_period(days)))
        seen = whole.states
        if runs != [days]:
            seen = _together(
                read(replace(selection, period=_period(run))) for run in runs
            )
        made.append(_bridge(whole, seen, found, places))
    return made


def _bridge(
    whole: _Costs,
    seen: Mapping[str, _Part],
    found: Mapping[str, _Part],
    places: int,
) -> Bridge:
    cost = IDLE if IDLE in whole.states else UNALLOCATED
    rules = [
        rule.value for rule in WasteRule if (rule in OF_FREE_TIME) == (cost != IDLE)
    ]
    of_rules = [(rule, found[rule]) for rule in rules if rule in found]
    missing = whole.whole - sum(seen.values(), _Part())
    others = [*[*seen.items()][1:], (NOT_MEASURED, missing)]

    def row(part: str, ms: int, amount: Decimal) -> BridgeRow:
        if whole.currency is None:
            return BridgeRow(cost=cost, part=part, gpu_ms=ms, amount=None, currency="")
        return BridgeRow(
            cost=cost,
            part=part,
            gpu_ms=ms,
            amount=round(amount, places),
            currency=whole.currency,
        )

    total = row(TOTAL, whole.whole.ms, whole.whole.amount)
    before = [
        replace(row(part, one.ms, one.amount), is_unpriced=one.is_unpriced)
        for part, one in of_rules
    ]
    after = [row(part, one.ms, one.amount) for part, one in others if one != _Part()]
    known = [*before, *after]
    rest = row(
        REST,
        total.gpu_ms - sum(one.gpu_ms for one in known),
        (total.amount or Decimal(0)) - sum(one.amount or Decimal(0) for one in known),
    )
    return Bridge([*before, rest, *after], total)


def _idle(selection: Selection) -> _Costs:
    total = usage_total(selection)
    money = total.idle_charge
    part = _Part(total.idle_ms, money.amount if money else Decimal(0))
    return _Costs({IDLE: part}, None if money is None else money.currency)


def _unallocated(selection: Selection) -> _Costs:
    total = ledger_total(selection)
    parts = {}
    for state in PLATFORM_STATES:
        money = total.charges[state]
        amount = money.amount if money else Decimal(0)
        parts[state] = _Part(total.milliseconds[state], amount)
    whole = total.charge_of(PLATFORM_STATES)
    return _Costs(parts, None if whole is None else whole.currency)


def _together(costs: Iterable[_Costs]) -> dict[str, _Part]:
    """Costs of several ranges, by state."""
    found: dict[str, _Part] = {}
    for one in costs:
        for state, part in one.states.items():
            found[state] = found.get(state, _Part()) + part
    return found


def _found(selection: Selection, days: DayRange) -> dict[str, _Part]:
    """Idle and free time in findings, by rule."""
    values = {
        "first": days.first,
        "after": days.after,
        "clusters": list(selection.filters.get("cluster", ())) or None,
        "teams": list(selection.filters.get("team", ())) or None,
    }
    with connection.cursor() as cursor:
        cursor.execute(_FOUND, values)
        return {
            rule: _Part(ms, charge_of(raw), is_unpriced)
            for rule, ms, raw, is_unpriced in cursor.fetchall()
        }


def _period(days: DayRange) -> Interval:
    return Interval.of(midnight(days.first), midnight(days.after))


def _runs(days: Sequence[date]) -> Iterator[DayRange]:
    """Days in order, as ranges without gaps."""
    first = last = None
    for day in days:
        if first is None or last is None or day != last + DAY:
            if first is not None and last is not None:
                yield DayRange(first, last + DAY)
            first = day
        last = day
    if first is not None and last is not None:
        yield DayRange(first, last + DAY)
