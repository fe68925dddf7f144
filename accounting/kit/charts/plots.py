"""Plotly figures as plain dicts. Colors are token names.

`"$c1"` represents the token `--c1`; the loader script resolves it for the current theme.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from accounting.kit.charts.bars import WORD_CLASS, Number

Figure = dict[str, Any]

NAMED_SERIES = 7  # other series are summed as "Other (n)" and listed in the table
OTHER_SLOT = 0
# From this number of bars on, gaps and outlines would be wider than the bars.
DENSE = 100


@dataclass(frozen=True, slots=True)
class PlotSeries:
    """One colored series: its name, its team's slot, one value for each position.

    `url` is the link of a click on it; "" if none. `kind` is the state whose look it has.
    """

    name: str
    slot: int
    values: tuple[Number | None, ...]
    url: str = ""
    kind: str = "busy"

    @property
    def total(self) -> Decimal:
        """Sum of the known values."""
        return sum((Decimal(v) for v in self.values if v is not None), Decimal(0))


def top_series(
    series: Sequence[PlotSeries], named: int = NAMED_SERIES
) -> list[PlotSeries]:
    """The largest series by name, and the sum of all others as `Other (n)`."""
    ordered = sorted(series, key=lambda s: (-s.total, s.name))
    if len(ordered) <= named + 1:
        return ordered
    rest = ordered[named:]
    values = tuple(
        _sum_known(column) for column in zip(*(s.values for s in rest), strict=True)
    )
    return [*ordered[:named], PlotSeries(f"Other ({len(rest)})", OTHER_SLOT, values)]


def _sum_known(values: Sequence[Number | None]) -> Decimal | None:
    known = [Decimal(v) for v in values if v is not None]
    return sum(known, Decimal(0)) if known else None


def axis(**more: Any) -> Figure:
    """Properties of every axis."""
    return {
        "fixedrange": True,
        "zeroline": False,
        "linecolor": "$line",
        "gridcolor": "$line",
        "tickfont": {"size": 12, "color": "$ink-3"},
        "automargin": True,
    } | more


def layout(**more: Any) -> Figure:
    """Properties of every plotly figure: no frame, no title, no legend."""
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


def short_money(sign: str) -> str:
    """The format of amounts on an axis: a minus before the sign of the currency, `−€100k`.

    The page draws `$` in a format as `meta.currency` of the layout.
    """
    return "$~s" if sign else "~s"


def money_text(sign: str, unit: str = "") -> str:
    """The template of an amount at the pointer; `unit` follows where there is no sign."""
    return "%{y:$,.2f}" if sign else f"%{{y:,.2f}}{unit}"


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The time axis of a bar chart: one position for each step, whatever its length.

    Attributes:
        labels: shown at the pointer; all distinct.
        ticks: (position, text) of the marks on the axis.
        edges: first billing day of each step, and the first day after the last step.
    """

    labels: tuple[str, ...]
    ticks: tuple[tuple[int, str], ...]
    edges: tuple[tuple[str, str], ...]


def step_axis(steps: TimeAxis) -> Figure:
    """Names instead of times: a single bar keeps its width, and a repeated hour has its own
    position.
    """
    return axis(
        type="category",
        showgrid=False,
        range=[-0.5, len(steps.labels) - 0.5],
        tickmode="array",
        tickvals=[steps.labels[i] for i, _ in steps.ticks],
        ticktext=[text for _, text in steps.ticks],
        tickangle=0,
        ticks="outside",
        ticklen=4,
        tickcolor="$line-strong",
    )


def money_by_step(
    steps: TimeAxis,
    series: Sequence[PlotSeries],
    currency_sign: str,
    unit: str = "",
    totals: Sequence[Number | None] = (),
) -> Figure:
    """Stacked bars: x hour, billing day or month, y money, in the colors of the series.

    Without a sign of a currency, y is an amount in `unit`. The totals at the pointer are `totals`,
    or without them the sums of the series.

    A step at which no series has a value is marked as unknown: dashed, not zero. `meta`
    contains the days of each step, for selecting a range by dragging.
    """
    x = list(steps.labels)
    is_dense = len(x) > DENSE
    money = money_text(currency_sign, unit)
    bars = [
        {
            "type": "bar",
            "name": one.name,
            "x": x,
            "y": [None if v is None else float(v) for v in one.values],
            "marker": _money_look(one, is_dense=is_dense),
            "hovertemplate": f"{money}<extra>{one.name}</extra>",
            "meta": one.url,
        }
        for one in series
    ]
    sums = [_sum_known([one.values[i] for one in series]) for i in range(len(x))]
    total = {
        "type": "scatter",
        "mode": "markers",
        "name": "Total",
        "x": x,
        "y": [None if t is None else float(t) for t in totals or sums],
        "marker": {"opacity": 0, "color": "$ink"},
        "hovertemplate": f"<b>{money}</b><extra><b>Total</b></extra>",
    }
    return {
        "data": [*bars, total],
        "layout": layout(
            barmode="stack",
            bargap=0 if is_dense else 0.16,
            traceorder="reversed",
            meta={"edges": steps.edges, "currency": currency_sign},
            shapes=[missing_step(i) for i, value in enumerate(sums) if value is None],
            xaxis=step_axis(steps) | {"fixedrange": False},
            yaxis=axis(
                rangemode="tozero", tickformat=short_money(currency_sign), nticks=5
            ),
        ),
    }


def shares_by_step(steps: TimeAxis, series: Sequence[PlotSeries]) -> Figure:
    """Lines: x a step, y a share from 0 to 1, which do not add up; no value is a gap."""
    lines = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": one.name,
            "x": list(steps.labels),
            "y": [None if v is None else float(v) for v in one.values],
            "line": {"color": f"$c{one.slot}", "width": 2},
            "hovertemplate": f"%{{y:.1%}}<extra>{one.name}</extra>",
            "meta": one.url,
        }
        for one in series
    ]
    return {
        "data": lines,
        "layout": layout(
            meta={"edges": steps.edges, "currency": ""},
            xaxis=step_axis(steps) | {"fixedrange": False},
            yaxis=axis(range=[0, 1.02], tickformat=".0%", nticks=5),
        ),
    }


def amounts_by_name(
    names: Sequence[str], series: Sequence[PlotSeries], currency_sign: str, unit: str
) -> Figure:
    """Stacked horizontal bars: y a name, the first on top, x an amount; colors of the series.

    Without a sign of a currency, x is an amount in `unit`.
    """
    money = money_text(currency_sign, unit).replace("%{y:", "%{x:")
    bars = [
        {
            "type": "bar",
            "orientation": "h",
            "name": one.name,
            "y": list(names),
            "x": [None if v is None else float(v) for v in one.values],
            "marker": _money_look(one, is_dense=False),
            "hovertemplate": f"%{{y}}<br>{one.name}: {money}<extra></extra>",
        }
        for one in series
    ]
    shape = axis(rangemode="tozero", tickformat=short_money(currency_sign), nticks=5)
    return _by_name(bars, shape, currency_sign)


def shares_by_name(names: Sequence[str], series: Sequence[PlotSeries]) -> Figure:
    """Points: y a name, the first on top, x a share from 0 to 1, which do not add up."""
    points = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": one.name,
            "y": list(names),
            "x": [None if v is None else float(v) for v in one.values],
            "marker": {"color": f"$c{one.slot}", "size": 10},
            "hovertemplate": f"%{{y}}<br>{one.name}: %{{x:.1%}}<extra></extra>",
        }
        for one in series
    ]
    return _by_name(points, axis(range=[-0.02, 1.02], tickformat=".0%", nticks=5), "")


def _by_name(data: Sequence[Figure], xaxis: Figure, currency_sign: str) -> Figure:
    return {
        "data": list(data),
        "layout": layout(
            barmode="stack",
            bargap=max(0.3, 1 - 0.12 * len(data[0]["y"])),  # few bars are not thick
            hovermode="closest",
            meta={"currency": currency_sign},
            xaxis=xaxis,
            yaxis=axis(type="category", autorange="reversed", showgrid=False),
        ),
    }


def _money_look(one: PlotSeries, *, is_dense: bool) -> Figure:
    if one.kind != "busy":
        return HATCHED[one.kind](one.slot) | (
            {"line": {"width": 0}} if is_dense else {}
        )
    line = {"color": "$surface", "width": 0 if is_dense else 1}
    return {"color": f"$c{one.slot}", "line": line}


def missing_step(position: int) -> Figure:
    """The mark of a step of which nothing is known."""
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": position - 0.4,
        "x1": position + 0.4,
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": {"width": 1, "dash": "dot", "color": "$unknown"},
    }


def vertical(position: float, color: str, dash: str) -> Figure:
    """A line over the whole height of a chart of steps."""
    return {
        "type": "line",
        "xref": "x",
        "yref": "paper",
        "x0": position,
        "x1": position,
        "y0": 0,
        "y1": 1,
        "line": {"width": 1, "dash": dash, "color": color},
    }


HATCHED: dict[
    str, Callable[[int], dict[str, Any]]
] = {  # the plotly counterpart of `.s-busy` and others in static/css/components.css
    "busy": lambda slot: {"color": f"$c{slot}", "line": {"width": 0}},
    "idle": lambda slot: {
        "color": "$surface",
        "line": {"width": 1, "color": f"$c{slot}"},
        "pattern": {"shape": "/", "fgcolor": f"$c{slot}", "size": 6, "solidity": 0.4},
    },
    "unknown": lambda _: {
        "color": "$surface",
        "line": {"width": 1, "color": "$unknown"},
        "pattern": {
            "shape": "/",
            "fgcolor": "$unknown",
            "size": 6,
            "solidity": 0.12,
        },
    },
    "rest": lambda _: {"color": "$free", "line": {"width": 0}},
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

    Outlines of adjoining bars would merge: `outlined` is for bars with space between them.
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
    steps: TimeAxis, values: Mapping[str, Sequence[float | None]], slot: int
) -> Figure:
    """Average GPUs by step, stacked: solid busy, hatched idle, pale hatched no data.

    Args:
        steps: hours, billing days or months.
        values: average GPUs for each of `Busy`, `Idle` and `No data`; None is a gap.
        slot: the team's color.
    """
    known = zip(*values.values(), strict=True)
    gaps = [i for i, column in enumerate(known) if set(column) == {None}]
    return {
        "data": _state_bars(
            steps.labels, values, WORD_CLASS, slot, "GPUs", outlined=False
        ),
        "layout": layout(
            barmode="stack",
            bargap=0,
            shapes=[missing_step(i) for i in gaps],
            xaxis=step_axis(steps),
            yaxis=axis(rangemode="tozero", nticks=5),
        ),
    }


def states_by_hour(
    steps: TimeAxis, values: Mapping[str, Sequence[float | None]]
) -> Figure:
    """Stacked bars of one GPU: minutes of each word in each hour."""
    return {
        "data": _state_bars(steps.labels, values, WORD_CLASS, 1, "min"),
        "layout": layout(
            barmode="stack",
            bargap=0.08,
            xaxis=step_axis(steps),
            yaxis=axis(rangemode="tozero", nticks=4, ticksuffix=" min"),
        ),
    }


def extremes(values: Sequence[Number | None]) -> tuple[int, int] | None:
    """Positions of the highest and lowest known value; None if no value is known."""
    known = [(value, i) for i, value in enumerate(values) if value is not None]
    if not known:
        return None
    return max(known, key=lambda v: v[0])[1], min(known, key=lambda v: v[0])[1]
