"""Forecasts, their range and unusual days (docs/money.md, M36-M40)."""

from collections.abc import Mapping
from datetime import date, timedelta
from fractions import Fraction
from math import floor, isqrt
from typing import Any

from tests.oracle.money.exact import MICRO, fixed, half_even

Days = dict[date, int]  # micros
WINDOW = timedelta(days=28)
FEWEST = 14


def median(values: list[int]) -> int:
    """The middle one; of two, their mean, half to even."""
    ordered, half = sorted(values), len(values) // 2
    if len(ordered) % 2:
        return ordered[half]
    return half_even(Fraction(ordered[half - 1] + ordered[half], 2), 0)


def expected(window: Days, day: date) -> int:
    """The median of the weekday; where there is none, of all days."""
    same = [y for one, y in window.items() if one.weekday() == day.weekday()]
    return median(same or list(window.values()))


def residuals(window: Days) -> Days:
    """Each day less what the others say of it."""
    return {
        day: y - expected({x: z for x, z in window.items() if x != day}, day)
        for day, y in window.items()
    }


def micros(days: Mapping[str, str]) -> Days:
    return {
        date.fromisoformat(day): half_even(Fraction(y), MICRO)
        for day, y in days.items()
    }


def width(window: Days, others: int) -> int:
    """Half of the 80 % range, in micros."""
    rest, last = residuals(window), max(window)
    mean = Fraction(sum(map(abs, rest.values())), len(rest))
    weeks = []
    for week in range(4):
        days = [last - timedelta(days=7 * week + n) for n in range(7)]
        if all(day in rest for day in days):
            weeks.append(abs(sum(rest[day] for day in days)))
    weekly = Fraction(sum(weeks), len(weeks)) if weeks else Fraction(0)
    most = max(mean**2 * others, weekly**2 * others / 7)
    return isqrt(
        floor(Fraction(1606, 1000) ** 2 * most * (1 + Fraction(others, len(window))))
    )


def forecast(case: Mapping[str, Any]) -> dict[str, Any]:
    days, so_far = micros(case["days"]), micros(case["so_far"])
    last = max(days, default=date.min)
    window = {day: y for day, y in days.items() if last - day < WINDOW}
    if len(window) < FEWEST:
        return {"status": "not_enough_history"}
    ledger = min([*days, *so_far])
    first, after = (date.fromisoformat(case[name]) for name in ("first", "after"))
    period = [first + timedelta(days=n) for n in range((after - first).days)]
    fixed_part = sum(days[day] for day in period if day in days)
    fixed_part += half_even(Fraction(case["entries"]), MICRO)
    open_days = [day for day in period if day not in days and day >= ledger]
    so = {day: so_far.get(day, 0) for day in open_days}
    total = fixed_part + sum(max(expected(window, d), so[d]) for d in open_days)
    floor_ = fixed_part + sum(max(0, so[d]) for d in open_days)
    wide = width(window, len(open_days)) if open_days else 0
    errors = sum(map(abs, residuals(window).values()))
    size = sum(map(abs, window.values()))
    past = fixed(half_even(Fraction(errors, size), 4), 4) if size else None
    minor = half_even(Fraction(total, 10**MICRO), case["places"])
    return {
        "status": "ok",
        "days_left": len(open_days),
        "forecast": fixed(total, MICRO),
        "low": fixed(max(total - wide, floor_), MICRO),
        "high": fixed(total + wide, MICRO),
        "forecast_minor": fixed(minor, case["places"]),
        "past_error": past,
    }


def anomaly(case: Mapping[str, Any]) -> dict[str, Any]:
    days, day = micros(case["days"]), date.fromisoformat(case["day"])
    window = {x: y for x, y in days.items() if day - WINDOW <= x < day}
    if len(window) < FEWEST:
        return {"status": "not_enough_history"}
    usual = expected(window, day)
    apart = abs(days[day] - usual)
    rest = residuals(window)
    flagged = apart > 0 and apart >= half_even(Fraction(case["minimum"]), MICRO)
    flagged = flagged and 4 * apart >= abs(usual)
    flagged = flagged and apart * len(rest) >= 4 * sum(map(abs, rest.values()))
    return {"status": "ok", "expected": fixed(usual, MICRO), "flagged": flagged}
