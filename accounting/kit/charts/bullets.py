"""Bullet bars of budgets: actual, forecast range, pace and budget on one scale, as geometry."""

from dataclasses import dataclass

ROOM = 1.04  # the scale ends a little after the largest value


@dataclass(frozen=True, slots=True)
class Bullet:
    """A bar in percent of its width; None is not drawn.

    Attributes:
        actual: end of the bar.
        low, width: of the forecast range.
        expected: the forecast.
        pace: what an even use had come to.
        budget: the mark of the amount.
        is_over: the actual is above the budget.
    """

    actual: float
    low: float | None
    width: float | None
    expected: float | None
    pace: float | None
    budget: float | None
    is_over: bool


def bullet(
    actual: float,
    forecast: tuple[float, float, float] | None,
    budget: float | None = None,
    pace: float | None = None,
) -> Bullet:
    """The bar of a budget, or of spending without one.

    Args:
        actual: so far; below zero is drawn as zero.
        forecast: low, expected and high; None without enough history.
        budget: the amount; None without a budget.
        pace: None without a budget.
    """
    known = [actual, *(forecast or ()), budget or 0.0, pace or 0.0]
    top = max(known) * ROOM or 1.0

    def place(value: float) -> float:
        return round(max(value, 0.0) / top * 100, 2)

    low, expected, high = forecast or (None, None, None)
    start = None if low is None else place(low)
    end = None if high is None else place(high)
    return Bullet(
        place(actual),
        start,
        None if start is None or end is None else max(round(end - start, 2), 0.3),
        None if expected is None else place(expected),
        None if pace is None else place(pace),
        None if budget is None else place(budget),
        budget is not None and actual > budget,
    )
