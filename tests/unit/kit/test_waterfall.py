"""Waterfalls: each bar begins where the sum before it ended, on one scale."""

from decimal import Decimal

from accounting.kit.charts.waterfall import NARROWEST, WaterfallStep, waterfall


def step(amount: str, *, is_sum: bool = False) -> WaterfallStep:
    """A step of a kind that does not matter."""
    return WaterfallStep(Decimal(amount), "busy", is_sum)


def test_bars_begin_where_the_one_before_ended_and_sums_at_zero() -> None:
    bars = waterfall(
        [step("60"), step("-20"), step("0", is_sum=True), step("60"), step("0.001")]
    )
    assert [(one.part.x, one.part.width) for one in bars[:4]] == [
        *((0, 60), (40, 20), (0, 40), (40, 60)),
    ]
    assert bars[4].part.width == NARROWEST  # visible, and inside
    assert bars[4].part.x + bars[4].part.width <= 100
    assert [one.total for one in bars[:4]] == [60, 40, 40, 100]


def test_sums_below_zero_are_on_the_scale() -> None:
    bars = waterfall([step("-50"), step("100"), step("0", is_sum=True)])
    assert [(one.part.x, one.part.width) for one in bars] == [
        *((0, 50), (0, 100), (50, 50)),
    ]


def test_nothing_has_bars_of_the_least_width() -> None:
    assert [one.part.width for one in waterfall([step("0")])] == [NARROWEST]
    assert waterfall([]) == []
