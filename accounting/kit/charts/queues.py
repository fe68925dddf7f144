"""Queue depth against free GPUs, through time."""

from collections.abc import Mapping, Sequence

from accounting.kit.charts.plots import (
    Figure,
    TimeAxis,
    axis,
    layout,
    missing_step,
    step_axis,
)

LINES = {  # series of `queue_over_time`: slot of the color, and dash
    "Requested": (1, "solid"),
    "Available": (2, "dash"),
    "Fits now": (3, "dot"),
}


def queue_over_time(
    steps: TimeAxis, values: Mapping[str, Sequence[float | None]]
) -> Figure:
    """Average GPUs by hour as steps: what waits, what is free, what of it fits.

    Args:
        steps: hours.
        values: for each name of `LINES`; None is a gap.
    """
    known = zip(*values.values(), strict=True)
    gaps = [i for i, column in enumerate(known) if set(column) == {None}]
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "x": list(steps.labels),
                "y": list(values[name]),
                "connectgaps": False,
                "line": {
                    "color": f"$c{slot}",
                    "width": 2,
                    "dash": dash,
                    "shape": "hvh",
                },
                "hovertemplate": f"%{{y:,.1f}} GPUs<extra>{name}</extra>",
            }
            for name, (slot, dash) in LINES.items()
        ],
        "layout": layout(
            shapes=[missing_step(i) for i in gaps],
            xaxis=step_axis(steps),
            yaxis=axis(rangemode="tozero", nticks=5),
        ),
    }
