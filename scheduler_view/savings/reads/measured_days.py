"""Which billing days waste is computed for, and those of a request."""

from collections.abc import Collection
from datetime import date, datetime, timedelta

from django.db.models import Max

from accounting.access.reads.billing_settings import billing_day
from accounting.core.billing_calendar import DAY, DayRange
from accounting.core.read_once import read_once
from accounting.kit.reads.selection import (
    Selection,
    SelectionError,
    billing_days,
    is_on_days,
)
from scheduler_view.savings.models import WasteDay

SHOWN_DAYS = timedelta(days=28)  # without `from` and `to`


@read_once
def measured_days(
    days: DayRange, clusters: Collection[str]
) -> tuple[dict[str, list[date]], datetime | None]:
    """The days that are computed, by cluster, and when the latest was."""
    done = WasteDay.objects.filter(day__gte=days.first, day__lt=days.after)
    if clusters:
        done = done.filter(cluster__name__in=clusters)
    newest: datetime | None = None
    by_cluster: dict[str, list[date]] = {}
    for cluster, day, at in done.values_list("cluster__name", "day", "computed_at"):
        by_cluster.setdefault(cluster, []).append(day)
        newest = at if newest is None else max(at, newest)
    return by_cluster, newest


def waste_days(selection: Selection, now: datetime) -> DayRange:
    """The days of a request; without a period, the last 28.

    Raises:
        SelectionError: the period is not of whole days.
    """
    if selection.period is None:
        newest: date | None = WasteDay.objects.aggregate(day=Max("day"))["day"]
        after = (newest or billing_day(now)) + DAY
        return DayRange(after - SHOWN_DAYS, after)
    if not is_on_days(selection.period):
        raise SelectionError("waste is by billing day: give dates", parameter="from")
    return DayRange(*billing_days(selection.period))
