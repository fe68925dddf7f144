"""Merges the buffered samples of a period into the evidence, before its windows are computed."""

from collections.abc import Callable, Mapping

from django.db import transaction
from django.db.models import Min

from accounting.core.interval import HOUR_MS, WINDOW_MS, Interval
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import IngestWindow
from accounting.metering.sources.errors import SourceError
from accounting.metering.tasks.evidence.observe import observe_period
from accounting.metering.tasks.reading import scrape_buffer
from accounting.metering.tasks.reading.cluster_reader import folding_of, reader_of

PART_HOURS = 24  # hours merged together at most
PART_SAMPLES = 1_000_000  # samples merged together at most; about 100 MB of memory

Progress = Callable[[str, int, int], None]  # step, done, total


def merge_samples(cluster: Cluster, period: Interval, tell: Progress) -> None:
    """Merge all buffered samples of a period first, so that its windows are computed once.

    Samples that arrive at the same time (a scrape, another import) are not marked as merged, and
    are merged when their windows are computed.

    Parts are merged starting next to existing evidence, so that evidence grows without a gap:
    across a gap, every node and pod of the time after it would look absent for a moment.
    """
    reader = reader_of(cluster)
    parts = parts_of(period, reader.samples_by_hour(period))
    if _is_before_all(cluster, period):
        parts.reverse()
    for done, part in enumerate(parts):
        tell("Observing", done, len(parts))
        # checked before reading, so that all of them are read
        blocks = reader.blocks_inside(part)
        try:
            readings = reader.read(part)
        except (
            SourceError
        ):  # another source of the cluster: its windows will wait for it
            return
        with transaction.atomic():
            observe_period(cluster, reader, readings, part)
            for source, ids in blocks.items():
                scrape_buffer.note_folded(source, ids, folding_of(source))


def parts_of(period: Interval, samples: Mapping[int, int] | None) -> list[Interval]:
    """The parts of a period that are merged together, ascending: full hours except for its ends.

    The evidence of a cluster is loaded and saved once for each part: as few as memory allows.

    Args:
        period: half-open; no part extends beyond it, so that changed windows there are marked
            late.
        samples: of each hour that has any, by its start in ms; None if not known.
    """
    if samples is None:
        return [part for hour in period.hours() if (part := hour.intersection(period))]
    parts: list[Interval] = []
    held = 0
    for hour in period.hours():
        count = samples.get(hour.start_ms, 0)
        last = parts[-1] if parts else None
        if (
            last is None
            or held + count > PART_SAMPLES
            or min(hour.end_ms, period.end_ms) - last.start_ms > PART_HOURS * HOUR_MS
        ):
            parts.append(Interval(max(hour.start_ms, period.start_ms), hour.end_ms))
            held = count
        else:
            parts[-1] = Interval(last.start_ms, hour.end_ms)
            held += count
    parts[-1] = Interval(parts[-1].start_ms, period.end_ms)
    return parts


def _is_before_all(cluster: Cluster, period: Interval) -> bool:
    """True if everything that was computed so far is after a period."""
    done = IngestWindow.objects.filter(cluster=cluster, content_hash__isnull=False)
    first = done.aggregate(first=Min("window_start"))["first"]
    return first is not None and period.end_ms <= first.timestamp() * 1000 + WINDOW_MS
