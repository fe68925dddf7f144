"""Decimals without trailing zeros and exponent, as hashes, JSON and tables write them (M29)."""

from decimal import Decimal

import pytest

from accounting.core.decimal_text import plain


@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("2.10", "2.1"),
        ("71.50", "71.5"),
        ("100", "100"),
        ("100.00", "100"),
        ("0.000", "0"),
        ("0", "0"),
        ("-3.40", "-3.4"),
        ("1E+3", "1000"),
        ("1E-10", "0.0000000001"),
    ],
)
def test_a_number_has_no_trailing_zeros_and_no_exponent(
    number: str, written: str
) -> None:
    assert plain(Decimal(number)) == written
