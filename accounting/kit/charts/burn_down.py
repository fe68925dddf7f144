"""What is left of a budget, day by day, as a plotly figure."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounting.kit.charts.plots import (
    Figure,
    TimeAxis,
    axis,
    layout,
    money_text,
    short_money,
    step_axis,
)

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class BurnDown:
    """What is left at the end of each day; None is a gap.

    Attributes:
        left: after what was spent.
        even: at an even use of the budget.
        expected, low, high: the forecast and its range.
    """

    left: Values
    even: Values
    expected: Values
    low: Values
    high: Values


def burn_down(steps: TimeAxis, values: BurnDown, money_sign: str, unit: str) -> Figure:
    """Lines over the days of a period: left (solid), forecast (dashed) in its range, even use.

    Args:
        steps: the days.
        values: one for each day.
        money_sign: before an amount; "" for a unit after it.
        unit: after an amount; "" for money.
    """
    x = list(steps.labels)
    text = money_text(money_sign, unit)
    band = {
        "type": "scatter",
        "mode": "lines",
        "line": {"width": 0},
        "x": x,
        "hoverinfo": "skip",
        "showlegend": False,
    }
    return {
        "data": [
            band | {"name": "Range, lower", "y": list(values.low)},
            band
            | {
                "name": "80% range",
                "y": list(values.high),
                "fill": "tonexty",
                "fillcolor": "$track",
            },
            *(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": name,
                    "x": x,
                    "y": list(y),
                    "line": line,
                    "hovertemplate": f"{text}<extra>{name}</extra>",
                }
                for name, y, line in (
                    ("Even use", values.even, {"color": "$ink-3", "dash": "dot"}),
                    ("Forecast", values.expected, {"color": "$c1", "dash": "dash"}),
                    ("Left", values.left, {"color": "$c1", "width": 2.5}),
                )
            ),
        ],
        "layout": layout(
            shapes=[_zero()],
            meta={"currency": money_sign},
            xaxis=step_axis(steps),
            yaxis=axis(ticksuffix=unit, tickformat=short_money(money_sign), nticks=6),
        ),
    }


def _zero() -> Figure:
    """The line at which the budget is spent."""
    return {
        "type": "line",
        "xref": "paper",
        "yref": "y",
        "x0": 0,
        "x1": 1,
        "y0": 0,
        "y1": 0,
        "layer": "below",
        "line": {"width": 1, "color": "$line-strong"},
    }
