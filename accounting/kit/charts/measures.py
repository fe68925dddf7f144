"""Small multiples: one measure of one GPU through time, as a plotly figure."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounting.kit.charts.plots import Figure, axis, layout


@dataclass(frozen=True, slots=True)
class MeasureLine:
    """A measure through time: its name, its look (`solid`, `dot`) and a value a step."""

    name: str
    values: tuple[float | None, ...]
    dash: str = "solid"


def measure_over_time(
    edges: Sequence[tuple[str, str]],
    lines: Sequence[MeasureLine],
    unit: str,
    *,
    whole: tuple[str, str],
    ticks: Sequence[tuple[str, str]],
    top: float | None = None,
) -> Figure:
    """Small multiples: steps of one measure, from zero; an unknown value is a gap.

    Args:
        edges: start and end of each step, in the reader's local time without offset.
        lines: one value for each step.
        unit: suffix of each number: `%`, ` W`.
        whole: start and end of the axis: the same for all charts of a page.
        ticks: positions and labels of the time axis.
        top: of the axis, if the measure has a maximum.
    """
    range_ = {"range": [0, top]} if top else {"rangemode": "tozero"}
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines",
                "name": line.name,
                **_stairs(edges, line.values),
                "line": {
                    "shape": "hv",
                    "width": 1.5,
                    "color": "$c1",
                    "dash": line.dash,
                },
                "hovertemplate": f"%{{y:,.1f}}{unit}<extra>{line.name}</extra>",
            }
            for line in lines
        ],
        "layout": layout(
            xaxis=axis(
                type="date",
                showgrid=False,
                range=list(whole),
                tickvals=[at for at, _ in ticks],
                ticktext=[label for _, label in ticks],
                hoverformat="%a %-d %b %H:%M",
            ),
            yaxis=axis(nticks=4, ticksuffix=unit, **range_),
        ),
    }


def _stairs(edges: Sequence[tuple[str, str]], values: Sequence[float | None]) -> Figure:
    """A value from each start on; a gap, or the last step, is closed at its end."""
    x: list[str] = []
    y: list[float | None] = []
    for i, ((start, end), value) in enumerate(zip(edges, values, strict=True)):
        if value is None:
            continue
        x.append(start)
        y.append(value)
        follows = i + 1 < len(edges) and edges[i + 1][0] == end
        if not follows or values[i + 1] is None:
            x += [end, end]
            y += [value, None]
    return {"x": x, "y": y}
