"""Periods and billing days in their zones (docs/money.md, M26)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

Bounds = tuple[datetime, datetime, str]  # start, end, zone


def after(month: str, count: int = 1) -> str:
    """The name of a month some months later, or earlier."""
    year, number = (int(part) for part in month.split("-"))
    year, number = divmod(year * 12 + number - 1 + count, 12)
    return f"{year:04d}-{number + 1:02d}"


def stamp(at: datetime) -> str:
    """An instant as it stands in a hash."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Calendar:
    """Zones by month. The bounds of closed months are as they were booked."""

    rows: list[Mapping[str, Any]]
    booked: Mapping[str, Bounds]

    def zone(self, month: str) -> str:
        if month in self.booked:
            return self.booked[month][2]
        fits = [row for row in self.rows if not row["month"] or row["month"] <= month]
        return str(max(fits, key=lambda row: row["month"] or "")["timezone"])

    def end(self, month: str) -> datetime:
        if month in self.booked:
            return self.booked[month][1]
        first = date.fromisoformat(f"{after(month)}-01")
        there = datetime.combine(first, time(), ZoneInfo(self.zone(month)))
        return there.astimezone(UTC)

    def bounds(self, month: str) -> Bounds:
        return self.end(after(month, -1)), self.end(month), self.zone(month)

    def month(self, at: datetime) -> str:
        """The period that an instant is booked in."""
        near = after(f"{at:%Y-%m}", -1)
        while self.end(near) <= at:
            near = after(near)
        return near

    def day(self, at: datetime) -> date:
        """Time before the 1st begins in a new zone is booked on the 1st."""
        month = self.month(at)
        there = at.astimezone(ZoneInfo(self.zone(month))).date()
        return max(there, date.fromisoformat(f"{month}-01"))

    def begins(self, day: date) -> datetime:
        """The first instant of a billing day."""
        month = f"{day:%Y-%m}"
        if day.day == 1:
            return self.bounds(month)[0]
        there = datetime.combine(day, time(), ZoneInfo(self.zone(month)))
        return there.astimezone(UTC)

    def instant(self, text: str) -> datetime:
        """An instant; a date is the start of that billing day (M15)."""
        if len(text) == len("2026-10-01"):
            return self.begins(date.fromisoformat(text))
        return datetime.fromisoformat(text).astimezone(UTC)


LONGEST = timedelta(days=31)  # how old a conversion may be (M16)
