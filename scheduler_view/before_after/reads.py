"""The figures of a period, and what was changed: applied change sets, prices, the fleet."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import connection

from accounting.access.scope import Scope
from accounting.core.billing_calendar import DayRange
from accounting.core.interval import Interval
from accounting.kit.reads.selection import Selection
from accounting.prices.models.price import PriceKind, UnitPrice
from accounting.usage.reads.coverage import data_share
from accounting.usage.reads.ledger import ledger_days, ledger_rows
from accounting.usage.rules.rows import LedgerRow
from scheduler_view.before_after.rules import KNOWN_LIFECYCLES, PeriodFigures
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.reads.change_sets import rows_of

MOST_CHANGES = 500


class MarkKind(StrEnum):
    """What was changed."""

    CHANGE = "Change set"
    PRICE = "Prices"
    FLEET = "GPUs"


@dataclass(frozen=True, slots=True)
class ChangeMark:
    """Something that was changed on one billing day.

    Attributes:
        text: the title of a change set; `rate` or `cost` of prices.
        number: of a change set; None of others.
        priced: models with a new price.
        models: by how many GPUs each model grew.
    """

    day: date
    kind: MarkKind
    text: str = ""
    number: int | None = None
    models: tuple[tuple[str, int], ...] = ()
    priced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PeriodRead:
    """A period with its days.

    Attributes:
        daily: one row for each day with GPUs; their sum is `figures.total`.
    """

    figures: PeriodFigures
    daily: list[LedgerRow]


def period_figures(
    scope: Scope, days: DayRange, zone: ZoneInfo, data: Interval | None, now: datetime
) -> PeriodRead:
    """The figures of a period.

    Args:
        scope: of a person who sees all teams.
        days: billing days, in `zone`.
        data: from the first to the newest data; None without any.
        now: waits are kept as long as facts.

    Raises:
        HiddenError: the scope does not cover all teams.
    """
    period = days.period(zone)
    selection = Selection(scope, period)
    daily, total = ledger_days(selection)
    times = {
        row.key["lifecycle"]: row.wall_ms
        for row in ledger_rows(selection, ("lifecycle",))
    }
    elapsed = _both(period, data)
    waits, p95 = _waits(period, now)
    return PeriodRead(
        PeriodFigures(
            days=days,
            length_ms=elapsed.length_ms if elapsed else 0,
            total=total,
            spot_ms=times.get("spot", 0),
            lifecycle_ms=sum(times.get(name, 0) for name in KNOWN_LIFECYCLES),
            seen=data_share(elapsed) if elapsed else None,
            waits=waits,
            wait_p95_ms=p95,
        ),
        daily,
    )


def _both(period: Interval, data: Interval | None) -> Interval | None:
    """The part of a period between the first and the newest data."""
    if data is None:
        return None
    start = max(period.start_ms, data.start_ms)
    end = min(period.end_ms, data.end_ms)
    return Interval(start, end) if start < end else None


_WAITS = """
    SELECT count(*), (1000 * percentile_disc(0.95) WITHIN GROUP (
        ORDER BY greatest(extract(epoch FROM bound_at - created_at), 0)))::bigint
    FROM scheduler_view_waitrecord
    WHERE bound_at >= %s AND bound_at < %s AND created_at IS NOT NULL
"""


def _waits(period: Interval, now: datetime) -> tuple[int | None, int | None]:
    """How many units were bound in a period, and the wait that 95% of them stay below."""
    if period.start < now - timedelta(days=settings.FACT_DAYS):
        return None, None  # records of ended work are gone, which is not a random part
    with connection.cursor() as cursor:
        cursor.execute(_WAITS, [period.start, period.end])
        units, p95 = cursor.fetchone()
    return units, p95


def marks_of(
    scope: Scope, first: date, after: date, zone: ZoneInfo, since: datetime | None
) -> list[ChangeMark]:
    """What was changed on the days from `first`, in order.

    Args:
        scope: costs are those of finance.
        first, after: billing days; `after` is excluded.
        zone: of the billing days.
        since: of the first data: GPUs that were there before are not new.
    """
    period = DayRange(first, after).period(zone)
    found = [
        *_change_sets(scope, period, zone),
        *_prices(scope, period, zone),
        *_fleet(period, zone, since),
    ]
    return sorted(found, key=lambda one: (one.day, one.kind, one.number or 0, one.text))


def _change_sets(
    scope: Scope, period: Interval, zone: ZoneInfo
) -> Iterable[ChangeMark]:
    rows = ChangeSet.objects.filter(
        applied_at__gte=period.start, applied_at__lt=period.end
    )
    for row in rows_of(rows.order_by("applied_at", "pk"), scope, MOST_CHANGES):
        if row.applied_at is not None and row.steps_applied:
            day = row.applied_at.astimezone(zone).date()
            yield ChangeMark(day, MarkKind.CHANGE, row.name, row.id)


def _prices(scope: Scope, period: Interval, zone: ZoneInfo) -> Iterable[ChangeMark]:
    rows = UnitPrice.objects.filter(
        valid_from__gte=period.start, valid_from__lt=period.end
    )
    if not scope.is_finance:
        rows = rows.filter(kind=PriceKind.RATE)
    models: dict[tuple[date, str], list[str]] = defaultdict(list)
    for kind, start, model in rows.order_by("model").values_list(
        "kind", "valid_from", "model"
    ):
        models[start.astimezone(zone).date(), kind].append(model)
    for (day, kind), named in models.items():
        priced = tuple(dict.fromkeys(named))
        yield ChangeMark(day, MarkKind.PRICE, kind, priced=priced)


_FLEET = """
    SELECT day, model, sum(n)::int FROM (
        SELECT (to_timestamp(p.start_ms / 1000.0) AT TIME ZONE %(zone)s)::date AS day,
               g.model, 1 AS n
        FROM accounting_gpupresence p JOIN accounting_gpu g ON g.id = p.gpu_id
        WHERE p.start_ms >= %(start)s AND p.start_ms < %(end)s
        UNION ALL
        SELECT (to_timestamp(p.end_ms / 1000.0) AT TIME ZONE %(zone)s)::date, g.model, -1
        FROM accounting_gpupresence p JOIN accounting_gpu g ON g.id = p.gpu_id
        WHERE p.end_ms >= %(start)s AND p.end_ms < %(end)s
    ) moved GROUP BY day, model HAVING sum(n) <> 0 ORDER BY day, model
"""


def _fleet(
    period: Interval, zone: ZoneInfo, since: datetime | None
) -> Iterable[ChangeMark]:
    """Days on which there were more or fewer GPUs of a model at the end than at the start."""
    values: dict[str, str | int] = {
        "zone": zone.key,
        "start": period.start_ms,
        "end": period.end_ms,
    }
    with connection.cursor() as cursor:
        cursor.execute(_FLEET, values)
        rows = cursor.fetchall()
    by_day: dict[date, list[tuple[str, int]]] = defaultdict(list)
    for day, model, count in rows:
        by_day[day].append((model, count))
    if since is not None:
        by_day.pop(since.astimezone(zone).date(), None)
    for day, models in by_day.items():
        yield ChangeMark(day, MarkKind.FLEET, models=tuple(models))


@dataclass(frozen=True, slots=True)
class AppliedChange:
    """A change set that can be chosen: two periods are then around its day."""

    number: int
    day: date
    text: str


def applied_changes(
    scope: Scope, zone: ZoneInfo, limit: int = 50
) -> list[AppliedChange]:
    """Those that wrote something, newest first."""
    rows = ChangeSet.objects.filter(applied_at__isnull=False).order_by("-applied_at")
    return [
        AppliedChange(row.id, row.applied_at.astimezone(zone).date(), row.name)
        for row in rows_of(rows, scope, limit)
        if row.applied_at is not None and row.steps_applied
    ]


def data_interval(since: datetime | None, until: datetime | None) -> Interval | None:
    """From the first to the newest data."""
    if since is None or until is None or since >= until:
        return None
    return Interval.of(since, until)
