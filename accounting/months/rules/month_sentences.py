"""The sentences with which the page of a month begins: what it comes to, and what blocks its close.

Each figure is on the page below them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from accounting.core.money import Money
from accounting.usage.rules.sentence import Sentence


@dataclass(frozen=True, slots=True)
class MonthTold:
    """What the sentences of a month say.

    Attributes:
        name: `October 2026`.
        payable, teams, unallocated: None without a booking.
        is_closed, is_over: its state; a month that is not over is said "so far".
        uncharged: GPU-hours without a price or a conversion, as text; "" if there are none.
        revision: of its booking.
        change: of the payable against the revision before; None without one.
        blocking: how many checks block the close.
        closed: who closed it and when, as text; "" before.
        money: how the page writes an amount.
    """

    name: str
    payable: Money | None
    teams: Money | None
    unallocated: Money | None
    is_closed: bool
    is_over: bool
    uncharged: str
    revision: int
    change: Money | None
    blocking: int
    closed: str
    money: Callable[[Money], str]


def month_sentences(told: MonthTold) -> list[Sentence]:
    """At most four: the total and who pays it, what is not charged, the change, the close."""
    found: list[Sentence] = [_total(told)]
    if told.uncharged:
        have = f" {'had' if told.is_closed else 'have'} no price or conversion rate"
        text = f"{have} and {'were' if told.is_closed else 'are'} in no amount."
        found.append(((told.uncharged, True), (text, False)))
    if told.change is not None:
        found.append(_change(told, told.change))
    found.append(_close(told))
    return found


def _total(told: MonthTold) -> Sentence:
    if told.payable is None or told.teams is None or told.unallocated is None:
        return ((f"{told.name} is not booked yet.", False),)
    verb = "came" if told.is_closed else "comes"
    so_far = "" if told.is_over else " so far"
    return (
        (f"{told.name} {verb} to ", False),
        (told.money(told.payable), True),
        (f"{so_far}: teams pay ", False),
        (told.money(told.teams), True),
        (", and ", False),
        (told.money(told.unallocated), True),
        (" of unallocated time stays with the platform.", False),
    )


def _change(told: MonthTold, change: Money) -> Sentence:
    before = f"revision {told.revision - 1}"
    if not change.amount:
        return ((f"The total is that of {before}.", False),)
    word = "more" if change.amount > 0 else "less"
    size = Money(abs(change.amount), change.currency)
    return (
        ("This is ", False),
        (told.money(size), True),
        (f" {word} than {before}.", False),
    )


def _close(told: MonthTold) -> Sentence:
    if told.closed:
        return ((f"{told.closed}.", False),)
    if not told.blocking:
        return (("Nothing blocks the close.", True),)
    many = "check blocks" if told.blocking == 1 else "checks block"
    return ((f"{told.blocking} {many}", True), (" the close.", False))
