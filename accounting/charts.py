"""Figures as values: what a page draws, without a page. Colours are token names.

`"$c1"` stands for the token `--c1`; the loader script resolves it for the theme in force.
Plotly figures are plain dicts; bars, spark lines and calendars are geometry for inline SVG.
Missing is None here and a gap on the page, never a zero.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

Figure = dict[str, Any]
Number = int | float | Decimal

NAMED_SERIES = 7  # more goes into "Other (n)" and stands in the table
OTHER_SLOT = 0
GAP = 0.2  # percent of a bar's width, between its parts
WORDS = {  # the four words that a person reads, and the states behind each
    "Busy": ("busy",),
    "Idle": ("idle",),
    "No data": ("unknown", "dark"),
    "Unallocated": ("free", "stranded", "stray"),
}
WORD_CLASS = {
    "Busy": "busy",
    "Idle": "idle",
    "No data": "unknown",
    "Unallocated": "rest",
}


@dataclass(frozen=True, slots=True)
class Series:
    """One coloured series: its name, its team's slot, one value for each position."""

    name: str
    slot: int
    values: tuple[Number | None, ...]

    @property
    def total(self) -> Decimal:
        """Sum of what is known."""
        return sum((Decimal(v) for v in self.values if v is not None), Decimal(0))


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a horizontal bar, in percent of its width."""

    kind: str  # busy, idle, unknown, rest
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Spark:
    """A line without axes: pieces between gaps, and where it ends."""

    pieces: tuple[str, ...]  # "x,y x,y ...", for <polyline points>
    end: tuple[float, float] | None


def spark(values: Sequence[Number | None], width: int = 120, height: int = 32) -> Spark:
    """A spark line; a missing value is a gap.

    It shows shape, not size: its height is the range of the values, but at least 30 % of
    the largest, so that noise does not look like news.
    """
    known = [float(v) for v in values if v is not None]
    if len(values) < 2 or not known:
        return Spark((), None)
    top = max(known) or 1.0
    low = min(min(known), 0.7 * top)
    step = width / (len(values) - 1)
    pieces: list[list[str]] = [[]]
    end = None
    for index, value in enumerate(values):
        if value is None:
            pieces.append([])
            continue
        part = (float(value) - low) / (top - low)
        x, y = index * step, height - 3 - (height - 6) * part
        end = (round(x, 1), round(y, 1))
        pieces[-1].append(f"{x:.1f},{y:.1f}")
    return Spark(tuple(" ".join(p) for p in pieces if len(p) > 1), end)


def state_words(milliseconds: Mapping[str, int]) -> dict[str, int]:
    """The seven states as the four words; they sum to the same wall time."""
    return {
        word: sum(milliseconds.get(state, 0) for state in states)
        for word, states in WORDS.items()
    }


def bar_parts(amounts: Mapping[str, Number], whole: Number) -> tuple[Part, ...]:
    """A bar of `whole` length: one part per kind, in order, with a gap between them.

    A part that is not nothing is at least 0.3 percent wide, so that it can be seen.
    """
    parts, x = [], 0.0
    for kind, amount in amounts.items():
        if not amount or not whole:
            continue
        length = max(float(amount) / float(whole) * 100, 0.3)
        parts.append(Part(kind, round(x, 2), round(max(length - GAP, 0.1), 2)))
        x += length
    return tuple(parts)


def top_series(series: Sequence[Series], named: int = NAMED_SERIES) -> list[Series]:
    """The largest series by name, and all others together as `Other (n)`."""
    ordered = sorted(series, key=lambda s: (-s.total, s.name))
    if len(ordered) <= named + 1:
        return ordered
    rest = ordered[named:]
    values = tuple(
        _sum_known(column) for column in zip(*(s.values for s in rest), strict=True)
    )
    return [*ordered[:named], Series(f"Other ({len(rest)})", OTHER_SLOT, values)]


def _sum_known(values: Sequence[Number | None]) -> Decimal | None:
    known = [Decimal(v) for v in values if v is not None]
    return sum(known, Decimal(0)) if known else None


def axis(**more: Any) -> Figure:
    """What every axis shares."""
    return {
        "fixedrange": True,
        "zeroline": False,
        "linecolor": "$line",
        "gridcolor": "$line",
        "tickfont": {"size": 12, "color": "$ink-3"},
        "automargin": True,
    } | more


def layout(**more: Any) -> Figure:
    """What every plotly figure shares: no frame, no title, no legend of its own."""
    return {
        "paper_bgcolor": "$surface",
        "plot_bgcolor": "$surface",
        "font": {
            "family": "Inter, system-ui, sans-serif",
            "size": 12,
            "color": "$ink-2",
        },
        "margin": {"l": 8, "r": 4, "t": 8, "b": 8},
        "showlegend": False,
        "hovermode": "x unified",
        "hoverlabel": {
            "bgcolor": "$surface",
            "bordercolor": "$line-strong",
            "font": {"size": 12, "color": "$ink"},
        },
        "dragmode": "zoom",
    } | more


def money_by_day(
    days: Sequence[date], series: Sequence[Series], currency_sign: str
) -> Figure:
    """Stacked bars: x billing day, y money, colour the series' own.

    A day on which no series has a value is marked as not known: dashed, not zero.
    """
    x = [day.isoformat() for day in days]
    money = f"{currency_sign}%{{y:,.2f}}"
    bars = [
        {
            "type": "bar",
            "name": one.name,
            "x": x,
            "y": [None if v is None else float(v) for v in one.values],
            "marker": {
                "color": f"$c{one.slot}",
                "line": {"color": "$surface", "width": 1},
            },
            "hovertemplate": f"{money}<extra>{one.name}</extra>",
        }
        for one in series
    ]
    totals = [_sum_known([one.values[i] for one in series]) for i in range(len(x))]
    total = {
        "type": "scatter",
        "mode": "markers",
        "name": "Total",
        "x": x,
        "y": [None if t is None else float(t) for t in totals],
        "marker": {"opacity": 0, "color": "$ink"},
        "hovertemplate": f"<b>{money}</b><extra><b>Total</b></extra>",
    }
    missing = [day for day, value in zip(days, totals, strict=True) if value is None]
    return {
        "data": [*bars, total],
        "layout": layout(
            barmode="stack",
            bargap=0.16,
            traceorder="reversed",
            shapes=[_missing_day(day) for day in missing],
            xaxis=axis(
                type="date",
                fixedrange=False,
                showgrid=False,
                tickformat="%-d %b",
                nticks=6,
                hoverformat="%a %-d %b %Y",
                range=_day_edges(days),
            ),
            yaxis=axis(
                rangemode="tozero", tickprefix=currency_sign, tickformat="~s", nticks=5
            ),
        ),
    }


def _day_edges(days: Sequence[date]) -> list[str]:
    """From half a day before the first bar to half a day after the last."""
    if not days:
        return []
    before = days[0] - timedelta(days=1)
    return [f"{before.isoformat()} 12:00", f"{days[-1].isoformat()} 12:00"]


def _missing_day(day: date) -> Figure:
    before = day - timedelta(days=1)
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": f"{before.isoformat()} 14:00",
        "x1": f"{day.isoformat()} 10:00",
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": {"width": 1, "dash": "dot", "color": "$ink-3"},
    }


HATCHED: dict[
    str, Callable[[int], dict[str, Any]]
] = {  # how the words look as bars, for a colour
    "busy": lambda slot: {"color": f"$c{slot}", "line": {"width": 0}},
    "idle": lambda slot: {
        "color": "$surface",
        "line": {"width": 1, "color": f"$c{slot}"},
        "pattern": {"shape": "/", "fgcolor": f"$c{slot}", "size": 6, "solidity": 0.4},
    },
    "unknown": lambda _: {
        "color": "$surface",
        "line": {"width": 1, "color": "$line-strong"},
        "pattern": {
            "shape": "/",
            "fgcolor": "$line-strong",
            "size": 6,
            "solidity": 0.12,
        },
    },
    "rest": lambda _: {"color": "$track", "line": {"width": 0}},
}


def _state_bars(
    times: Sequence[str],
    values: Mapping[str, Sequence[float | None]],
    kinds: Mapping[str, str],
    slot: int,
    unit: str,
    *,
    outlined: bool = True,
) -> list[Figure]:
    """One bar trace for each name, in order; None is a gap.

    Outlines would run together where bars touch: `outlined` is for bars with room.
    """
    plain = {} if outlined else {"line": {"width": 0}}
    return [
        {
            "type": "bar",
            "name": name,
            "x": list(times),
            "y": list(values[name]),
            "marker": HATCHED[kinds[name]](slot) | plain,
            "hovertemplate": f"%{{y:,.1f}} {unit}<extra>{name}</extra>",
        }
        for name in values
    ]


def gpus_over_time(
    times: Sequence[str],
    values: Mapping[str, Sequence[float | None]],
    slot: int,
    *,
    is_hourly: bool,
) -> Figure:
    """Steps of average GPUs, stacked: solid busy, hatched idle, pale hatched no data.

    Args:
        times: middle of each step, local time of the reader without offset.
        values: `Busy`, `Idle` and `No data` to average GPUs; None is a gap.
        slot: the team's colour.
        is_hourly: steps are hours, not days.
    """
    return {
        "data": _state_bars(times, values, WORD_CLASS, slot, "GPUs", outlined=False),
        "layout": layout(
            barmode="stack",
            bargap=0,
            xaxis=axis(
                type="date",
                showgrid=False,
                nticks=6,
                tickformat="%-d %b %H:%M" if is_hourly else "%-d %b",
                hoverformat="%a %-d %b %H:%M" if is_hourly else "%a %-d %b",
            ),
            yaxis=axis(rangemode="tozero", nticks=5),
        ),
    }


def states_by_hour(
    times: Sequence[str], values: Mapping[str, Sequence[float | None]]
) -> Figure:
    """Stacked bars of one GPU: minutes of each word in each hour."""
    return {
        "data": _state_bars(times, values, WORD_CLASS, 1, "min"),
        "layout": layout(
            barmode="stack",
            bargap=0.08,
            xaxis=axis(
                type="date",
                showgrid=False,
                nticks=6,
                tickformat="%-d %b %H:%M",
                hoverformat="%a %-d %b %H:%M",
            ),
            yaxis=axis(rangemode="tozero", nticks=4, ticksuffix=" min"),
        ),
    }


def heat_step(ratio: float | None) -> int | None:
    """Which of the ten Cividis steps a ratio gets; None without data."""
    return None if ratio is None else min(9, int(ratio * 10))


@dataclass(frozen=True, slots=True)
class Cell:
    """One square of a heat map: where it stands, how it looks, what it says."""

    x: float
    y: float
    look: str  # q0..q9, or dark without data
    words: str


WEEK_LEFT, WEEK_PITCH_X, WEEK_PITCH_Y = 40, 30.5, 23  # of a grid of 24 by 7 squares


def week_cell(hour: int, weekday: int, ratio: float | None, words: str) -> Cell:
    """The square of one hour of the week: x hour, y weekday."""
    return Cell(
        WEEK_LEFT + hour * WEEK_PITCH_X, weekday * WEEK_PITCH_Y, heat_look(ratio), words
    )


def heat_look(ratio: float | None) -> str:
    """The class of a square: its Cividis step, or dark without data."""
    step = heat_step(ratio)
    return "dark" if step is None else f"q{step}"


@dataclass(frozen=True, slots=True)
class DayCell:
    """One day of a coverage calendar: where it stands, how it looks, what it says."""

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


def extremes(
    days: Sequence[date], values: Sequence[Number | None]
) -> tuple[int, int] | None:
    """Positions of the highest and lowest known value; None when nothing is known."""
    known = [(value, i) for i, value in enumerate(values) if value is not None]
    if not known:
        return None
    return max(known, key=lambda v: v[0])[1], min(known, key=lambda v: v[0])[1]
