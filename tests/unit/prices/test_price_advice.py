"""What a price list should say instead of a value that is not valid (money.md M19)."""

import pytest

from accounting.prices.rules.model_spelling import Spelling
from accounting.prices.rules.price_advice import date_advice, plain_number


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("0,72", "0.72"),
        ("2,5", "2.5"),
        ("1.234,56", "1234.56"),
        ("1,234.56", "1234.56"),
        ("$ 2.10", "2.10"),
        ("2.10 EUR", "2.10"),
        ("€2,10", "2.10"),
        ("1 234.5", "1234.5"),
        ("1'234.50", "1234.50"),
        ("0,7205", "0.7205"),
        ("1,234", ""),  # either number
        ("1,234,567", ""),
        ("abc", ""),
        ("", ""),
        ("=1+1", ""),
        ("1.2.3", ""),
    ],
)
def test_a_number_is_suggested_only_where_it_is_clear(text: str, plain: str) -> None:
    assert plain_number(text) == plain


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("31/12/2026", "write 2026-12-31"),
        ("12/31/2026", "write 2026-12-31"),
        ("1.2.2026", "write 2026-02-01 or 2026-01-02"),
        ("2.2.2026", "write 2026-02-02"),
        ("soon", "write a day such as 2026-10-01"),
        ("99/99/2026", "write a day such as 2026-10-01"),
    ],
)
def test_a_day_is_suggested_in_the_order_that_is_read(text: str, days: str) -> None:
    assert date_advice(text).endswith(days)


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("NVIDIA-L40SS", "NVIDIA-L40S"),
        ("H100 80GB HBM", "NVIDIA-H100-80GB-HBM3"),
        ("TPU v5", ""),
        ("", ""),
    ],
)
def test_the_closest_known_model_is_suggested(text: str, model: str) -> None:
    known = Spelling(["NVIDIA-L40S", "NVIDIA-H100-80GB-HBM3"])
    assert known.closest(text) == model
