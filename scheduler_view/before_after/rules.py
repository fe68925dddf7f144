"""Two periods side by side: which ones, their figures, and the sentence. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

from accounting.core.billing_calendar import DAY, DayRange, months_later
from accounting.core.interval import DAY_MS, HOUR_MS
from accounting.core.ledger_line import STATES
from accounting.core.money import amount_of
from accounting.core.money_text import MINUS
from accounting.core.rounding import half_even
from accounting.usage.rules.comparison import FLOOR_COVERAGE, share
from accounting.usage.rules.rows import LedgerRow
from accounting.usage.rules.sentence import Sentence

MONTH_DAYS = 30  # money per month is that of 30 days, whatever the length of a period
FOUR_WEEKS, WEEK_DAYS = 28, 7
KNOWN_LIFECYCLES = ("spot", "on-demand", "reserved")
UNOBSERVED = ("unknown", "dark")
UNALLOCATED = ("free", "stranded", "stray")  # as pages show it


class ComparedUnit(StrEnum):
    """What a figure is written in."""

    SHARE = "share"
    MONEY = "money"
    GPUS = "GPUs"
    TIME = "ms"


@dataclass(frozen=True, slots=True)
class PeriodFigures:
    """What the ledger has of one period.

    Attributes:
        days: of the period.
        length_ms: the part of it that has elapsed, after the first data.
        total: the seven states and their money.
        spot_ms, lifecycle_ms: of `total`, the time of GPUs on spot nodes, and of those on nodes
            whose lifecycle is known.
        seen: how much of `length_ms` has data, 0 to 1; None for no time.
        waits: units of work that were bound; None if their waits are not kept any more.
        wait_p95_ms: 95% of them waited less; None without any.
    """

    days: DayRange
    length_ms: int
    total: LedgerRow
    spot_ms: int
    lifecycle_ms: int
    seen: float | None
    waits: int | None
    wait_p95_ms: int | None

    @property
    def utilization(self) -> float | None:
        """Busy / all observed GPU time, held or not; unknown and dark time are in neither."""
        times = self.total.milliseconds
        observed = sum(times[state] for state in STATES if state not in UNOBSERVED)
        return share(times["busy"], observed)

    @property
    def spot_share(self) -> float | None:
        """Time of GPUs on spot nodes / time on all nodes whose lifecycle is known."""
        return share(self.spot_ms, self.lifecycle_ms)

    @property
    def has_data(self) -> bool:
        """False where nothing was seen and nothing was booked: then no figure is zero."""
        return self.length_ms > 0 and bool(self.seen or self.total.wall_ms)

    @property
    def priced_ms(self) -> int:
        """The time of all states that has a price."""
        return self.total.wall_ms - self.total.unpriced_ms

    @property
    def gpus(self) -> float | None:
        """GPUs that were present on average."""
        return self.total.wall_ms / self.length_ms if self.has_data else None

    def month_of(self, states: Sequence[str]) -> Decimal | None:
        """The money of some states per 30 days; None without a price, or in several currencies."""
        amount = amount_of(self.total.charge_of(states))
        if amount is None or self.total.currencies or not self.has_data:
            return None
        return amount * MONTH_DAYS * DAY_MS / self.length_ms


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """One figure of both periods.

    Attributes:
        name: in files; `label`, `help`: on the page.
        before, after: a share from 0 to 1, an amount, GPUs or milliseconds; None if not known.
    """

    name: str
    label: str
    help: str
    unit: ComparedUnit
    before: Decimal | None
    after: Decimal | None

    @property
    def difference(self) -> Decimal | None:
        """After - before; None if one of them is not known."""
        if self.before is None or self.after is None:
            return None
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class CostSplit:
    """The change of cost a month in two parts, which come to it exactly.

    Attributes:
        hours_before, hours_after: GPU-hours with a price, per 30 days.
        price_before, price_after: cost of one of them on average.
        by_hours: the change of GPU-hours at the price of the first period.
        by_price: the rest: prices, and which GPUs at which price (models, lifecycles).
    """

    hours_before: Decimal
    hours_after: Decimal
    price_before: Decimal
    price_after: Decimal
    by_hours: Decimal
    by_price: Decimal


def split_of_cost(
    before: PeriodFigures, after: PeriodFigures, places: int
) -> CostSplit | None:
    """What GPU-hours and what prices made of the change of cost a month.

    Args:
        before, after: only their time with a price is split; the rest has no cost.
        places: the parts come to the difference of the costs as they are shown in these places.

    Returns:
        None if a cost is not known, or a period has no time with a price.
    """
    costs = before.month_of(STATES), after.month_of(STATES)
    if costs[0] is None or costs[1] is None:
        return None
    if before.priced_ms <= 0 or after.priced_ms <= 0:
        return None
    old, new = (
        Decimal(one.priced_ms * MONTH_DAYS * DAY_MS) / (one.length_ms * HOUR_MS)
        for one in (before, after)
    )
    price = costs[0] / old
    change = half_even(costs[1], places) - half_even(costs[0], places)
    by_hours = half_even((new - old) * price, places)
    return CostSplit(old, new, price, costs[1] / new, by_hours, change - by_hours)


Read = Callable[[PeriodFigures], float | int | Decimal | None]

FIGURES: tuple[tuple[str, str, str, ComparedUnit, Read], ...] = (
    (
        "utilization",
        "Average utilization",
        "Busy of all observed GPU time, held or not",
        ComparedUnit.SHARE,
        lambda one: one.utilization,
    ),
    (
        "busy_share",
        "Busy share",
        "Busy of the held time that was observed",
        ComparedUnit.SHARE,
        lambda one: one.total.held.efficiency,
    ),
    (
        "spot_share",
        "Spot share",
        "Of the time on nodes whose lifecycle is known",
        ComparedUnit.SHARE,
        lambda one: one.spot_share,
    ),
    (
        "gpus",
        "GPUs on average",
        "Present, held or not",
        ComparedUnit.GPUS,
        lambda one: one.gpus,
    ),
    (
        "cost_per_month",
        "Cost a month",
        "All GPUs, held or not, per 30 days",
        ComparedUnit.MONEY,
        lambda one: one.month_of(STATES),
    ),
    (
        "idle_cost_per_month",
        "Idle a month",
        "Held and idle, per 30 days",
        ComparedUnit.MONEY,
        lambda one: one.month_of(("idle",)),
    ),
    (
        "unallocated_cost_per_month",
        "Unallocated a month",
        "Held by nobody, per 30 days",
        ComparedUnit.MONEY,
        lambda one: one.month_of(UNALLOCATED),
    ),
    (
        "wait_p95_ms",
        "95% waited less than",
        "From creation until a unit of work was bound",
        ComparedUnit.TIME,
        lambda one: one.wait_p95_ms,
    ),
)


def compared(before: PeriodFigures, after: PeriodFigures) -> list[ComparedFigure]:
    """Every figure of both periods, in the order of the page."""
    return [
        ComparedFigure(
            name, label, text, unit, _number(read(before)), _number(read(after))
        )
        for name, label, text, unit, read in FIGURES
    ]


def _number(value: float | Decimal | None) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def default_periods(today: date, first_data: date | None) -> tuple[DayRange, DayRange]:
    """The last complete month and the one before it.

    Where data begin later, the last 28 whole days and the 28 before them.
    """
    month = today.replace(day=1)
    after = DayRange(months_later(month, -1), month)
    before = DayRange(months_later(month, -2), after.first)
    if first_data is None or first_data <= before.first:
        return before, after
    middle = today - FOUR_WEEKS * DAY
    return DayRange(middle - FOUR_WEEKS * DAY, middle), DayRange(middle, today)


def first_compared(day: date) -> date:
    """The first day on which a whole day after `day` has passed."""
    return day + 2 * DAY


def periods_around(day: date, today: date) -> tuple[DayRange, DayRange] | None:
    """As many whole days before and after a day as there are by now, at most 28.

    From a week on, whole weeks: weekdays then match. The day itself is in neither. None as long
    as no whole day after it has passed.
    """
    if today < first_compared(day):
        return None
    length = min((today - day).days - 1, FOUR_WEEKS)
    if length > WEEK_DAYS:
        length -= length % WEEK_DAYS
    first = day + DAY
    return DayRange(day - length * DAY, day), DayRange(first, first + length * DAY)


def story(
    since: str,
    before: PeriodFigures,
    after: PeriodFigures,
    figures: Sequence[ComparedFigure],
    text: Callable[[ComparedFigure, Decimal], str],
) -> list[Sentence]:
    """What became of utilization, cost (and why), idle money and waits.

    Args:
        since: `Since the change of 12 Nov 2026`, `From October to November`.
        before, after: too little of either observed gives no story.
        figures: as `compared` has them.
        text: how the page writes a figure.
    """
    for one in (before, after):
        if one.seen is None or one.seen < FLOOR_COVERAGE or not one.total.wall_ms:
            return []
    by_name = {one.name: one for one in figures}
    first = [
        part
        for name, words in (
            ("utilization", "utilization"),
            ("cost_per_month", "cost a month"),
        )
        if (part := _moved(by_name[name], words, text))
    ]
    second = [
        part
        for name, words in (
            ("idle_cost_per_month", "idle GPUs a month"),
            ("wait_p95_ms", "the wait that 95% stay below"),
        )
        if (part := _moved(by_name[name], words, text))
    ]
    found = [_sentence(f"{since}, ", first)] if first else []
    if why := _why(before, after, by_name["cost_per_month"], text):
        found.append(why)
    return found + ([_sentence("", second)] if second else [])


def _why(
    before: PeriodFigures,
    after: PeriodFigures,
    cost: ComparedFigure,
    text: Callable[[ComparedFigure, Decimal], str],
) -> Sentence:
    """`Of this change, −€78,116 because a GPU-hour cost less (prices, models, spot)`.

    In whole units, as costs are written in it. Nothing if much of the time has no price: GPUs
    that get one would be more GPU-hours.
    """
    for one in (before, after):
        if (share(one.priced_ms, one.total.wall_ms) or 0) < FLOOR_COVERAGE:
            return ()
    split = split_of_cost(before, after, 0)
    if split is None or not split.by_hours + split.by_price:
        return ()
    more_price = "more" if split.by_price > 0 else "less"
    more_hours = "more" if split.by_hours > 0 else "fewer"
    reasons = [
        (split.by_price, f"a GPU-hour cost {more_price} (prices, models, spot)"),
        (split.by_hours, f"there were {more_hours} GPU-hours"),
    ]
    parts: list[Sentence] = [
        (
            (f"{'+' if amount > 0 else MINUS}{text(cost, abs(amount))}", True),
            (f" because {words}", False),
        )
        for amount, words in sorted(reasons, key=lambda one: -abs(one[0]))
        if amount
    ]
    return _sentence("Of this change, ", parts)


def _sentence(opening: str, parts: Sequence[Sentence]) -> Sentence:
    joined: list[tuple[str, bool]] = [(opening, False)] if opening else []
    for n, part in enumerate(parts):
        joined += ((" and ", False), *part) if n else part
    if not opening:
        text, is_figure = joined[0]
        joined[0] = (f"{text[:1].upper()}{text[1:]}", is_figure)
    return (*joined, (".", False))


def _moved(
    one: ComparedFigure, words: str, text: Callable[[ComparedFigure, Decimal], str]
) -> Sentence:
    """`utilization rose from 31.0% to 64.2%`; nothing without both figures."""
    if one.before is None or one.after is None or one.difference is None:
        return ()
    old, new = text(one, one.before), text(one, one.after)
    if old == new:
        return ((f"{words} stayed at ", False), (new, True))
    verb = "rose" if one.difference > 0 else "fell"
    return (
        (f"{words} {verb} from ", False),
        (old, True),
        (" to ", False),
        (new, True),
    )
