"""Thresholds that budgets have reached, dated by the data and not by who looked (money.md M35)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from accounting.budgets.models import BudgetAlert, BudgetVersion
from accounting.budgets.reads.outlook import Outlook
from accounting.budgets.rules.budgets import Threshold, is_expected, reached


@dataclass(frozen=True, slots=True)
class AlertRow:
    """A threshold that was reached: 50, 80 or 100 percent of the actual, or the forecast.

    Attributes:
        reached_on: the billing day at whose end it was passed; of the forecast the last day of
            the data with which it was first found. None: recorded before days were.
        actual: spent at the end of that day; of today so far.
        amount: of the budget's `version`.
    """

    threshold: str
    reached_on: date | None
    actual: Decimal
    forecast: Decimal | None
    amount: Decimal
    version: int


def recorded(budgets: Iterable[int]) -> dict[tuple[int, date], list[AlertRow]]:
    """Recorded ones by budget and first day of the period, in the order in which they were."""
    found: dict[tuple[int, date], list[AlertRow]] = {}
    alerts = BudgetAlert.objects.filter(version__budget__in=list(budgets))
    for one in alerts.select_related("version").order_by("fired_at", "id"):
        key = one.version.budget_id, one.period_on
        row = AlertRow(
            one.threshold,
            one.reached_on,
            one.actual,
            one.forecast,
            one.version.amount,
            one.version.number,
        )
        found.setdefault(key, []).append(row)
    return found


def reached_now(
    version: BudgetVersion,
    outlook: Outlook,
    spent: Mapping[date, Decimal],
    today: date,
    known: Iterable[AlertRow],
) -> tuple[AlertRow, ...]:
    """The thresholds of a period: those of other amounts as recorded, then those of this one.

    What the data shows now counts before what was recorded. One that was recorded and is not in
    the data any more stays: it was reached.

    Args:
        version: the amount in effect.
        outlook: of the period.
        spent: at the end of each of its days.
        today: the last day of the ledger.
        known: recorded in this period.
    """
    known = list(known)
    last_day = max(spent, default=today)
    so_far = {**spent, last_day: outlook.actual}  # with entries of days to come
    expected = outlook.forecast.amount if outlook.forecast else None
    mine = {one.threshold: one for one in known if one.version == version.number}
    found = {
        str(name): _row(version, name, day, actual, expected)
        for name, (day, actual) in reached(
            sorted(so_far.items()), version.amount
        ).items()
    }
    last = Threshold.FORECAST
    if is_expected(expected, version.amount) and not _day_of(mine.get(last)):
        found[last] = _row(version, last, last_day, outlook.actual, expected)
    others = [one for one in known if one.version != version.number]
    both = mine | found
    return (*others, *(both[one] for one in Threshold if one in both))


def _day_of(row: AlertRow | None) -> date | None:
    return row.reached_on if row else None


def _row(
    version: BudgetVersion,
    threshold: Threshold,
    day: date,
    actual: Decimal,
    expected: Decimal | None,
) -> AlertRow:
    return AlertRow(
        threshold.value, day, actual, expected, version.amount, version.number
    )
