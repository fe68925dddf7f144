"""How values are written. Missing is a word, never a zero."""

import cProfile
import pstats
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from babel.dates import format_date
from babel.numbers import format_currency, format_decimal
from hypothesis import given
from hypothesis import strategies as st

from accounting.core.billing_calendar import DayRange
from accounting.core.money_text import LOCALE, MINUS, amount_text, number_text
from accounting.kit.tags import pages, units


def test_a_quoted_sentence_has_one_stop() -> None:
    assert pages.quoted("the yearly renewal.") == "“the yearly renewal.”"
    assert pages.quoted("renewal") == "“renewal”."


def test_time_without_a_team_has_a_name_and_not_a_slug() -> None:
    assert pages.named({}, "unmapped") == "Unmapped"
    assert pages.named({}, "platform") == "Platform"
    assert pages.named({}, "gone") == "gone"


@pytest.mark.parametrize(
    ("amount", "currency", "expected"),
    [
        (Decimal("148210.37"), "USD", "$148,210.37"),
        (Decimal("-5.00"), "EUR", "\N{MINUS SIGN}€5.00"),
        (Decimal("0.001"), "USD", "<$0.01"),
        (Decimal("-0.001"), "USD", "\N{MINUS SIGN}<$0.01"),
        (Decimal(0), "USD", "$0.00"),
        (Decimal(1500), "JPY", "¥1,500"),
        (None, "USD", "No price"),
    ],
)
def test_money(amount: Decimal | None, currency: str, expected: str) -> None:
    assert units.money(amount, currency) == expected


def test_cards_round_large_amounts_only() -> None:
    assert units.money_round(Decimal("148210.37"), "EUR") == "€148,210"
    assert units.money_round(Decimal("12.34"), "EUR") == "€12.34"


def test_rates_keep_their_places() -> None:
    assert units.rate(Decimal("1.126000"), "USD") == "$1.126"
    assert units.rate(Decimal("2.000000"), "USD") == "$2.00"


@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        (132_480 * 3_600_000, "132,480"),
        (3_600_000 * 99, "99.0"),
        (1, "<0.1"),
        (-1, "\N{MINUS SIGN}<0.1"),
        (-3_600_000 * 5, "\N{MINUS SIGN}5.0"),
        (0, "0"),
        (None, "No data"),
    ],
)
def test_gpu_hours(ms: int | None, expected: str) -> None:
    assert units.gpu_hours(ms) == expected


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (0.658, "65.8%"),
        (0.99999, ">99.9%"),
        (1.0, "100.0%"),
        (0.0001, "<0.1%"),
        (0.0, "0.0%"),
        (None, "No data"),
    ],
)
def test_percent_never_rounds_to_a_lie(ratio: float | None, expected: str) -> None:
    assert units.percent(ratio) == expected


@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        (40_000, "40 s"),
        (11_520_000, "3 h 12 min"),
        (187_200_000, "2 d 4 h"),
        (7_200_000, "2 h"),
        (None, "No data"),
    ],
)
def test_durations(ms: int | None, expected: str) -> None:
    assert units.duration(ms) == expected


@pytest.mark.parametrize(
    ("first", "after", "expected"),
    [
        ("2026-11-01", "2026-11-21", "1–20 Nov 2026"),
        ("2026-10-01", "2026-11-01", "Oct 2026"),
        ("2026-11-20", "2026-11-21", "20 Nov 2026"),
        ("2026-10-28", "2026-11-04", "28 Oct – 3 Nov 2026"),
        ("2025-12-01", "2026-01-02", "1 Dec 2025 – 1 Jan 2026"),
    ],
)
def test_ranges_count_both_ends(first: str, after: str, expected: str) -> None:
    chosen = DayRange(date.fromisoformat(first), date.fromisoformat(after))
    assert units.days(chosen) == expected


def test_times_carry_the_exact_instant() -> None:
    html = units.moment(datetime(2026, 10, 1, 10, 5, 30, tzinfo=UTC))
    assert 'datetime="2026-10-01T10:05:30+00:00"' in html
    assert "1 Oct 10:05" in html
    assert units.moment(None) == "\N{EM DASH}"


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        (Decimal("12345.6"), "EUR", "€12,346"),
        (Decimal("-12.5"), "EUR", "−€12.50"),
        (Decimal(1234), "", "1,234 GPU-h"),
        (12.34, "", "12.3 GPU-h"),
        (None, "EUR", "No data"),
    ],
)
def test_amounts_of_budgets_have_a_currency_or_are_gpu_hours(
    amount: Decimal | float | None, currency: str, text: str
) -> None:
    assert units.quantity(amount, currency) == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, "No data"), (1234.55, "1,234.5"), (0, "0.0"), (-0.04, "-0.0")],
)
def test_averages_have_one_place(value: float | None, expected: str) -> None:
    assert units.average(value) == expected


@given(st.floats(-1e9, 1e9), st.integers(-(10**12), 10**12), st.dates())
def test_formats_without_babel_are_those_of_the_locale(
    number: float, whole: int, at: date
) -> None:
    """Hundreds of cells of a page have one of these formats, and babel takes 50 us for each."""
    average = format_decimal(round(number, 1), "#,##0.0", locale=LOCALE)
    assert units.average(number) == average
    assert units.count(whole) == format_decimal(whole, "#,##0", locale=LOCALE)
    assert units.short_day(at) == format_date(at, "d MMM", locale=units.DATES)
    if at.year >= 1000:
        assert units.day(at) == format_date(at, "d MMM yyyy", locale=units.DATES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("28785.7", "28,785.7"),
        ("+43.3", "+43.3"),
        ("-10252.0", "\N{MINUS SIGN}10,252.0"),
        ("", ""),
        ("12.5%", "12.5%"),
    ],
)
def test_a_number_in_text_is_grouped(text: str, expected: str) -> None:
    assert units.grouped(text) == expected


AMOUNTS = st.decimals(-(10**12), 10**12, allow_nan=False, places=9)
CURRENCIES = st.sampled_from(
    ["EUR", "USD", "JPY", "KWD", "CHF", "NOK", "CNY", "XXX", ""]
)


@given(amount=AMOUNTS, currency=CURRENCIES, places=st.integers(0, 4))
def test_amounts_are_written_as_babel_writes_them(
    amount: Decimal, currency: str, places: int
) -> None:
    pattern = "¤#,##0" + ("." + "0" * places if places else "")
    text = format_currency(
        amount, currency, pattern, locale=LOCALE, currency_digits=False
    )
    assert amount_text(amount, currency, places) == text.replace("-", MINUS)
    text = format_currency(
        amount, currency, "¤#,##0.00####", locale=LOCALE, currency_digits=False
    )
    assert units.rate(amount, currency) == text.replace("-", MINUS)


@given(
    value=AMOUNTS | st.floats(-1e12, 1e12, allow_nan=False), places=st.integers(0, 4)
)
def test_numbers_are_written_as_babel_writes_them(
    value: Decimal | float, places: int
) -> None:
    pattern = "#,##0" + ("." + "0" * places if places else "")
    text = format_decimal(value, pattern, locale=LOCALE)
    assert number_text(value, places) == text.replace("-", MINUS)


def test_writing_a_number_takes_few_calls() -> None:
    """A page has hundreds of numbers; with a pattern that is parsed each took a hundred calls."""
    profile = cProfile.Profile()
    for n in range(1, 101):
        profile.runcall(units.money, Decimal(n) * 1_234, "EUR")
        profile.runcall(units.gpu_hours, n * 3_600_000)
        profile.runcall(units.percent, n / 200)
    calls = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]
    assert calls < 300 * 20
