"""Methods, and what each team would pay by each of them (money.md M22 to M24)."""

from collections.abc import Iterator
from typing import Any

from django.utils import timezone
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.reads.billing_settings import billing_at
from accounting.kit.problems import RequestRefused
from accounting.kit.serializers.row import Members
from accounting.kit.texts import amount
from accounting.months.api.periods import MonthView
from accounting.months.api.schema import reads_one
from accounting.months.rules.methods import METHODS
from accounting.months.serializers.methods import MethodComparisonSerializer
from accounting.months.tasks.method_comparison import (
    ComparisonTooLarge,
    MethodRow,
    compare_within,
    days_to_compare,
)


class PeriodMethodsView(MonthView):
    """Methods side by side for one month."""

    @reads_one(MethodComparisonSerializer, "period_methods", also=(409,))
    def get(self, request: Request, period: str) -> Response:
        """Compute what each team would pay for the days of a month that are over by each method,
        with entries and without corrections. Nothing is stored. 409 if that is more usage or
        takes longer than the page of the month allows; `manage.py compare_methods` has no limit.
        """
        del request
        row, now = self.row(period), timezone.now()
        days = days_to_compare(row.first, now)
        try:
            found = compare_within(days) if days else []
        except ComparisonTooLarge as error:
            detail = f"{error} Use manage.py compare_methods, which has no limit."
            raise RequestRefused(status.HTTP_409_CONFLICT, detail) from error
        return Response(
            {
                "period": row.name,
                "since": days and days.first,
                "until": days and days.after,
                "method": row.method,
                "currency": billing_at(now).currency,
                "teams": list(_teams(found)),
            }
        )


def _teams(rows: list[MethodRow]) -> Iterator[Members]:
    for one in rows:
        totals: list[dict[str, Any]] = [
            {
                "method": method.id,
                "total": amount(one.totals[method.id]),
                "difference": amount(one.difference(method.id)),
            }
            for method in METHODS
        ]
        yield {"team": one.team, "in_effect": amount(one.in_effect), "totals": totals}
