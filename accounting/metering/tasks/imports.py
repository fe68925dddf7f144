"""Keeps samples of files: checked completely, buffered, merged; their windows are due then.

Safe to repeat; several files may be imported in any order and in pieces: the ledger is that of
all their samples together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.db.models import DateTimeField, Max, Min, Value
from django.db.models.functions import Greatest, Now

from accounting.core.interval import DAY_MS, HOUR_MS, WINDOW_MS, Interval, to_instant
from accounting.kit.audit import Actor, act
from accounting.kit.failpoints import reach
from accounting.kit.locks import lock
from accounting.kit.reads.database_clock import database_now
from accounting.kit.work_folders import work_folder
from accounting.metering.models.cluster import Cluster, Source, SourceKind
from accounting.metering.models.ledger import BufferBlock, IngestWindow
from accounting.metering.rules.samples.scraper_series import MAX_STEP_MS
from accounting.metering.sources.intervals import Intervals, Sampler
from accounting.metering.sources.openmetrics import FileError, Spool, spool
from accounting.metering.sources.samples import UnknownNames
from accounting.metering.tasks import unknown_metrics
from accounting.metering.tasks.data_issues import record
from accounting.metering.tasks.data_issues.of_sources import UNKNOWN_METRIC
from accounting.metering.tasks.merge_buffered import (
    PART_HOURS,
    PART_SAMPLES,
    merge_samples,
)
from accounting.metering.tasks.new_clusters import confirm, refuse_known_gpus
from accounting.metering.tasks.reading import scrape_buffer
from accounting.metering.tasks.reading.cluster_reader import reader_of
from accounting.metering.tasks.windows import schedule

FILES = "files"  # name of the source that imported files belong to
REACH_BACK_MS = 2 * WINDOW_MS  # a sample changes windows up to 1.5 steps before it (N6)
REACH_AHEAD_MS = 4 * WINDOW_MS  # and after it by its validity and the step (N4, N5)

Progress = Callable[[str, int, int], None]  # step, done, total


@dataclass(frozen=True, slots=True)
class StoredSamples:
    """The stored samples of files; their windows are due.

    Attributes:
        cluster, source: of the samples.
        period: from the first to the last sample.
        samples, new_samples: the number of relevant samples, and of those not stored before.
        unknown: names that look like a GPU metric and are ignored.
        intervals: in ms, derived from the samples.
        skipped: samples that were left out because their time is in the future.
    """

    cluster: Cluster
    source: Source
    period: Interval
    samples: int
    new_samples: int
    unknown: UnknownNames
    intervals: Mapping[Sampler, int | None]
    skipped: int = 0


def keep_files(
    cluster_name: str,
    paths: Sequence[Path],
    *,
    actor: Actor,
    is_new: bool = False,
    interval_s: int | None = None,
    skips_future: bool = False,
    on_progress: Progress | None = None,
) -> StoredSamples:
    """Check files, store their samples and merge them into the evidence; windows become due.

    Args:
        cluster_name: created if it is unknown (rules.md N37).
        paths: files, also .gz; all are checked before anything is written.
        actor: for the audit log.
        is_new: the cluster is a separate one, even if another one has its GPUs (N39).
        interval_s: between samples of this cluster's files, 1 to 300 (N4); stored. None: as
            declared before, else derived in each window.
        skips_future: samples of more than a day ahead are left out and counted.
        on_progress: called with the current step, its progress and its total.

    Raises:
        FileError: a file is not valid; nothing was written.
        Refused: the cluster is not configured, and another one has these GPUs at the
            same time; nothing was written.
    """
    tell = on_progress or (lambda what, done, total: None)
    latest = int(database_now().timestamp() * 1000) + DAY_MS
    with work_folder("import") as folder:
        spooled = spool(
            paths,
            folder,
            latest_ms=latest,
            skips_future=skips_future,
            on_progress=lambda done, total: tell(
                "Reading MiB", done >> 20, max(1, total >> 20)
            ),
        )
        if spooled.first_ms is None or spooled.last_ms is None:
            raise FileError(
                f"{', '.join(map(str, paths))}: contains no GPU or kube-state-metrics series"
            )
        if not is_new:
            refuse_known_gpus(cluster_name, spooled)
        cluster, source = _source(cluster_name, actor, is_new=is_new)
        if interval_s is not None:
            _declare(source, interval_s, actor)
        period = Interval(spooled.first_ms, spooled.last_ms + 1)
        return _keep(cluster, source, spooled, period, tell)


def _keep(
    cluster: Cluster, source: Source, spooled: Spool, period: Interval, tell: Progress
) -> StoredSamples:
    """Store checked samples and merge them, in one transaction if they are one part.

    So no worker computes their windows before they are in the evidence, which would merge them
    twice.
    """
    intervals = Intervals()
    is_one = (
        spooled.samples <= PART_SAMPLES
        and period.end_ms - period.start_ms <= PART_HOURS * HOUR_MS
        # nobody waits for it while we hold our locks
        and not reader_of(cluster).is_asked
    )
    with transaction.atomic():  # the windows of stored samples are always due
        if is_one:
            # before rows of windows: merging marks some of them
            lock("evidence", cluster.pk)
        new = _buffer(source, spooled, intervals, tell)
        if new:
            _mark(cluster, period)
        record.resolve_older(cluster.pk, (UNKNOWN_METRIC,), period.start)
        name_unknown(cluster, spooled.unknown, period)
        _note(source, period)
        if new and is_one:
            merge_samples(cluster, period, tell)
    reach("kept")
    if new and not is_one:
        merge_samples(cluster, period, tell)
    return StoredSamples(
        cluster=cluster,
        source=source,
        period=period,
        samples=spooled.samples,
        new_samples=new,
        unknown=spooled.unknown,
        intervals=intervals.concluded(),
        skipped=spooled.skipped,
    )


def _source(cluster_name: str, actor: Actor, *, is_new: bool) -> tuple[Cluster, Source]:
    with act(actor, f"import into {cluster_name}"):
        if is_new:
            confirm(cluster_name)
        cluster, _ = Cluster.objects.get_or_create(name=cluster_name)
        source = cluster.sources.filter(kind=SourceKind.OPENMETRICS).first()
        if source is None:
            source = Source.objects.create(
                cluster=cluster, name=FILES, kind=SourceKind.OPENMETRICS
            )
    return cluster, source


def _note(source: Source, period: Interval) -> None:
    """Store, for data health, when a file was last imported, and the time it covers."""
    last = to_instant(period.end_ms - 1)
    Source.objects.filter(pk=source.pk).update(
        last_read_at=Now(),
        last_sample_at=Greatest("last_sample_at", Value(last, DateTimeField())),
        file_from=period.start,
        file_to=last,
    )


def name_unknown(cluster: Cluster, unknown: UnknownNames, period: Interval) -> None:
    """The names that look like a GPU metric and were ignored."""
    weighed = unknown_metrics.hours_of(period)
    unknown_metrics.record_unknown(cluster, "A file", unknown.nodes, period, weighed)


def _buffer(
    source: Source, spooled: Spool, intervals: Intervals, tell: Progress
) -> int:
    hours = spooled.hours()
    new = 0
    for done, hour in enumerate(hours):
        tell("Keeping samples", done, len(hours))
        batch = spooled.hour(hour)
        intervals.add(batch)
        new += scrape_buffer.append(source, batch)
    return new


def _declare(source: Source, interval_s: int, actor: Actor) -> None:
    """Store the interval of a source; if it changed, all its windows are due."""
    if source.interval_s == interval_s:
        return
    with transaction.atomic():
        with act(actor, f"interval of {source}"):
            source.interval_s = interval_s
            source.save(update_fields=["interval_s"])
        blocks = BufferBlock.objects.filter(source=source)
        hours = blocks.values_list("first_ms", "last_ms")
        kept = [_reach(Interval(first, last + 1)) for first, last in hours]
        schedule.mark(source.cluster_id, kept, "interval", create=False)


def _mark(cluster: Cluster, period: Interval) -> None:
    """Make every window due that the new samples can change, and the gap to existing windows.

    Between a cluster's first and last sample every window has its facts. Parallel imports do this
    one after the other, until their transactions end: otherwise neither would see the other's
    windows, and the gap between them would not be computed.
    """
    lock("windows", cluster.pk)
    bounds = IngestWindow.objects.filter(cluster=cluster).aggregate(
        first=Min("window_start"), last=Max("window_start")
    )
    low, high = period.start_ms, period.end_ms + MAX_STEP_MS
    if bounds["first"] is not None:
        first = int(bounds["first"].timestamp() * 1000)
        last = int(bounds["last"].timestamp() * 1000) + WINDOW_MS
        high = max(high, first)
        low = min(low, last)
    schedule.mark(cluster.pk, [Interval(low, high)], "new", create=True)
    schedule.mark(cluster.pk, [_reach(period)], "late", create=False)


def _reach(period: Interval) -> Interval:
    """The windows that samples of a period can change, including those around it."""
    first = max(0, period.start_ms - REACH_BACK_MS)
    return Interval(first - first % WINDOW_MS, period.end_ms + REACH_AHEAD_MS)
