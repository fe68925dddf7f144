"""Idle and unallocated cost as bars: what people can act on, and the cost of each rule."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from accounting.core.money import Money
from accounting.kit.charts.bars import BarPart, bar_parts
from accounting.kit.tags.units import money
from scheduler_view.savings.reads.bridge import Bridge
from scheduler_view.savings.rules.finding import WasteRule
from scheduler_view.savings.rules.wording import is_actionable

ACTION, EXPLAINED, ELSEWHERE = "action", "explained", "elsewhere"
WORDS = {
    ACTION: "in findings that you can act on",
    EXPLAINED: "in findings that claim no saving",
    ELSEWHERE: "in no finding",
}


@dataclass(frozen=True, slots=True)
class CostBar:
    """One cost, divided by what people can do about it.

    Attributes:
        amounts: by kind, in the order of `WORDS`; they sum to the cost.
        parts: on the scale of the largest cost of the page.
    """

    bridge: Bridge
    amounts: dict[str, Money]
    parts: tuple[BarPart, ...]

    @property
    def title(self) -> str:
        """Idle cost."""
        return f"{self.bridge.total.cost} cost".capitalize()

    @property
    def sentence(self) -> str:
        """The bar in words."""
        parts = [f"{money(amount)} {words}" for _, words, amount in self.lines]
        return f"{self.title}: {', '.join(parts) or 'none'}"

    @property
    def lines(self) -> list[tuple[str, str, Money]]:
        """Kind, its words and its amount; those of nothing are left out."""
        return [
            (kind, WORDS[kind], amount)
            for kind, amount in self.amounts.items()
            if amount.amount
        ]


@dataclass(frozen=True, slots=True)
class RuleBar:
    """The part of a rule in both costs.

    Attributes:
        url: the findings of the rule alone, or all of them again; "" where no finding is listed.
    """

    title: str
    kind: str
    amount: Money
    parts: tuple[BarPart, ...]
    url: str
    is_current: bool

    @property
    def sentence(self) -> str:
        """The bar in words."""
        return f"{self.title}: {money(self.amount)} {WORDS[self.kind]}"


def kind_of(part: str) -> str:
    """What people can do about a part of a cost."""
    if is_actionable(part):
        return ACTION
    return EXPLAINED if part in set(WasteRule) else ELSEWHERE


def cost_bars(bridges: Sequence[Bridge]) -> list[CostBar]:
    """A bar for each cost that has a price in one currency."""
    priced = [one for one in bridges if one.whole is not None]
    lengths = [sum(_drawn(one).values(), Decimal(0)) for one in priced]
    longest = max(lengths, default=Decimal(0))
    return [_cost_bar(one, longest) for one in priced]


def rule_bars(
    bridges: Sequence[Bridge], chosen: str, url_of: Callable[[str], str]
) -> list[RuleBar]:
    """The cost of each rule, largest first.

    Args:
        bridges: of one page.
        chosen: the rule in the address, or "".
        url_of: the page with findings of a rule alone; of all with "".
    """
    found = [
        row
        for bridge in bridges
        for row in bridge.parts
        if kind_of(row.part) != ELSEWHERE and row.amount
    ]
    found.sort(key=lambda row: -(row.amount or 0))
    longest = max((row.amount or Decimal(0) for row in found), default=Decimal(0))
    return [
        RuleBar(
            title=row.title,
            kind=kind_of(row.part),
            amount=Money(row.amount or Decimal(0), row.currency),
            parts=bar_parts(
                {kind_of(row.part): max(row.amount or Decimal(0), Decimal(0))}, longest
            ),
            url=url_of("" if row.part == chosen else row.part)
            if row.part != WasteRule.IN_USE
            else "",
            is_current=row.part == chosen,
        )
        for row in found
    ]


def _cost_bar(bridge: Bridge, longest: Decimal) -> CostBar:
    currency = bridge.total.currency
    return CostBar(
        bridge,
        {kind: Money(amount, currency) for kind, amount in _sums(bridge).items()},
        bar_parts(_drawn(bridge), longest),
    )


def _drawn(bridge: Bridge) -> dict[str, Decimal]:
    """The parts of a bar by kind; those below zero have no length, and others are then longer."""
    return {kind: max(amount, Decimal(0)) for kind, amount in _sums(bridge).items()}


def _sums(bridge: Bridge) -> dict[str, Decimal]:
    sums = dict.fromkeys(WORDS, Decimal(0))
    for row in bridge.parts:
        sums[kind_of(row.part)] += row.amount or Decimal(0)
    return sums
