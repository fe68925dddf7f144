"""Start and end of the billing days that the lines of a booking may have (money.md M26, M44)."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from accounting.months.models.period import PeriodRevision

DAY = timedelta(days=1)
Bounds = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class DayBounds:
    """Bounds of consecutive billing days, in UTC.

    Attributes:
        first: the first day.
        bounds: start and end of each day from the first on.
    """

    first: date
    bounds: tuple[Bounds, ...]

    def by_day(self) -> dict[date, Bounds]:
        """The bounds of each day."""
        return {self.first + n * DAY: one for n, one in enumerate(self.bounds)}


def day_bounds(revisions: list[PeriodRevision]) -> DayBounds:
    """Billing days from the first to the last of these periods.

    They follow from what was stored with each booking, so that a closed period keeps them. Days of
    a month between them that was never booked begin at midnight UTC.

    Args:
        revisions: in the order of their periods, one of each.
    """
    known: dict[date, Bounds] = {}
    for revision in revisions:
        known.update(_days_of(revision))
    first, last = min(known), max(known)
    days = [first + n * DAY for n in range((last - first).days + 1)]
    return DayBounds(first, tuple(known.get(day) or _utc(day) for day in days))


def _days_of(revision: PeriodRevision) -> dict[date, Bounds]:
    first = date.fromisoformat(f"{revision.period}-01")
    after = (first + 31 * DAY).replace(day=1)
    zone = ZoneInfo(revision.timezone)
    days = [first + n * DAY for n in range((after - first).days)]
    starts = [
        revision.starts_at.astimezone(UTC),
        *(datetime.combine(day, time(), zone).astimezone(UTC) for day in days[1:]),
        revision.ends_at.astimezone(UTC),
    ]
    return {day: (starts[n], starts[n + 1]) for n, day in enumerate(days)}


def _utc(day: date) -> Bounds:
    start = datetime.combine(day, time(), UTC)
    return start, start + DAY
