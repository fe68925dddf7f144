"""How a number and the one before it are compared in words."""

from decimal import Decimal

from accounting.usage import tags
from accounting.usage.rules.comparison import change


def test_changes_have_a_mark_and_never_a_colour_word() -> None:
    assert tags.moved(change(Decimal(100), Decimal("112.4"))) == "▲ 12.4%"
    assert tags.moved(change(Decimal(100_000), Decimal(100_030))) == "▲ <0.1%"
    assert tags.moved(change(Decimal(100_000), Decimal(99_970))) == "▼ <0.1%"
    assert tags.moved(change(Decimal(100), Decimal(100))) == "No change"
    assert tags.moved(change(Decimal(0), Decimal(9))) == "▲ from almost nothing"
    assert tags.moved(change(Decimal(2), Decimal(60))) == "▲ 30 times as much"
    assert tags.moved(change(Decimal(-500), Decimal(-300))) == "▲ from below zero"
    assert tags.moved(change(Decimal(10), Decimal(-190))) == "▼ 2000.0%"
    assert tags.moved_points(change(Decimal("0.5"), Decimal("0.531"))) == "▲ 3.1 pts"
    assert tags.moved_money(change(Decimal(5), Decimal(2)), "EUR") == "▼ €3.00"
    assert tags.moved(None) == ""
