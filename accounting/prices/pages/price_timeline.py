"""When each price of a model applies: a row of bars for each model, with gaps and overlaps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from accounting.fleet.pages.holders import LaneRow
from accounting.kit.charts import lanes
from accounting.kit.charts.lanes import LaneSpan, Tick
from accounting.kit.pages.permissions import Visitor
from accounting.kit.tags import units
from accounting.prices.reads.price_book import PriceRow
from accounting.usage.pages.figures import Key

MOST_PAST = MOST_AHEAD = timedelta(days=365)
LEAST_PAST = timedelta(days=28)
AHEAD = timedelta(days=14)  # of today, or of the last planned change
GENERAL, SPECIAL = 1, 2  # colors
_LEGEND = {
    GENERAL: Key("Applies to all GPUs of the model", GENERAL),
    SPECIAL: Key("Applies to one cluster, profile, lifecycle or tier only", SPECIAL),
    0: Key("No price: the cost is unknown", 0, "unknown"),
}


@dataclass(frozen=True, slots=True)
class PriceTimeline:
    """A row for each model on one axis; `start` and `end` are half-open."""

    rows: tuple[LaneRow, ...]
    ticks: tuple[Tick, ...]
    legend: tuple[Key, ...]
    start: datetime
    end: datetime


def price_timeline(
    prices: Sequence[PriceRow], first_seen: Mapping[str, datetime], visitor: Visitor
) -> PriceTimeline | None:
    """The bars of every model with a price or GPUs; None if there are none.

    Args:
        prices: by model and start, as `price_rows` returns them.
        first_seen: when the first GPU of each model was present; a price is needed from then on.
        visitor: for time zone and current day.
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
    """From the first GPU or price to the last price change, at most a year each way."""
    changes = [at for row in prices for at in (row.valid_from, row.valid_to) if at]
    begun = [at for at in (*changes, *first_seen.values()) if at.year > 1970]
    start = max(min([*begun, now - LEAST_PAST]), now - MOST_PAST)
    return start, min(max([now, *changes]) + AHEAD, now + MOST_AHEAD)


def _row(
    model: str,
    prices: Sequence[PriceRow],
    seen: datetime | None,
    edges: tuple[datetime, datetime],
    visitor: Visitor,
) -> LaneRow:
    start, end = edges
    spans = [_span(row, edges, visitor) for row in prices if _is_within(row, edges)]
    gaps = _gaps(spans, max(start, seen), end, visitor) if seen else []
    chosen = sorted([*spans, *gaps], key=lambda span: (span.start, span.slot))
    text = "; ".join(span.text for span in chosen) or "no price in this time"
    return LaneRow(model, lanes.bars(chosen, start, end), text)


def _is_within(row: PriceRow, edges: tuple[datetime, datetime]) -> bool:
    start, end = edges
    return row.valid_from < end and (row.valid_to is None or row.valid_to > start)


def _span(
    row: PriceRow, edges: tuple[datetime, datetime], visitor: Visitor
) -> LaneSpan:
    start, end = edges
    whom = ", ".join(row.only_for) or "all GPUs"
    rate = units.rate(row.rate_per_gpu_hour, row.currency)
    text = f"{rate} for {whom}, {_days(row.valid_from, row.valid_to, visitor)}"
    slot = SPECIAL if row.only_for else GENERAL
    return LaneSpan(max(row.valid_from, start), row.valid_to or end, "held", text, slot)


def _gaps(
    spans: Sequence[LaneSpan], since: datetime, end: datetime, visitor: Visitor
) -> list[LaneSpan]:
    """Where GPUs were present and no price of the model applies to any of them."""
    found, at = [], since
    for span in sorted(spans, key=lambda one: one.start):
        if span.start > at:
            found.append((at, span.start))
        at = max(at, span.end)
    if at < end:
        found.append((at, end))
    return [
        LaneSpan(
            first,
            last,
            "dark",
            f"no price {_days(first, None if last == end else last, visitor)}",
        )
        for first, last in found
    ]


def _days(since: datetime, until: datetime | None, visitor: Visitor) -> str:
    """`from 20 Oct 2026 to 1 Nov 2026`; a start before 1971 does not count (`moment_day`)."""

    def day(at: datetime) -> str:
        return units.day(at.astimezone(visitor.zone).date())

    first = f"from {day(since)}" if since.year > 1970 else ""
    last = f"to {day(until)}" if until else ""
    return " ".join(part for part in (first, last) if part) or "at any time"
