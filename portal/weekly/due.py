"""When a week's mail is due. Pure: it gets the time and the zones."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from accounting.core.billing_calendar import DAY, DayRange, midnight

SENT_AT = time(
    7
)  # of Monday, by the clock of the person, also after a change of clocks
SETTLES = timedelta(hours=1)  # after the week, until its last windows are read
LATEST = timedelta(hours=24)  # after it was due; later it would tell of an old week
PATIENCE = timedelta(hours=3)  # for data of the end of the week


def last_week(now: datetime, zone: ZoneInfo) -> DayRange:
    """Monday to Sunday before the present week of a zone."""
    today = now.astimezone(zone).date()
    monday = today - today.weekday() * DAY
    return DayRange(monday - 7 * DAY, monday)


def due_at(week: DayRange, zone: ZoneInfo, billing_zone: ZoneInfo) -> datetime:
    """When the mail about a week is due, in UTC.

    Monday at 07:00 in the person's zone; where billing days end later, an hour after they end.
    """
    at = datetime.combine(week.after, SENT_AT, zone).astimezone(UTC)
    return max(at, midnight(week.after, billing_zone) + SETTLES)


def week_due(
    now: datetime, zone: ZoneInfo, billing_zone: ZoneInfo, data_to: datetime | None
) -> DayRange | None:
    """The week whose mail is due, or None.

    Args:
        data_to: end of the newest data; for the end of the week it waits three hours.
    """
    week = last_week(now, zone)
    due = due_at(week, zone, billing_zone)
    if not due <= now < due + LATEST:
        return None
    is_whole = data_to is not None and data_to >= midnight(week.after, billing_zone)
    return week if is_whole or now >= due + PATIENCE else None
