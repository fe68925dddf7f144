"""When which price of a model applies: a row of bars for each model, gaps and overlaps included."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from accounting.charts import lanes
from accounting.charts.lanes import Span, Tick
from accounting.queries.teams.directory import PriceRow
from accounting.templatetags import units
from accounting.views.holders import LaneRow
from accounting.web.figures import Key
from accounting.web.permissions import Visitor

MOST_PAST = timedelta(days=365)
LEAST_PAST = timedelta(days=28)
AHEAD = timedelta(days=14)  # of today, or of the last change that is planned
GENERAL, SPECIAL = 1, 2  # colors
_LEGEND = {
    GENERAL: Key("Applies to everything of the model", GENERAL),
    SPECIAL: Key(
        "Applies to a part only: a cluster, profile, lifecycle or tier", SPECIAL
    ),
    0: Key("No price: money unknown", 0, "unknown"),
}


@dataclass(frozen=True, slots=True)
class PriceTimeline:
    """A row for each model under one axis; `start` and `end` are half-open."""

    rows: tuple[LaneRow, ...]
    ticks: tuple[Tick, ...]
    legend: tuple[Key, ...]
    start: datetime
    end: datetime


def price_timeline(
    prices: Sequence[PriceRow], first_seen: Mapping[str, datetime], visitor: Visitor
) -> PriceTimeline | None:
    """The bars of every model that has a price, or GPUs; None where there is neither.

    Args:
        prices: by model and start, as `price_rows` returns them.
        first_seen: when the first GPU of each model came; from then on a price is missed.
        visitor: whose time zone and today count.
    """
    if not prices and not first_seen:
        return None
    start, end = _edges(prices, first_seen, visitor.now)
    by_model = {
        model: list(rows) for model, rows in groupby(prices, key=lambda row: row.model)
    }
    rows = [
        _row(
            model, by_model.get(model, []), first_seen.get(model), (start, end), visitor
        )
        for model in sorted({*by_model, *first_seen})
    ]
    shown = {bar.slot for row in rows for bar in row.bars}
    return PriceTimeline(
        rows=tuple(rows),
        ticks=lanes.ticks(start, end, visitor.zone),
        legend=tuple(key for slot, key in _LEGEND.items() if slot in shown),
        start=start,
        end=end,
    )


def _edges(
    prices: Sequence[PriceRow], first_seen: Mapping[str, datetime], now: datetime
) -> tuple[datetime, datetime]:
    """From the first GPU or change of a price, at most a year ago, to the last that is planned."""
    past = [at for row in prices for at in (row.valid_from, row.valid_to) if at]
    known = [at for at in (*past, *first_seen.values()) if at > now - MOST_PAST]
    start = min([*known, now - LEAST_PAST])
    return start, max([now, *past]) + AHEAD


def _row(
    model: str,
    prices: Sequence[PriceRow],
    seen: datetime | None,
    edges: tuple[datetime, datetime],
    visitor: Visitor,
) -> LaneRow:
    start, end = edges
    spans = [_span(row, edges, visitor) for row in prices if _is_within(row, edges)]
    general = [span for span in spans if span.slot == GENERAL]
    gaps = _gaps(general, max(start, seen), end, visitor) if seen else []
    chosen = sorted([*spans, *gaps], key=lambda span: (span.start, span.slot))
    words = "; ".join(span.words for span in chosen) or "no price in this time"
    return LaneRow(model, lanes.bars(chosen, start, end), words)


def _is_within(row: PriceRow, edges: tuple[datetime, datetime]) -> bool:
    start, end = edges
    return row.valid_from < end and (row.valid_to is None or row.valid_to > start)


def _span(row: PriceRow, edges: tuple[datetime, datetime], visitor: Visitor) -> Span:
    start, end = edges
    whom = ", ".join(row.only_for) or "everything"
    until = _day(row.valid_to, visitor) if row.valid_to else "open"
    words = (
        f"{units.rate(row.rate_per_gpu_hour, row.currency)} for {whom}, "
        f"{_day(row.valid_from, visitor)} to {until}"
    )
    slot = SPECIAL if row.only_for else GENERAL
    return Span(max(row.valid_from, start), row.valid_to or end, "held", words, slot)


def _gaps(
    spans: Sequence[Span], since: datetime, end: datetime, visitor: Visitor
) -> list[Span]:
    """Where GPUs were there and no price applies to everything of the model."""
    found, at = [], since
    for span in sorted(spans, key=lambda one: one.start):
        if span.start > at:
            found.append((at, span.start))
        at = max(at, span.end)
    if at < end:
        found.append((at, end))
    return [
        Span(
            first,
            last,
            "dark",
            f"no price for everything, {_day(first, visitor)} to "
            f"{'open' if last == end else _day(last, visitor)}",
        )
        for first, last in found
    ]


def _day(at: datetime, visitor: Visitor) -> str:
    if at.year <= 1970:
        return "the beginning"
    return units.day(at.astimezone(visitor.zone).date())
