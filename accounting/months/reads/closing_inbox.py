"""The month that is to be closed next, once it has settled (money.md M26, M27)."""

from datetime import datetime, timedelta

from accounting.access.scope import Scope
from accounting.kit.inbox import Asker, DoneRow, InboxRow, Kind
from accounting.months.models.period import PeriodRevision
from accounting.months.rules.close_checks import SETTLED_HOURS

CLOSE = "close"
SETTLING = timedelta(hours=SETTLED_HOURS)


def _waiting(asker: Asker) -> list[InboxRow]:
    """The first of the open months; those after it wait for its close."""
    is_open = PeriodRevision.objects.filter(closed_at=None, reopened_at=None)
    first = is_open.order_by("period").first()
    if first is None or first.ends_at + SETTLING > asker.at:
        return []
    return [
        InboxRow(
            kind=CLOSE,
            what=_close(first),
            about="It is over and has settled; its page shows what blocks the close.",
            amount=first.payable,
            currency=first.currency,
            since=first.ends_at + SETTLING,
            does="Review",
            route="month",
            args=(first.period,),
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
    """SELECT count(*) FROM (
           SELECT ends_at FROM accounting_periodrevision
           WHERE closed_at IS NULL AND reopened_at IS NULL ORDER BY period LIMIT 1
       ) first WHERE %(finance)s AND ends_at <= %(settled_at)s""",
    _waiting,
    _done,
    lambda asker: {"settled_at": asker.at - SETTLING},
)
