"""Bars and heat maps with texts: drawn by the server, readable without color."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounting.core.money import Money
from accounting.kit.charts import bars, grids
from accounting.kit.charts.bars import BarPart
from accounting.kit.tags import units
from accounting.usage.rules.hour_of_week import DAYS_OF_WEEK, HOURS_OF_DAY, WeekHour
from accounting.usage.rules.rows import LedgerRow, UsageRow
from accounting.usage.rules.totals import ledger_groups


def held_parts(row: UsageRow, largest_ms: int) -> tuple[BarPart, ...]:
    """A team's bar: busy, idle and no data, against the largest of the list."""
    amounts = {"busy": row.busy_ms, "idle": row.idle_ms, "unknown": row.unknown_ms}
    return bars.bar_parts(amounts, largest_ms)


def held_text(row: UsageRow) -> str:
    """A bar of held time as a sentence."""
    amounts = {"busy": row.busy_ms, "idle": row.idle_ms, "no data": row.unknown_ms}
    parts = [f"{units.gpu_hours(ms)} {name}" for name, ms in amounts.items() if ms]
    return ", ".join(parts) + " GPU-hours" if parts else "nothing held"


@dataclass(frozen=True, slots=True)
class StateGroupLine:
    """One of the four state groups of the capacity bar."""

    name: str
    kind: str
    milliseconds: int
    share: float | None
    charge: Money | None


@dataclass(frozen=True, slots=True)
class Capacity:
    """The use of all GPU time of a period."""

    wall_ms: int
    average_gpus: float | None
    groups: tuple[StateGroupLine, ...]
    parts: tuple[BarPart, ...]
    sentence: str
    unpriced_ms: int = 0  # time without a price: no amount includes it
    currencies: tuple[str, ...] = ()  # of its money, if several

    @property
    def unallocated(self) -> StateGroupLine:
        """Unallocated time."""
        return next(group for group in self.groups if group.name == "Unallocated")


def capacity(row: LedgerRow, length_ms: int, places: int) -> Capacity:
    """The seven states in four groups that add up to the wall time."""
    wall = row.wall_ms
    groups = tuple(
        StateGroupLine(
            total.name,
            bars.WORD_CLASS[total.name],
            total.milliseconds,
            total.milliseconds / wall if wall else None,
            total.charge,
        )
        for total in ledger_groups(row, bars.STATE_GROUPS, places)
    )
    parts = bars.bar_parts({w.kind: w.milliseconds for w in groups}, wall)
    sentence = ", ".join(f"{w.name} {units.percent(w.share)}" for w in groups)
    return Capacity(
        wall,
        wall / length_ms if length_ms else None,
        groups,
        parts,
        sentence,
        row.unpriced_ms,
        row.currencies,
    )


WEEKDAYS = (
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
)


@dataclass(frozen=True, slots=True)
class WeekGrid:
    """Busy share by hour of the week, as squares and as a table.

    Attributes:
        cells: the hours in the range; others are empty.
        rows: weekday, then 24 shares.
    """

    cells: tuple[grids.GridCell, ...]
    sentence: str
    rows: tuple[tuple[str, ...], ...]

    @property
    def has_free(self) -> bool:
        """True if the legend needs the look of hours without held time."""
        return any(cell.look == grids.FREE for cell in self.cells)

    @property
    def has_dark(self) -> bool:
        """True if the legend needs the look of hours without data."""
        return any(cell.look == grids.DARK for cell in self.cells)

    @property
    def has_gaps(self) -> bool:
        """True if the range does not contain every hour of the week."""
        return len(self.cells) < HOURS_OF_DAY * DAYS_OF_WEEK


def week_grid(hours: Sequence[WeekHour]) -> WeekGrid:
    """Squares of 24 hours by seven days; dashed if nothing was observed."""
    cells = tuple(
        grids.week_cell(
            one.hour,
            one.weekday,
            _look(one),
            f"{WEEKDAYS[one.weekday]} {one.hour:02}:00: {_busy_text(one)}",
        )
        for one in hours
        if one.is_in_range
    )
    rows = tuple(
        (name, *(_share_text(h) for h in hours if h.weekday == weekday))
        for weekday, name in enumerate(WEEKDAYS)
    )
    return WeekGrid(cells, _week_sentence(hours), rows)


def _is_free(one: WeekHour) -> bool:
    """True if it is known that nothing was held, which differs from unknown."""
    return one.has_data and not one.times.allocated_ms


def _look(one: WeekHour) -> str:
    return grids.FREE if _is_free(one) else grids.heat_look(one.times.efficiency)


def _share_text(one: WeekHour) -> str:
    if not one.is_in_range:
        return ""
    return "Not held" if _is_free(one) else units.percent(one.times.efficiency)


def _busy_text(one: WeekHour) -> str:
    if one.times.efficiency is not None:
        return f"{units.percent(one.times.efficiency)} busy"
    return "nothing held" if _is_free(one) else units.NO_DATA.lower()


def _week_sentence(hours: Sequence[WeekHour]) -> str:
    known = [one for one in hours if one.times.efficiency is not None]
    if not known:
        return "Nothing was observed."
    most = max(known, key=lambda one: one.times.efficiency or 0)
    least = min(known, key=lambda one: one.times.efficiency or 0)
    return (
        f"Busiest on {WEEKDAYS[most.weekday]} at {most.hour:02}:00 "
        f"({units.percent(most.times.efficiency)}), least busy on {WEEKDAYS[least.weekday]} at "
        f"{least.hour:02}:00 ({units.percent(least.times.efficiency)})."
    )
