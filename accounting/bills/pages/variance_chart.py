"""What was billed against our cost, by day: the figures of the table below it as a chart."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from accounting.bills.reads.bill_variance import (
    Variance,
    VarianceRow,
    total_variance,
)
from accounting.core.money_text import currency_sign
from accounting.kit.charts.compared import BarsAndLine, compared
from accounting.kit.tags import units
from accounting.usage.pages.figures import Chart
from accounting.usage.pages.steps import day_axis

SHARE_SHOWN = Decimal("0.1")  # a variance from here on is marked


def is_far(found: Variance) -> bool:
    """Whether a variance is marked: a tenth of our cost, or more."""
    return found.ratio is not None and abs(found.ratio) >= SHARE_SHOWN


def variance_chart(rows: Sequence[VarianceRow], currency: str) -> Chart | None:
    """Billed as bars, our cost as a line, all clusters together; None for fewer than two days.

    A day without a conversion, or without a cost price, of one of its clusters is a gap.
    """
    by_day: dict[date, list[VarianceRow]] = {}
    for row in rows:
        by_day.setdefault(row.billing_on, []).append(row)
    if len(by_day) < 2:
        return None
    days = {day: total_variance(by_day[day]) for day in sorted(by_day)}
    sums = list(days.values())

    def money(amount: Decimal | None) -> str:
        return units.NO_DATA if amount is None else units.money(amount, currency)

    figure = compared(
        day_axis(list(days)),
        BarsAndLine(
            name="Billed",
            bars=[_number(one.billed) for one in sums],
            line_name="Our cost",
            line=[_number(one.estimated) for one in sums],
            marked={n for n, one in enumerate(sums) if is_far(one)},
        ),
        currency_sign(currency),
    )
    return Chart(
        figure=figure,
        sentence=_sentence(days),
        columns=("Day", "Billed", "Our cost", "Variance"),
        rows=tuple(
            (units.day(day), *map(money, (one.billed, one.estimated, one.variance)))
            for day, one in days.items()
        ),
    )


def _sentence(days: dict[date, Variance]) -> str:
    """How many days are a tenth apart, and which is furthest apart."""
    ratios = {day: one.ratio for day, one in days.items() if one.ratio is not None}
    if not ratios:
        return "No day has both a bill and a cost in one currency."
    far = sum(is_far(one) for one in days.values())
    most = max(ratios, key=lambda day: abs(ratios[day]))
    said = (
        f"{far} of {len(days)} days differ{'s' if far == 1 else ''}"
        if far
        else "No day differs"
    )
    by = units.percent(float(ratios[most]))
    return f"{said} by 10% or more; the furthest apart is {units.day(most)}, by {by}."


def _number(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)
