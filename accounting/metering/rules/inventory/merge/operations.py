"""Operations that merge samples into the evidence of a cluster.

Merging is idempotent and independent of order: the same samples again, in pieces or later, give
the same inventory. Only samples inside the period are merged; those around it (the reading's
margins) are used to compute the step of the first and last ones.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.records import (
    Inventory,
    LabelKey,
    SampleSpan,
    ScraperRecord,
    merged,
)
from accounting.metering.rules.samples.series import (
    Reading,
    ScraperIdentity,
    Series,
    Times,
)
from accounting.metering.rules.samples.validity import far_apart

Value = TypeVar("Value")


@dataclass(slots=True)
class ChangedRecords:
    """Which records a merge changed: they must be saved and derived again."""

    pods: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    gpus: set[str] = field(default_factory=set)
    scrapers: set[ScraperIdentity] = field(default_factory=set)
    labels: set[LabelKey] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=set)
    owners: set[tuple[str, str, str]] = field(default_factory=set)
    claims: set[tuple[str, str]] = field(default_factory=set)
    renaming: set[ScraperIdentity] = field(
        default_factory=set
    )  # known before, and found to rename labels
    own_pods: set[tuple[str, str]] = field(default_factory=set)
    rescaled: set[ScraperIdentity] = field(
        default_factory=set
    )  # values of theirs may be read on another scale than before
    restepped: list[Interval] = field(
        default_factory=list
    )  # after the period: scrapes of kube-state have another step there than before


Everything = Sequence[tuple[Series, Reading]]


def within(series: Series, period: Interval) -> slice:
    """The samples of a series that are in a period."""
    low, high = np.searchsorted(series.times_ms, [period.start_ms, period.end_ms])
    return slice(int(low), int(high))


def scraper_record(inventory: Inventory, scraper: ScraperIdentity) -> ScraperRecord:
    """The record of a scraper, created if missing."""
    return inventory.scrapers.setdefault(scraper, ScraperRecord(scraper))


def spans_of(times: Iterable[int], step_at: Callable[[int], int]) -> list[SampleSpan]:
    """Sample times, ascending, as spans.

    Two samples belong to one span if the gap between them is at most 1.5 steps of the
    earlier one.
    """
    found: list[SampleSpan] = []
    for at in times:
        top = found[-1] if found else None
        if top is None or far_apart(at - top.last_ms, top.step_ms):
            found.append(SampleSpan(at, at, step_at(at)))
        else:
            top.last_ms, top.step_ms = at, step_at(at)
    return found


def put_spans(spans: list[SampleSpan], fresh: Sequence[SampleSpan]) -> bool:
    """Replace the time of fresh spans in a record; True if anything changed.

    All samples of a period are read together, so fresh spans are more reliable: a step may have
    become shorter since, and one span may have become two.
    """
    if not fresh:
        return False
    first, last = fresh[0], fresh[-1]
    kept = [_before(span, first) for span in spans if span.first_ms < first.first_ms]
    kept += [_after(span, last) for span in spans if span.last_ms > last.last_ms]
    new = merged([*kept, *fresh])
    if new == spans:
        return False
    spans[:] = new
    return True


def _before(span: SampleSpan, fresh: SampleSpan) -> SampleSpan:
    """The part of a span before the first fresh sample, which has its own step."""
    if span.last_ms < fresh.first_ms:
        return span
    return SampleSpan(span.first_ms, fresh.first_ms, 0)


def _after(span: SampleSpan, fresh: SampleSpan) -> SampleSpan:
    """The part of a span after the last fresh sample."""
    return SampleSpan(max(span.first_ms, fresh.last_ms), span.last_ms, span.step_ms)


def changes_of(
    parts: Sequence[tuple[Times, Value]],
) -> tuple[list[tuple[int, Value]], int]:
    """The value of an object at each change, and the time of the last sample.

    Args:
        parts: of each series of it, the times of its samples, ascending and not empty, and
            their value. A series that ended may continue later; if several overlap, the one that
            started last counts.
    """
    last_ms = max(int(times[-1]) for times, _ in parts)
    if len(parts) == 1:
        return [(int(parts[0][0][0]), parts[0][1])], last_ms
    shown: dict[int, Value] = {}
    for times, value in sorted(parts, key=lambda part: int(part[0][0])):
        shown.update(dict.fromkeys(times.tolist(), value))
    changes: list[tuple[int, Value]] = []
    for at in sorted(shown):
        if not changes or changes[-1][1] != shown[at]:
            changes.append((at, shown[at]))
    return changes, last_ms


def merge_changes(
    history: list[tuple[int, Value]],
    observed: Sequence[tuple[int, Value]],
    last_ms: int,
) -> bool:
    """Replace a history in [first observed, last_ms]; True if it changed.

    Args:
        history: (from, value), ascending; changed in place.
        observed: (time, value) of the samples or of their changes, ascending.
        last_ms: time of the last sample in `observed`.
    """
    if not observed:
        return False
    kept = [item for item in history if item[0] < observed[0][0]]
    later = [item for item in history if item[0] > last_ms]
    result: list[tuple[int, Value]] = []
    for item in [*kept, *observed, *later]:
        if not result or result[-1][1] != item[1]:
            result.append(item)
    if result == history:
        return False
    history[:] = result
    return True
