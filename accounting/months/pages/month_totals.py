"""What the statements of the month that a page shows come to (money.md M6)."""

from dataclasses import dataclass
from datetime import date

from accounting.core.billing_calendar import months_later
from accounting.months.reads.month_totals import MonthTotals, month_totals
from accounting.usage.pages.page_state import PageState


@dataclass(frozen=True, slots=True)
class ShownMonth:
    """A month with its totals; `may_open`: the reader may open its page."""

    first: date
    totals: MonthTotals
    may_open: bool

    @property
    def name(self) -> str:
        """YYYY-MM."""
        return f"{self.first:%Y-%m}"


def shown_month(state: PageState) -> ShownMonth | None:
    """The month of a page's range, whole or to date; None for another range, or with filters."""
    first = state.days.first
    ends = months_later(first, 1)
    is_to_end = state.days.after == ends or state.today < state.days.after < ends
    if first.day != 1 or not is_to_end or state.filters or state.cluster:
        return None
    scope = state.visitor.scope
    found = month_totals(scope, f"{first:%Y-%m}")
    return ShownMonth(first, found, scope.is_finance) if found else None
