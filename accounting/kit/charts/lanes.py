"""Bars through time, one row for each GPU: geometry for inline SVG, as values.

The height of a bar is the share of its holder; free time is the background.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

MOST_TICKS = 6
_STEPS = (  # between two ticks
    *(timedelta(minutes=minutes) for minutes in (10, 15, 30)),
    *(timedelta(hours=hours) for hours in (1, 2, 3, 6, 12)),
    *(timedelta(days=days) for days in (1, 2, 7, 14, 28, 56, 84)),
)
WINDOW = timedelta(minutes=5)  # both the span that ends in it and the next one
LEAST_WIDTH = 0.15  # percent: five minutes of a week stay visible
_OF_TEAM = {  # looks in the color of a team, by their states in components.css
    "held": "busy",
    **{look: look for look in ("busy", "mid", "low", "idle", "unknown")},
}
LEAST_HEIGHT = 18.0  # percent of a row: a seventh of a GPU stays visible


@dataclass(frozen=True, slots=True)
class LaneSpan:
    """A period with a look. `share` of the GPU; `look`: held, free, dark, error, or how busy a GPU
    was: busy, mid, low, idle, unknown.
    """

    start: datetime
    end: datetime
    look: str
    text: str
    slot: int = 0
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle in percent of its row."""

    x: float
    width: float
    y: float
    height: float
    look: str
    slot: int
    text: str

    @property
    def state(self) -> str:
        """The state whose pattern fills it, in the color of its team; "" if nobody held it."""
        return _OF_TEAM.get(self.look, "")

    @property
    def css(self) -> str:
        """The CSS classes of its rectangle: the state, and the team's color if held."""
        if self.state:
            return f"s-{self.state} t{self.slot}"
        return {"error": "s-error", "dark": "s-dark"}.get(self.look, "s-rest")


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the time axis, at a percentage of its width; `at` in the reader's time zone."""

    at: datetime
    x: float
    label: str


def bars(spans: Iterable[LaneSpan], start: datetime, end: datetime) -> tuple[Bar, ...]:
    """Background first, then holds; overlapping spans are stacked.

    Lanes are filled from the bottom: a span uses the first lane that is free, with a tolerance of
    one window. A lane is as high as the largest share in it; all lanes together fit in the row.
    """
    chosen = sorted(spans, key=lambda span: (span.start, span.end, span.text))
    ground = [span for span in chosen if span.look != "held"]
    lanes = _lanes([span for span in chosen if span.look == "held"])
    heights = [max(max(span.share for span in lane), 0.0) * 100 for lane in lanes]
    heights = [max(height, LEAST_HEIGHT) for height in heights]
    scale = min(1.0, 100 / sum(heights)) if heights else 1.0
    found = [_bar(span, start, end, 0, 100) for span in ground]
    below = 100.0
    for lane, height in zip(lanes, heights, strict=True):
        below -= height * scale
        found += [_bar(span, start, end, below, height * scale) for span in lane]
    return tuple(found)


def _lanes(spans: Sequence[LaneSpan]) -> list[list[LaneSpan]]:
    lanes: list[list[LaneSpan]] = []
    for span in spans:
        latest = span.start + WINDOW
        lane = next((one for one in lanes if one[-1].end <= latest), None)
        if lane is None:
            lanes.append([span])
        else:
            lane.append(span)
    return lanes


def _bar(
    span: LaneSpan, start: datetime, end: datetime, y: float, height: float
) -> Bar:
    whole = end - start
    low, high = max(span.start, start), min(span.end, end)
    x, width = (low - start) / whole * 100, (high - low) / whole * 100
    return Bar(
        round(x, 3),
        round(max(width, LEAST_WIDTH), 3),
        round(y, 2),
        round(height, 2),
        span.look,
        span.slot,
        span.text,
    )


def ticks(start: datetime, end: datetime, zone: ZoneInfo) -> tuple[Tick, ...]:
    """At most six round times of a zone; midnight is labeled with its date."""
    length = end - start
    if length <= timedelta(0):
        return ()
    step = next((s for s in _STEPS if length / s <= MOST_TICKS), _STEPS[-1])
    return tuple(
        Tick(local, round((at - start) / length * 100, 3), _label(local))
        for at in _round_times(start, end, step, zone)
        for local in (at.astimezone(zone),)
    )


def _round_times(
    start: datetime, end: datetime, step: timedelta, zone: ZoneInfo
) -> Iterator[datetime]:
    """Steps of local time: days of 23 and 25 hours keep their noon.

    A local time that clocks skip is the one that they skip to, once.
    """
    local = start.astimezone(zone)
    wall = local.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    last = None
    while True:
        at = wall.replace(tzinfo=zone).astimezone(UTC)
        if at >= end:
            return
        if at >= start and at != last:
            yield at
        last, wall = at, wall + step


def _label(local: datetime) -> str:
    if local.hour == local.minute == 0:
        return f"{local.day} {local:%b}"
    return f"{local:%H:%M}"
