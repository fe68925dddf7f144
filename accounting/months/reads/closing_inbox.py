"""The month that is to be closed next, once it has settled (money.md M26, M27)."""

from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Max

from accounting.access.scope import Scope
from accounting.kit.inbox import Asker, DoneRow, InboxRow, Kind
from accounting.months.models.period import PeriodRevision
from accounting.months.rules.close_checks import SETTLED_HOURS

CLOSE = "close"
SETTLING = timedelta(hours=SETTLED_HOURS)
# As `months.tasks.periods.next_to_close`: the month after the last closed one, the first one that
# was closed if all were opened again, and before the first close the first booked one.
_NEXT = (
    "SELECT coalesce(to_char(to_date(max(period) FILTER (WHERE closed_at IS NOT NULL"
    " AND reopened_at IS NULL), 'YYYY-MM') + interval '1 month', 'YYYY-MM'),"
    " min(period) FILTER (WHERE closed_at IS NOT NULL), min(period))"
    " FROM accounting_periodrevision"
)
_WAITS = (
    "FROM accounting_periodrevision WHERE closed_at IS NULL AND reopened_at IS NULL"
    f" AND ends_at <= %(settled_at)s AND period = ({_NEXT})"
)


def _waiting(asker: Asker) -> list[InboxRow]:
    """The next month to close, from its settling on, or since it was opened again."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id {_WAITS}", {"settled_at": asker.at - SETTLING})
        found = cursor.fetchone()
    if found is None:
        return []
    month = PeriodRevision.objects.get(pk=found[0])
    opened = PeriodRevision.objects.filter(period=month.period).aggregate(
        at=Max("reopened_at")
    )["at"]
    settled = month.ends_at + SETTLING
    return [
        InboxRow(
            kind=CLOSE,
            what=_close(month),
            about="It is over and has settled; its page shows what blocks the close.",
            amount=month.payable,
            currency=month.currency,
            since=max(settled, opened or settled),
            does="Review",
            route="month",
            args=(month.period,),
        )
    ]


def _done(scope: Scope, since: datetime) -> list[DoneRow]:
    if not scope.is_finance:
        return []
    closed = PeriodRevision.objects.filter(closed_at__gte=since)
    return [
        DoneRow(
            CLOSE,
            _close(one),
            "Closed",
            one.closed_by.get_username() if one.closed_by else "",
            one.closed_at,
            "month",
            (one.period,),
        )
        for one in closed.select_related("closed_by")
        if one.closed_at
    ]


def _close(revision: PeriodRevision) -> str:
    first = datetime.strptime(revision.period, "%Y-%m")  # noqa: DTZ007  # a month
    return f"Close {first:%B %Y}"


CLOSES = Kind(
    CLOSE,
    "Month to close",
    "months",
    lambda scope: scope.is_finance,
    f"SELECT count(*) {_WAITS} AND %(finance)s",
    _waiting,
    _done,
    lambda asker: {"settled_at": asker.at - SETTLING},
)
