"""Forecasts of closed months against what they came to (money.md M39)."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from accounting.budgets.models import ForecastRecord
from accounting.months.models.period import Statement

MONTHS = 3


@dataclass(frozen=True, slots=True)
class PastForecast:
    """A closed month of a team: its payable, and what was expected on two days of it.

    Attributes:
        day_10, day_20: forecasts; None if none was recorded.
        error_10, error_20: forecast less payable, over the payable; None without either.
    """

    period_on: date
    currency: str
    payable: Decimal
    day_10: Decimal | None
    day_20: Decimal | None

    @property
    def error_10(self) -> Decimal | None:
        """Of the forecast on the 10th."""
        return self._error(self.day_10)

    @property
    def error_20(self) -> Decimal | None:
        """Of the forecast on the 20th."""
        return self._error(self.day_20)

    def _error(self, forecast: Decimal | None) -> Decimal | None:
        if forecast is None or not self.payable:
            return None
        return (forecast - self.payable) / self.payable


def past_forecasts(team: str) -> list[PastForecast]:
    """The last three closed months of a team, the newest first; two queries."""
    closed = Statement.objects.filter(
        team=team, revision__closed_at__isnull=False, revision__reopened_at=None
    )
    months = closed.select_related("revision").order_by("-revision__period")[:MONTHS]
    records = {
        (row.period_on, row.day): row
        for row in ForecastRecord.objects.filter(team__slug=team)
    }
    found = []
    for statement in months:
        revision = statement.revision
        first = date.fromisoformat(f"{revision.period}-01")
        expected = {
            day: row.amount
            for day in (10, 20)
            if (row := records.get((first, day))) and row.currency == revision.currency
        }
        found.append(
            PastForecast(
                first,
                revision.currency,
                statement.payable,
                expected.get(10),
                expected.get(20),
            )
        )
    return found
