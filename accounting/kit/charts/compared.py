"""Amounts by day as bars, against a line: what was expected, or what another source says."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from accounting.kit.charts.plots import (
    Figure,
    TimeAxis,
    axis,
    layout,
    missing_step,
    money_text,
    short_money,
    step_axis,
)

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class BarsAndLine:
    """Two amounts of each day; None is a gap.

    Attributes:
        name, bars: of the bars.
        line_name, line: what they are compared with.
        low, high: the range around the line within which a bar is as usual; empty for none.
        marked: positions of the bars that are solid while the others are pale; none: all are solid.
        slot: the color of the bars.
    """

    name: str
    bars: Values
    line_name: str
    line: Values
    low: Values = ()
    high: Values = ()
    marked: Collection[int] = ()
    slot: int = 1


def compared(steps: TimeAxis, values: BarsAndLine, currency_sign: str) -> Figure:
    """Bars against a line, in its range."""
    x = list(steps.labels)
    text = money_text(currency_sign)
    marked = set(values.marked)
    return {
        "data": [
            {
                "type": "bar",
                "name": values.name,
                "x": x,
                "y": list(values.bars),
                "marker": {
                    "color": f"$c{values.slot}",
                    "opacity": [
                        1 if not marked or n in marked else 0.4 for n in range(len(x))
                    ],
                    "line": {"width": 0},
                },
                "hovertemplate": f"{text}<extra>{values.name}</extra>",
            },
            {
                "type": "scatter",
                "mode": "lines",
                "name": values.line_name,
                "x": x,
                "y": list(values.line),
                "connectgaps": False,
                "line": {"width": 2, "color": "$ink", "shape": "hvh"},
                "hovertemplate": f"{text}<extra>{values.line_name}</extra>",
            },
        ],
        "layout": layout(
            bargap=0.25,
            meta={"currency": currency_sign},
            shapes=[
                *(missing_step(n) for n, one in enumerate(values.bars) if one is None),
                *_range(values),
            ],
            xaxis=step_axis(steps),
            yaxis=axis(
                rangemode="tozero", tickformat=short_money(currency_sign), nticks=5
            ),
        ),
    }


def _range(values: BarsAndLine) -> list[Figure]:
    """The range of each day, behind the bars: an area of plotly would be before them."""
    return [
        {
            "type": "rect",
            "xref": "x",
            "yref": "y",
            "x0": n - 0.5,
            "x1": n + 0.5,
            "y0": low,
            "y1": high,
            "layer": "below",
            "line": {"width": 0},
            "fillcolor": "$track",
        }
        for n, (low, high) in enumerate(zip(values.low, values.high, strict=True))
        if low is not None and high is not None
    ]
