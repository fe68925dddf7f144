"""The same figures as a file."""

from collections.abc import Sequence
from decimal import Decimal

from django.http import HttpResponse

from accounting.core.money import amount_of, minor_places
from accounting.kit.pages.downloads import csv_answer
from accounting.kit.pages.permissions import Visitor
from accounting.kit.reads.selection import SelectionError
from scheduler_view.before_after.pages.lines import money_lines, total_line
from scheduler_view.before_after.reads import (
    PeriodRead,
)
from scheduler_view.before_after.rules import (
    ComparedFigure,
    ComparedUnit,
    split_of_cost,
)

FILE_PLACES = 6  # of amounts in the file, as in reports


def figures_file(
    visitor: Visitor,
    before: PeriodRead,
    after: PeriodRead,
    figures: Sequence[ComparedFigure],
) -> HttpResponse:
    """Figures and money of both periods, one row each."""
    currency = visitor.billing.currency
    days = [one.figures.days for one in (before, after)]
    if any(one.figures.total.currencies for one in (before, after)):
        raise SelectionError("the amounts are in several currencies")
    rows: list[tuple[object, ...]] = [
        (
            one.name,
            currency if one.unit is ComparedUnit.MONEY else one.unit,
            _exact(one.before),
            _exact(one.after),
        )
        for one in figures
    ]
    split = split_of_cost(before.figures, after.figures, FILE_PLACES)
    if split is not None:
        rows += [
            ("cost_change_by_hours_per_month", currency, None, split.by_hours),
            ("cost_change_by_price_per_month", currency, None, split.by_price),
        ]
    lines = money_lines(before, after, minor_places(currency))
    for line in (*lines, total_line(lines)):
        name = line.name.lower().replace(" ", "_")
        rows.append((f"{name}_ms", "ms", line.before_ms, line.after_ms))
        amounts = (amount_of(line.before), amount_of(line.after))
        rows.append((f"{name}_cost", currency, *amounts))
    ends = [text for one in days for text in (one.first, one.after)]
    return csv_answer(
        "before-after",
        (
            *("figure", "unit", "before", "after"),
            *("before_from", "before_to", "after_from", "after_to"),
        ),
        [(*row, *ends) for row in rows],
        period=f"{days[0].first}_{days[1].last}",
    )


def _exact(value: Decimal | None) -> Decimal | None:
    """Six places, as the amounts of reports."""
    if value is None or value == value.to_integral_value():
        return None if value is None else Decimal(int(value))
    return round(value, FILE_PLACES)
