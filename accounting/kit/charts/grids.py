"""Heat maps and calendars: squares for inline SVG, as values.

A square without data has a separate look, never that of zero.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta


def heat_step(ratio: float | None) -> int | None:
    """Which of the ten Cividis steps a ratio gets; None without data."""
    return None if ratio is None else min(9, int(ratio * 10))


@dataclass(frozen=True, slots=True)
class GridCell:
    """One square of a heat map: its position, look and text."""

    x: float
    y: float
    look: str  # q0..q9, DARK or FREE
    text: str


DARK, FREE = "dark", "free"  # without data; known to be unallocated
WEEK_LEFT, WEEK_PITCH_X, WEEK_PITCH_Y = 40, 24.5, 23  # of a grid of 24 by 7 squares


def week_cell(hour: int, weekday: int, look: str, text: str) -> GridCell:
    """The square of one hour of the week: x hour, y weekday."""
    return GridCell(WEEK_LEFT + hour * WEEK_PITCH_X, weekday * WEEK_PITCH_Y, look, text)


def heat_look(ratio: float | None) -> str:
    """The class of a square: its Cividis step, or dark without data."""
    step = heat_step(ratio)
    return DARK if step is None else f"q{step}"


@dataclass(frozen=True, slots=True)
class DayCell:
    """One day of a coverage calendar: its position, look and text."""

    day: date
    x: int
    y: int
    kind: str  # full, most, part, low, none
    ratio: float | None


@dataclass(frozen=True, slots=True)
class Calendar:
    """Weeks left to right, Monday on top."""

    width: int
    height: int
    cells: tuple[DayCell, ...]
    months: tuple[tuple[int, str], ...]  # x, name


CELL, PITCH, LEFT, TOP = 22, 26, 34, 22  # px; 24 px targets with their gap


def coverage_calendar(coverage: Mapping[date, float | None]) -> Calendar:
    """Coverage per day: x week, y weekday."""
    if not coverage:
        return Calendar(LEFT, TOP, (), ())
    first = min(coverage)
    monday = first - timedelta(days=first.weekday())
    cells = tuple(_day_cells(coverage, monday))
    months = {
        cell.x: f"{cell.day:%b}"
        for cell in cells
        if cell.day.day <= 7 and cell.day.weekday() == 0
    }
    if not months and cells:
        months = {cells[0].x: f"{cells[0].day:%b}"}
    width = max(cell.x for cell in cells) + PITCH
    return Calendar(width, TOP + 7 * PITCH, cells, tuple(sorted(months.items())))


def _day_cells(
    coverage: Mapping[date, float | None], monday: date
) -> Iterator[DayCell]:
    for day, ratio in sorted(coverage.items()):
        week, weekday = divmod((day - monday).days, 7)
        yield DayCell(
            day, LEFT + week * PITCH, TOP + weekday * PITCH, _kind(ratio), ratio
        )


def _kind(ratio: float | None) -> str:
    if ratio is None:
        return "none"
    for floor, kind in ((0.99, "full"), (0.95, "most"), (0.5, "part")):
        if ratio >= floor:
            return kind
    return "low"
