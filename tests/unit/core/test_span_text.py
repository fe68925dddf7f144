"""Lengths of time in words.

Not here: the messages that use them (`tests/integration/months/test_checks.py`).
"""

from decimal import Decimal

import pytest

from accounting.core.span_text import hours_in_words


@pytest.mark.parametrize(
    ("hours", "text"),
    [
        ("152.8", "6 days 8 hours"),
        ("24", "1 day"),
        ("25", "1 day 1 hour"),
        ("23.999", "23 hours"),
        ("1", "1 hour"),
        ("0.999", "59 minutes"),
        ("0.017", "1 minute"),
        ("0.016", "less than a minute"),
        ("0", "less than a minute"),
    ],
)
def test_the_two_largest_units_are_named(hours: str, text: str) -> None:
    assert hours_in_words(Decimal(hours)) == text


def test_negative_hours_are_not_a_length() -> None:
    with pytest.raises(ValueError, match="-1 hours"):
        hours_in_words(Decimal(-1))
