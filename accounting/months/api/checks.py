"""The checks of a month, as they are and computed as by a close (money.md M47)."""

from dataclasses import replace

from django.db import transaction
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.kit.api.once import answered_once
from accounting.kit.serializers.row import Members
from accounting.months.api.closing import done
from accounting.months.api.periods import MonthView, checks_of, members_of, version_of
from accounting.months.api.schema import acts, reads_one
from accounting.months.reads.periods import PeriodRow, PeriodState
from accounting.months.serializers.periods import PeriodChecksSerializer
from accounting.months.tasks.checks.of_close import run_checks
from accounting.months.tasks.running import book_running


class PeriodChecksView(MonthView):
    """The checks of one month."""

    @reads_one(PeriodChecksSerializer, "period_checks")
    def get(self, request: Request, period: str) -> Response:
        """Read what blocks the close of a month, and what finance should know before it. What reads
        usage is as of the month's `booked_at`."""
        del request
        return Response({"period": period, **checks_of(self.row(period))})


class PeriodCheckView(MonthView):
    """The checks of one month, computed again."""

    @acts(None, PeriodChecksSerializer, "period_check")
    def post(self, request: Request, period: str) -> Response:
        """Compute a month that is not closed as its close would, with entries and corrections, and
        check that. The ETag is the version for `If-Match`. A closed month has the checks of its
        close. 409 if the month can no longer be closed."""
        row = self.row(period)

        def make() -> Response:
            return Response(
                {"period": period, **done(lambda: _checked(row))},
                headers={"ETag": f'"{version_of(period)}"'},
            )

        return answered_once(request, make)


def _checked(row: PeriodRow) -> Members:
    """The checks of the lines that are booked now."""
    if row.state is PeriodState.CLOSED:
        return checks_of(row)
    with transaction.atomic():
        if book_running(row.name).is_closed:  # by another person, meanwhile
            return checks_of(replace(row, state=PeriodState.CLOSED))
        return members_of(run_checks(row.name, timezone.now(), lines="booking_line"))
