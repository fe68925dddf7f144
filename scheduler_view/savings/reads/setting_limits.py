"""Limits of settings that findings depend on, now and on computed days (S23, S31)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Max, Min

from accounting.core.billing_calendar import DayRange
from scheduler_view.savings.models import WasteDay
from scheduler_view.savings.rules.wording import limits_text

LimitValues = dict[str, int | list[str]]


@dataclass(frozen=True, slots=True)
class LimitsOfDays:
    """Limits that the first and last of these days had; empty if older versions computed them."""

    days: DayRange
    text: str


def limits_in_force() -> LimitValues:
    """The settings that findings depend on, by name."""
    return {
        "SPOT_PODS": settings.SPOT_PODS,
        "SPOT_HOURS": settings.SPOT_HOURS,
        "MAX_DURATIONS": sorted(settings.MAX_DURATIONS),
    }


def limits_of_days(days: DayRange, clusters: Sequence[str] = ()) -> list[LimitsOfDays]:
    """The limits that computed days had, those of the newest day first.

    Args:
        days: of which computed ones count.
        clusters: by name; none: all.
    """
    rows = WasteDay.objects.filter(day__gte=days.first, day__lt=days.after)
    if clusters:
        rows = rows.filter(cluster__name__in=clusters)
    spans = rows.values("limits").annotate(first=Min("day"), last=Max("day"))
    found = spans.order_by("-last", "-first").values_list("limits", "first", "last")
    return [
        LimitsOfDays(DayRange(first, last + timedelta(days=1)), limits_text(limits))
        for limits, first, last in found
    ]
