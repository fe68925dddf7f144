"""Keeps a cluster current: reads scrape sources, and finds the windows that are due."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from time import monotonic
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Max, Min

from accounting.domain.core.interval import (
    DAY_MS,
    HOUR_MS,
    WINDOW_MS,
    Interval,
    to_instant,
    to_ms,
)
from accounting.domain.core.issue import Issue
from accounting.ingest import scrape_buffer, window_leases, window_schedule
from accounting.ingest.cluster_reader import access_of
from accounting.ingest.data_issues import record
from accounting.ingest.imports import REACH_AHEAD_MS, REACH_BACK_MS
from accounting.ingest.unknown_metrics import record_unknown
from accounting.models import BufferBlock, Cluster, IngestWindow, Source, SourceKind
from accounting.queries.data_health.at_stake import silent_gpus
from accounting.queries.database_clock import database_now
from accounting.sources.scrape import Scraped, ScrapeTarget, scrape

PASSING = (
    "target_down",
    "clock_went_back",
    "unknown_metric",
)  # issues that end when they stop
SCRAPE_S = 30  # between two scrapes, where a source says nothing else
Clock = Callable[[], int]  # milliseconds since 1970

AGAIN_MS = 2 * WINDOW_MS  # what is read again with each new window (rules.md N1)
WINDOW = timedelta(milliseconds=WINDOW_MS)


def scrape_cluster(cluster: Cluster, clock_ms: Clock | None = None) -> int:
    """Read every scrape source of a cluster once; returns how many samples were new.

    Args:
        cluster: whose sources.
        clock_ms: the time now, in milliseconds since 1970; else the database's clock.
    """
    clock = clock_ms or _database_clock()
    sources = cluster.sources.filter(is_active=True, kind=SourceKind.SCRAPE)
    return sum(_scrape(cluster, source, clock) for source in sources)


def _database_clock() -> Clock:
    """The database's time, which goes on by itself: threads must not open connections."""
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
    record.record(cluster.pk, _faults(cluster, source, result, at))
    scraped = Interval(at, at)
    hour = Interval(at - HOUR_MS, at)
    record_unknown(cluster, source.name, result.unknown, scraped, hour)
    record.resolve_older(cluster.pk, PASSING, now - timedelta(minutes=5))
    return new


def _faults(
    cluster: Cluster, source: Source, result: Scraped, at_ms: int
) -> list[Issue]:
    """What a scrape met; at stake is a step of each GPU that a silent target speaks of."""
    notes = {subject: code for code, subject, _ in result.notes}
    down = {
        target.url: (target.job, target.instance)
        for target in targets_of(source)
        if notes.get(target.url) == "target_down"
    }
    step_ms = 1000 * (source.interval_s or SCRAPE_S)
    gpus = silent_gpus(cluster.pk, down.values())
    return [
        Issue(
            code,
            subject,
            message,
            at_ms,
            at_ms,
            at_stake_ms=step_ms * gpus.get(down.get(subject, ("", "")), 0),
        )
        for code, subject, message in result.notes
    ]


def _mark_late(cluster: Cluster, source: Source, scraped: Interval) -> None:
    """Make windows due that were computed without samples of their time (N1).

    The last ones are read again anyway. Before them a sample lies only when a clock went
    back (or one of an exporter is behind), which a person must be told.
    """
    newest = _newest_window(cluster)
    if newest is None or scraped.start_ms >= to_ms(newest) + WINDOW_MS - AGAIN_MS:
        return
    reach = Interval(scraped.start_ms - REACH_BACK_MS, scraped.end_ms + REACH_AHEAD_MS)
    window_schedule.mark(cluster.pk, [reach], "late", create=False)
    issue = Issue(
        code="clock_went_back",
        subject=source.name,
        message=f"Samples of {to_instant(scraped.start_ms):%Y-%m-%d %H:%M:%S} UTC came"
        f" when windows up to {newest + WINDOW:%H:%M} were computed.",
        first_ms=scraped.start_ms,
        last_ms=scraped.end_ms,
    )
    record.record(cluster.pk, [issue])


def _newest_window(cluster: Cluster) -> datetime | None:
    found = IngestWindow.objects.filter(cluster=cluster)
    newest: datetime | None = found.aggregate(last=Max("window_start"))["last"]
    return newest


def targets_of(source: Source) -> list[ScrapeTarget]:
    """The addresses that a scrape source reads, with their scrapers' identities."""
    found: list[ScrapeTarget] = []
    for group in source.settings.get("targets", []):
        for url in group["urls"]:
            parts = urlsplit(url)
            path = parts.path.removesuffix("/metrics").strip("/")
            instance = f"{parts.netloc}/{path}" if path else parts.netloc
            found.append(ScrapeTarget(url, group["job"], instance))
    return found


def is_live(cluster: Cluster) -> bool:
    """True where some source is not a file: it answers for any time."""
    sources = cluster.sources.filter(is_active=True)
    return sources.exclude(kind=SourceKind.OPENMETRICS).exists()


def find_due(cluster: Cluster, clock_ms: Clock | None = None) -> int:
    """Make windows due that ended at least 30 s ago; returns how many are new.

    The clock is the database's, or `clock_ms`.

    With each new window the two before it are read again, with each new hour the last day
    and with each new day the last week (of sources that can be asked again; what arrives
    late from others marks its own windows).
    """
    sources = list(cluster.sources.filter(is_active=True))
    live = [source for source in sources if source.kind != SourceKind.OPENMETRICS]
    if not live:
        return 0
    now_ms = clock_ms() if clock_ms else to_ms(database_now())
    end_ms = now_ms - window_leases.FIRST_READ_AFTER // timedelta(milliseconds=1)
    end_ms -= end_ms % WINDOW_MS
    start_ms = _next_window(cluster, live, end_ms)
    if start_ms >= end_ms:
        return 0
    new = Interval(start_ms, end_ms)
    count = window_schedule.mark(cluster.pk, [new], "new", create=True)
    again = AGAIN_MS
    if any(source.kind == SourceKind.PROMETHEUS for source in live):
        again = max(again, _reread_ms(new))
    window_schedule.read_again(cluster.pk, Interval(max(0, start_ms - again), start_ms))
    return count


def _reread_ms(new: Interval) -> int:
    """How far back to read again: a day with each hour, a week with each day (N1)."""
    if any(window.start_ms % DAY_MS == 0 for window in new.windows()):
        return 7 * DAY_MS
    if any(window.start_ms % HOUR_MS == 0 for window in new.windows()):
        return DAY_MS
    return 0


def _next_window(cluster: Cluster, live: Sequence[Source], end_ms: int) -> int:
    """Start of the first window that the ledger does not have yet."""
    last = _newest_window(cluster)
    if last is not None:
        oldest_ms = end_ms - settings.FACT_DAYS * DAY_MS  # facts before it expired
        return max(to_ms(last) + WINDOW_MS, oldest_ms)
    first = BufferBlock.objects.filter(source__in=live).aggregate(first=Min("first_ms"))
    if first["first"] is not None:
        return int(first["first"]) - int(first["first"]) % WINDOW_MS
    if any(source.kind == SourceKind.PROMETHEUS for source in live):
        return end_ms - HOUR_MS  # history further back is a backfill: `ingest --from`
    return end_ms
