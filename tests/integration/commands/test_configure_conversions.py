"""The section `conversions` of the setup file."""

import pytest

from accounting.prices.models.conversion import ConversionRate
from tests.integration.commands.conftest import Configure

FILE = """\
conversions:
  - {from: USD, to: EUR, day: 2026-10-01, rate: "0.9215"}
  - {from: GBP, to: EUR, day: 2026-10-01, rate: 1.15}
"""


def rates() -> list[tuple[str, str, str]]:
    return [
        (row.from_currency, row.on.isoformat(), f"{row.rate.normalize():f}")
        for row in ConversionRate.objects.all()
    ]


def test_rates_are_added_corrected_and_kept(configure: Configure) -> None:
    assert "2 conversions" in configure(FILE).out
    assert "conversions" not in configure(FILE).out
    later = FILE.replace("2026-10-01", "2026-11-01", 1).replace("1.15", "1.16")
    assert "2 conversions" in configure(later).out
    assert rates() == [
        ("GBP", "2026-10-01", "1.16"),
        ("USD", "2026-10-01", "0.9215"),
        ("USD", "2026-11-01", "0.9215"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("USD", "EUR", "needs no conversion into itself"),
        ("USD", "usd", "'usd' is not an ISO 4217 currency"),
        ("2026-10-01", "2026-10-32", "not a value: day is out of range"),
        ("2026-10-01", "yes", "'True' is not a valid date"),
        ('"0.9215"', "0", "must be above 0"),
        ('"0.9215"', "0.12345678901", "10 decimal places"),
        ("GBP", "USD", "duplicate conversion on 2026-10-01"),
    ],
)
def test_a_wrong_rate_names_its_line(
    configure: Configure, old: str, new: str, text: str
) -> None:
    ended = configure(FILE.replace(old, new, 1))
    assert ended.code != 0
    assert "line" in ended.err
    assert text in ended.err
    assert not ConversionRate.objects.exists()
