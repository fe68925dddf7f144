"""The formula of a figure as text, with the values of its selection."""

from collections.abc import Sequence
from fractions import Fraction

from accounting.core.interval import HOUR_MS
from accounting.core.money import Money
from accounting.core.rounding import half_even
from accounting.explain.reads.booked_amount import BookedAmount
from accounting.explain.reads.prices import PriceUsed, amounts_of
from accounting.usage.rules.rows import UsageRow


def hours(milliseconds: int) -> str:
    """GPU-hours with two places and separators."""
    return f"{half_even(Fraction(milliseconds, HOUR_MS), 2):,}"


def exactly(milliseconds: int) -> str:
    """GPU-hours, and the exact milliseconds."""
    return f"{hours(milliseconds)} GPU-h = {milliseconds:,} ms"


def formula_of(
    figure: str,
    row: UsageRow,
    prices: Sequence[PriceUsed],
    booked: BookedAmount | None,
    places: int,
) -> tuple[str, ...]:
    """The formula in words, and with the values of a row.

    Args:
        figure: one of `explain.FIGURES` but the ledger.
        prices: behind the amount; they add up to it.
        booked: its parts by close; None if nothing of it is booked.
        places: of amounts of money.
    """
    busy, idle, unknown = (
        hours(ms) for ms in (row.busy_ms, row.idle_ms, row.unknown_ms)
    )
    if figure == "busy_share":
        share = "no data" if row.efficiency is None else f"{row.efficiency:.4%}"
        return (
            "busy / (busy + idle)",
            f"{busy} / ({busy} + {idle}) GPU-h = {share}",
        )
    if figure == "coverage":
        share = "no data" if row.coverage is None else f"{row.coverage:.4%}"
        return (
            "(busy + idle) / (busy + idle + unknown)",
            f"({busy} + {idle}) / ({busy} + {idle} + {unknown}) GPU-h = {share}",
        )
    if figure == "allocated":
        return (
            "busy + idle + unknown",
            f"{busy} + {idle} + {unknown} GPU-h = {hours(row.allocated_ms)} GPU-h",
        )
    has_price = row.charge is not None
    if booked is not None:
        return _booked_formula(
            booked, _money(booked.totals, places, has_price=has_price)
        )
    money = _money(amounts_of(prices), places, has_price=has_price)
    if figure == "idle_charge":
        return (
            "idle milliseconds x rate / 3,600,000",
            f"{idle} GPU-h at its rates = {money}",
        )
    return (
        "allocated milliseconds x rate / 3,600,000, price by price",
        f"{hours(row.allocated_ms - row.unpriced_ms)} GPU-h at its rates = {money}",
    )


def _booked_formula(booked: BookedAmount, money: str) -> tuple[str, ...]:
    """The closes that booked it, and time x price of what is not booked."""
    parts = [f"{one.period} r{one.revision}" for one in booked.months]
    if not booked.opened:
        return "charges booked at the close", f"{' + '.join(parts)} = {money}"
    return (
        "charges booked at the close + milliseconds x rate / 3,600,000 of other time",
        f"{' + '.join(parts)} + other time = {money}",
    )


def _money(amounts: Sequence[Money], places: int, *, has_price: bool) -> str:
    """`95,596.85 EUR`; money of two currencies has no sum and stays separate."""
    texts = [f"{one.amount:,.{places}f} {one.currency}" for one in amounts]
    nothing = f"{0:.{places}f}" if has_price else "no price"  # nothing was held
    return " + ".join(texts) or nothing
