"""What a report is about: a period, filters, and what the asker may see."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from accounting.access import Scope
from accounting.domain.period import HOUR_MS, WINDOW_MS, Period, to_instant
from accounting.models import Cluster, UsageWindow
from accounting.queries.billing import billing_at

FILTERS = (
    "cluster",
    "team",
    "namespace",
    "workload",
    "workload_type",
    "model",
    "lifecycle",
    "tier",
    "node",
    "gpu",
    "pod",
)
FACT_ONLY = frozenset({"pod", "gpu", "node"})
FACT_DAYS = 35  # how long the five-minute facts are kept


class SelectionError(ValueError):
    """Wrong use of a report: the message says what is wrong and what to write."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A period (None: all that is stored), filters by dimension, and a scope."""

    scope: Scope
    period: Period | None = None
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def parse_selection(
    scope: Scope, start: str | None, end: str | None, filters: Mapping[str, Any]
) -> Selection:
    """A selection from texts as a person or program gives them.

    Args:
        scope: what the asker may see.
        start, end: ISO 8601 with offset, or a date (midnight in the billing time zone).
        filters: dimension -> value or values.

    Raises:
        SelectionError: a time or dimension that cannot be understood (rules.md N30).
    """
    unknown = sorted(set(filters) - set(FILTERS))
    if unknown:
        raise SelectionError(f"unknown filter {unknown[0]!r}; use {', '.join(FILTERS)}")
    kept = {
        key: (value,) if isinstance(value, str) else tuple(value)
        for key, value in filters.items()
        if value
    }
    return Selection(scope, _period(start, end), kept)


def _period(start: str | None, end: str | None) -> Period | None:
    if start is None and end is None:
        return None
    low = datetime(1970, 1, 1, tzinfo=UTC) if start is None else parse_time(start)
    high = datetime(9999, 1, 1, tzinfo=UTC) if end is None else parse_time(end)
    if high <= low:
        raise SelectionError(f"--to {end} does not lie after --from {start}")
    return Period.of(low, high)


def parse_time(text: str) -> datetime:
    """An instant on a five-minute border.

    Raises:
        SelectionError: no ISO time, no offset, or not on a border.
    """
    try:
        if len(text) == len("2026-10-01"):
            return midnight(date.fromisoformat(text))
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise SelectionError(
            f"{text!r} is no ISO 8601 time; write 2026-10-01 or 2026-10-01T10:00:00Z"
        ) from error
    if instant.tzinfo is None:
        raise SelectionError(f"{text!r} has no offset; write {text}Z for UTC")
    if int(instant.timestamp() * 1000) % WINDOW_MS:
        raise SelectionError(f"{text!r} does not lie on a five-minute border")
    return instant


def midnight(day: date) -> datetime:
    """Where a billing day begins."""
    guess = datetime.combine(day, time(), tzinfo=UTC)
    return datetime.combine(day, time(), tzinfo=billing_at(guess).zone)


def is_on_days(period: Period) -> bool:
    """True when both ends are billing-day borders (or open)."""
    return all(_is_day(to_instant(ms)) for ms in (period.start_ms, period.end_ms))


def _is_day(instant: datetime) -> bool:
    if instant.year in (1970, 9999):
        return True
    return instant.astimezone(billing_at(instant).zone).time() == time()


def is_on_hours(period: Period) -> bool:
    """True when both ends are UTC hours."""
    return period.start_ms % HOUR_MS == 0 and period.end_ms % HOUR_MS == 0


def billing_days(period: Period) -> tuple[date, date]:
    """First billing day and the first one after a period on day borders."""
    low, high = period.start, period.end
    return (
        low.astimezone(billing_at(low).zone).date(),
        high.astimezone(billing_at(high).zone).date(),
    )


def stored_period(cluster: str | None = None) -> Period | None:
    """From the first to the last stored fact; None without any."""
    rows = UsageWindow.objects.all()
    if cluster is not None:
        found = Cluster.objects.filter(name=cluster).values_list("pk", flat=True)
        rows = rows.filter(cluster_id__in=list(found))
    first = rows.order_by("window_start").values_list("window_start", flat=True).first()
    last = rows.order_by("-window_start").values_list("window_start", flat=True).first()
    if first is None or last is None:
        return None
    return Period.of(first, last + timedelta(milliseconds=WINDOW_MS))
