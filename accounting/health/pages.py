"""The badge at the top of every page with the age of the data."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.http import HttpRequest

from accounting.health.reads.freshness import freshness
from accounting.kit.pages.permissions import visitor_of

# newer data is shown with a time, older data with a date
SAME_DAY = timedelta(hours=18)


@dataclass(frozen=True, slots=True)
class FreshnessBadge:
    """The badge at the top of every page.

    Attributes:
        until: end of the newest window that was read.
        since: start of the oldest one.
        covered: observed / allocated over the last day of data.
        tone: "" on time, `warn` late, `danger` very late, `mute` without live sources.
        reason: of the tone, one sentence.
        pending: windows that wait to be read.
        dirty_hours: hours that wait to be rolled up.
    """

    until: datetime | None
    since: datetime | None
    covered: float | None
    tone: str
    reason: str
    is_today: bool
    is_live: bool
    is_demo: bool
    pending: int
    dirty_hours: int


def chip_of(request: HttpRequest) -> FreshnessBadge:
    """The badge of a request, computed once."""
    known: FreshnessBadge | None = getattr(request, "chip", None)
    if known is None:
        known = _chip(visitor_of(request).now)
        request.chip = known  # type: ignore[attr-defined]  # our own attribute
    return known


def _chip(now: datetime) -> FreshnessBadge:
    fresh = freshness()
    tone = "" if fresh.level == "ok" else fresh.level
    if fresh.data_to is None:
        tone, reason = "mute", "No window has been read yet."
    elif not fresh.is_live:
        tone, reason = (
            "mute",
            "This data was imported from files; no live source is configured.",
        )
    elif fresh.lag is None or not tone:
        reason = "Data is up to date."
    else:
        minutes = int(fresh.lag.total_seconds() // 60)
        age = (
            f"{minutes // 60} h {minutes % 60} min"
            if minutes >= 60
            else f"{minutes} min"
        )
        reason = f"The newest data is {age} old."
    return FreshnessBadge(
        until=fresh.data_to,
        since=fresh.since,
        covered=fresh.coverage,
        tone=tone,
        reason=reason,
        is_today=fresh.lag is not None and fresh.lag < SAME_DAY,
        is_live=fresh.is_live,
        is_demo=fresh.is_demo,
        pending=fresh.pending,
        dirty_hours=fresh.dirty_hours,
    )
