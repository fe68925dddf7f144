"""Bars of idle and unallocated cost: no part is drawn past the end of the scale."""

from decimal import Decimal

from scheduler_view.savings.pages.cost_bars import cost_bars
from scheduler_view.savings.reads.bridge import Bridge, BridgeRow
from scheduler_view.savings.rules.finding import WasteRule
from scheduler_view.savings.rules.wording import is_actionable

ACTIONABLE = next(rule.value for rule in WasteRule if is_actionable(rule))


def row(part: str, amount: str) -> BridgeRow:
    return BridgeRow(
        cost="idle", part=part, gpu_ms=1, amount=Decimal(amount), currency="EUR"
    )


def bridge(found: str, rest: str, total: str) -> Bridge:
    return Bridge([row(ACTIONABLE, found), row("rest", rest)], row("total", total))


def test_a_rest_below_zero_leaves_the_bar_inside_its_scale() -> None:
    """Findings at an earlier price came to more than the cost: 140% of the width."""
    [bar] = cost_bars([bridge("14", "-4", "10")])
    assert [part.x + part.width <= 100 for part in bar.parts] == [True]
    assert sum(one.amount for one in bar.amounts.values()) == 10
    longer, shorter = cost_bars([bridge("14", "-4", "10"), bridge("3", "4", "7")])
    assert longer.parts[0].width > 99
    assert [round(part.x + part.width) for part in shorter.parts] == [21, 50]


def test_a_cost_of_nothing_has_no_bar() -> None:
    assert cost_bars([]) == []
    [bar] = cost_bars([bridge("0", "0", "0")])
    assert bar.parts == ()
    assert bar.sentence == "Idle cost: none"
