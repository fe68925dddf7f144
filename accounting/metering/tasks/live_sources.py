"""Reads scrape sources, and finds the due windows of live sources."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from time import monotonic

from django.conf import settings
from django.db.models import Max, Min

from accounting.core.interval import (
    DAY_MS,
    HOUR_MS,
    WINDOW_MS,
    Interval,
    to_instant,
    to_ms,
)
from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.cluster import Cluster, Source, SourceKind
from accounting.metering.models.ledger import BufferBlock, IngestWindow
from accounting.metering.sources.scrape import scrape
from accounting.metering.tasks.data_issues import checks, record
from accounting.metering.tasks.data_issues.events import SamplesLate, SourceScraped
from accounting.metering.tasks.data_issues.of_sources import PASSING
from accounting.metering.tasks.imports import REACH_AHEAD_MS, REACH_BACK_MS
from accounting.metering.tasks.reading import scrape_buffer
from accounting.metering.tasks.reading.cluster_reader import access_of
from accounting.metering.tasks.reading.scrape_targets import targets_of
from accounting.metering.tasks.unknown_metrics import record_unknown
from accounting.metering.tasks.windows import leases, schedule

Clock = Callable[[], int]  # milliseconds since 1970

AGAIN_MS = 2 * WINDOW_MS  # read again with each new window (rules.md N1)
WINDOW = timedelta(milliseconds=WINDOW_MS)


def scrape_cluster(cluster: Cluster, clock_ms: Clock | None = None) -> int:
    """Read every scrape source of a cluster once; returns how many samples were new.

    Args:
        cluster: of the sources.
        clock_ms: the current time, in milliseconds since 1970; None for the database's clock.
    """
    clock = clock_ms or _database_clock()
    sources = cluster.sources.filter(is_active=True, kind=SourceKind.SCRAPE)
    return sum(_scrape(cluster, source, clock) for source in sources)


def _database_clock() -> Clock:
    """The database's time, continued by a local clock: threads must not open connections."""
    base_ms, since = to_ms(database_now()), monotonic()
    return lambda: base_ms + int((monotonic() - since) * 1000)


def _scrape(cluster: Cluster, source: Source, clock_ms: Clock) -> int:
    result = scrape(targets_of(source), access_of(source), clock_ms)
    new = scrape_buffer.append(source, result.batch)
    at = clock_ms()
    if len(result.batch.times):
        first, last = int(result.batch.times.min()), int(result.batch.times.max())
        _mark_late(cluster, source, Interval(first, last + 1))
    now = to_instant(at)
    down = [message for code, _, message in result.notes if code == "target_down"]
    source.last_read_at = now
    source.last_error = down[0] if down else ""
    if len(result.batch.times):
        source.last_sample_at = to_instant(int(result.batch.times.max()))
    source.save(update_fields=["last_read_at", "last_sample_at", "last_error"])
    checks.run(SourceScraped(cluster, source, result, at))
    scraped = Interval(at, at)
    hour = Interval(at - HOUR_MS, at)
    record_unknown(cluster, source.name, result.unknown, scraped, hour)
    record.resolve_older(cluster.pk, PASSING, now - timedelta(minutes=5))
    return new


def _mark_late(cluster: Cluster, source: Source, scraped: Interval) -> None:
    """Make windows due that were computed without samples of their time (N1).

    The last ones are read again anyway. A sample before them means that a clock went back (or that
    the clock of an exporter is behind), which is reported to a person.
    """
    newest = _newest_window(cluster)
    if newest is None or scraped.start_ms >= to_ms(newest) + WINDOW_MS - AGAIN_MS:
        return
    reach = Interval(scraped.start_ms - REACH_BACK_MS, scraped.end_ms + REACH_AHEAD_MS)
    schedule.mark(cluster.pk, [reach], "late", create=False)
    checks.run(SamplesLate(cluster, source, scraped, newest))


def _newest_window(cluster: Cluster) -> datetime | None:
    found = IngestWindow.objects.filter(cluster=cluster)
    newest: datetime | None = found.aggregate(last=Max("window_start"))["last"]
    return newest


def is_live(cluster: Cluster) -> bool:
    """True if a source is not a file: it can be queried for any time."""
    sources = cluster.sources.filter(is_active=True)
    return sources.exclude(kind=SourceKind.OPENMETRICS).exists()


def find_due(cluster: Cluster, clock_ms: Clock | None = None) -> int:
    """Make windows due that ended at least 30 s ago; returns how many are new.

    The clock is the database's, or `clock_ms`.

    With each new window the two before it are read again, with each new hour the last day
    and with each new day the last week (of sources that can be queried again; late samples of other
    sources make their own windows due).
    """
    sources = list(cluster.sources.filter(is_active=True))
    live = [source for source in sources if source.kind != SourceKind.OPENMETRICS]
    if not live:
        return 0
    now_ms = clock_ms() if clock_ms else to_ms(database_now())
    end_ms = now_ms - leases.FIRST_READ_AFTER // timedelta(milliseconds=1)
    end_ms -= end_ms % WINDOW_MS
    start_ms = _next_window(cluster, live, end_ms)
    if start_ms >= end_ms:
        return 0
    new = Interval(start_ms, end_ms)
    count = schedule.mark(cluster.pk, [new], "new", create=True)
    again = AGAIN_MS
    if any(source.kind == SourceKind.PROMETHEUS for source in live):
        again = max(again, _reread_ms(new))
    schedule.read_again(cluster.pk, Interval(max(0, start_ms - again), start_ms))
    return count


def _reread_ms(new: Interval) -> int:
    """How far back to read again: a day with each hour, a week with each day (N1)."""
    if any(window.start_ms % DAY_MS == 0 for window in new.windows()):
        return 7 * DAY_MS
    if any(window.start_ms % HOUR_MS == 0 for window in new.windows()):
        return DAY_MS
    return 0


def _next_window(cluster: Cluster, live: Sequence[Source], end_ms: int) -> int:
    """Start of the first window that is not in the window ledger yet."""
    last = _newest_window(cluster)
    if last is not None:
        oldest_ms = end_ms - settings.FACT_DAYS * DAY_MS  # earlier facts have expired
        return max(to_ms(last) + WINDOW_MS, oldest_ms)
    first = BufferBlock.objects.filter(source__in=live).aggregate(first=Min("first_ms"))
    if first["first"] is not None:
        return int(first["first"]) - int(first["first"]) % WINDOW_MS
    if any(source.kind == SourceKind.PROMETHEUS for source in live):
        return end_ms - HOUR_MS  # older history is a backfill: `ingest --from`
    return end_ms
