"""The sentence with which a page of spend begins: what, against what, because of what, what next.

At most four short sentences, each with a figure of the same page. A part is left out where the data
do not cover it: no price, several currencies, missing days, too little observed, no budget.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction

from accounting.core.billing_calendar import DAY, DayRange, months_later
from accounting.usage.rules.comparison import FLOOR_COVERAGE, Comparison

MAIN_SHARE = Fraction(1, 2)
"""What something is mostly for is at least half of the change, in its direction."""
TIMES = 10  # from here on a growth is a multiple, as beside the figure
SMALLEST = 0.0005  # below it nothing changed
LEAST_CAUSED = 0.01  # below it what went up and what went down cancel

Part = tuple[str, bool]  # text, and whether it is a figure
Sentence = tuple[Part, ...]
Written = Callable[[Decimal], str]


@dataclass(frozen=True, slots=True)
class SpendCause:
    """One team or family, and how much its spend changed."""

    name: str
    difference: Decimal


@dataclass(frozen=True, slots=True)
class Spend:
    """What was spent in a range.

    Attributes:
        who: `Teams`, or the name of a team; "" for a part of either.
        when, before: the range and the compared one in words: `in November so far`.
        amount: None without a price, or in several currencies.
        held: GPU-hours as text, said where there is no amount.
        money: how the page writes an amount.
        is_partial: a part of the time has no price: the amount is at least that.
        change: None where nothing is compared.
        has_gaps: a day of the range has no data.
        causes: what may explain the change, the largest first.
        idle_share: of the amount, 0 to 1.
        coverage: how much of the held time was observed, 0 to 1.
    """

    who: str
    when: str
    before: str
    amount: Decimal | None
    held: str
    money: Written
    is_partial: bool = False
    change: Comparison | None = None
    has_gaps: bool = False
    causes: Sequence[SpendCause] = field(default=())
    idle_share: float | None = None
    coverage: float | None = None


@dataclass(frozen=True, slots=True)
class MonthBudget:
    """The budget of the running month.

    Attributes:
        month: its first day.
        forecast: None without enough history.
        is_partial: a part of the time has no price: the forecast is too low.
        money: how the page writes an amount.
    """

    month: date
    amount: Decimal
    actual: Decimal
    forecast: Decimal | None
    is_partial: bool
    money: Written


def spend_sentences(spend: Spend) -> list[Sentence]:
    """What was spent, and how much of it was idle."""
    if spend.amount is None:
        held = f"{spend.who or 'This selection'} held "
        return [((held, False), (spend.held, True), (f" {spend.when}.", False))]
    opening = f"{spend.who} spent" if spend.who else "This selection cost"
    least = " at least" if spend.is_partial else ""
    found: list[Sentence] = [
        (
            (f"{opening}{least} ", False),
            (spend.money(spend.amount), True),
            (f" {spend.when}", False),
            *_against(spend),
            (".", False),
        )
    ]
    is_part = spend.idle_share is not None and 0 <= spend.idle_share <= 1
    if is_part and (spend.coverage or 0) >= FLOOR_COVERAGE:  # else credits are in it
        found.append(((f"{spend.idle_share:.0%}", True), (" of it was idle.", False)))
    return found


def _against(spend: Spend) -> list[Part]:
    """The change and what it is mostly for; nothing where they cannot be compared."""
    change = spend.change
    if change is None or change.doubt or change.ratio is None:
        return []
    if spend.has_gaps or spend.is_partial or min(change.before, change.after) < 0:
        return []
    return [
        (f", {_moved(change, change.ratio)} {spend.before}", False),
        *_because(change, spend.causes, spend.money),
    ]


def _moved(change: Comparison, ratio: float) -> str:
    if abs(ratio) < SMALLEST:
        return "as much as"
    if ratio >= TIMES:
        return f"{change.after / change.before:,.0f} times as much as"
    return f"{abs(ratio) * 100:.1f}% {'more' if ratio > 0 else 'less'} than"


def _because(
    change: Comparison, causes: Iterable[SpendCause], money: Written
) -> Sequence[Part]:
    total = Fraction(change.difference)
    if abs(change.ratio or 0) < LEAST_CAUSED:
        return ()
    for cause in causes:
        if Fraction(cause.difference) / total >= MAIN_SHARE:
            sign = "+" if cause.difference > 0 else "\N{MINUS SIGN}"
            return (
                (", mostly for ", False),
                (cause.name, True),
                (f" ({sign}{money(abs(cause.difference))})", False),
            )
    return ()


def budget_sentence(budget: MonthBudget | None) -> Sentence:
    """Whether the budget of the month lasts; nothing without a budget, history or all prices."""
    if budget is None:
        return ()
    over = budget.actual - budget.amount
    if over > 0:
        opening, end = f"The budget of {budget.month:%B} is exceeded by ", "."
        return (opening, False), (budget.money(over), True), (end, False)
    if budget.forecast is None or budget.is_partial:
        return ()
    over = budget.forecast - budget.amount
    if over > 0:
        opening = f"At this rate the budget of {budget.month:%B} is exceeded by "
        return (opening, False), (budget.money(over), True), (".", False)
    return (
        (f"At this rate {budget.month:%B} comes to ", False),
        (budget.money(budget.forecast), True),
        (f" of its budget of {budget.money(budget.amount)}.", False),
    )


def range_words(days: DayRange, today: date, text: str) -> str:
    """`in November so far`, `last week`; `on` and the `text` of any other range."""
    monday = today - today.weekday() * DAY
    known = {
        DayRange(today, today + DAY): "today so far",
        DayRange(today - 6 * DAY, today + DAY): "in the last 7 days",
        DayRange(monday - 7 * DAY, monday): "last week",
        DayRange(today.replace(day=1), today + DAY): f"in {today:%B} so far",
    }
    if days.is_month and days.after <= today:
        return f"in {days.first:%B}"
    return known.get(days, f"on {text}")


def before_words(days: DayRange, before: DayRange, when: str, text: str) -> str:
    """What a range is compared with: `by this time in October`; `on` and the `text` otherwise."""
    if when == "last week" and before == DayRange(days.first - 7 * DAY, days.first):
        return "the week before"
    if before.first == months_later(days.first, -1):
        if when.startswith("in ") and when.endswith(" so far"):
            return f"by this time in {before.first:%B}"
        if days.is_month and before.is_month:
            return f"in {before.first:%B}"
    return f"on {text}"
