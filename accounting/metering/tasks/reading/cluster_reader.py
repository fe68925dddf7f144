"""Reads all sources of a cluster, of any kind, for one period."""

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from django.db.models import DateTimeField, Value
from django.db.models.functions import Greatest, Now

from accounting.core.interval import Interval, to_instant
from accounting.metering.models.cluster import Cluster, Source, SourceKind
from accounting.metering.reads.resources import added_resources
from accounting.metering.rules.samples.series import Reading
from accounting.metering.sources.errors import SourceError
from accounting.metering.sources.http import HttpAccess
from accounting.metering.sources.prometheus import Prometheus
from accounting.metering.tasks.reading import scrape_buffer

BEFORE_MS = 1_800_000  # margins of a reading: rules.md N4, N5
AFTER_MS = 600_000
FOLDING = (
    4  # raised when `rules.inventory.merge.samples` learns more from the same samples
)

_ACCESS_KEYS = (
    "headers",
    "bearer_token_file",
    "username",
    "password_file",
    "ca_file",
    "timeout_s",
)


@dataclass(frozen=True, slots=True)
class ClusterReader:
    """All active sources of a cluster as one."""

    sources: tuple[Source, ...]

    def read(self, period: Interval) -> list[Reading]:
        """The readings of all sources for a period, including margins.

        Raises:
            SourceError: a source that is queried over the network did not respond.
        """
        wide = Interval(max(0, period.start_ms - BEFORE_MS), period.end_ms + AFTER_MS)
        return [
            replace(
                read_source(source, wide),
                is_file=source.kind == SourceKind.OPENMETRICS,
            )
            for source in self.sources
        ]

    @property
    def is_asked(self) -> bool:
        """True if a source is queried for names, and does not return all its series."""
        return any(source.kind == SourceKind.PROMETHEUS for source in self.sources)

    def unknown_names(self, period: Interval) -> dict[str, str]:
        """Names that look like a GPU metric and are not in the catalogue, with their source.

        Jobs that are not in a source's list are ignored.

        Raises:
            SourceError: a source did not respond.
        """
        found: dict[str, str] = {}
        for source in self.sources:
            if source.kind == SourceKind.PROMETHEUS:
                allowed = source.settings.get("jobs")
                for name, job in prometheus_of(source).unknown_names(period):
                    if not allowed or job in allowed:
                        found[name] = source.name
        return found

    def nodes_of_names(self, names: list[str], period: Interval) -> dict[str, set[str]]:
        """The nodes of the series with these names, by name.

        Raises:
            SourceError: a source did not respond.
        """
        found: dict[str, set[str]] = {name: set() for name in names}
        for source in self.sources:
            if source.kind == SourceKind.PROMETHEUS:
                shown = prometheus_of(source).nodes_of_names(names, period).nodes
                for name in found:
                    found[name] |= shown.get(name, set())
        return found

    def blocks_inside(self, period: Interval) -> dict[Source, list[int]]:
        """The buffered blocks that are completely in a period; none if a source is queried."""
        if self.is_asked:
            return {}
        return {source: scrape_buffer.inside(source, period) for source in self.sources}

    def is_folded(self, period: Interval) -> bool:
        """True if all buffered samples of a period are already in the evidence."""
        return not self.is_asked and all(
            scrape_buffer.are_folded(source, period, folding_of(source))
            for source in self.sources
        )

    def samples_by_hour(self, period: Interval) -> dict[int, int] | None:
        """The number of buffered samples of each hour of a period, by its start in ms.

        None if a source is queried again each time.
        """
        if self.is_asked:
            return None
        counts: Counter[int] = Counter()
        for source in self.sources:
            counts.update(scrape_buffer.samples_by_hour(source, period))
        return counts

    @property
    def is_live(self) -> bool:
        """True if a source can be queried for the present, not only for a file's time."""
        return any(source.kind != SourceKind.OPENMETRICS for source in self.sources)


def folding_of(source: Source) -> bytes:
    """SHA-256 of everything except samples that determines a source's readings."""
    added = sorted((name, str(share)) for name, share in added_resources().items())
    jobs, scales = source.settings.get("jobs"), sorted(source.scales.items())
    kube_jobs = source.cluster.kube_state_jobs
    how = (FOLDING, added, source.interval_s, jobs, scales, kube_jobs)
    return hashlib.sha256(msgspec.json.encode(how)).digest()


def reader_of(cluster: Cluster) -> ClusterReader:
    """The reader of a cluster's active sources."""
    return ClusterReader(tuple(cluster.sources.filter(is_active=True)))


def read_source(source: Source, period: Interval) -> Reading:
    """The samples of one source in a period: from the buffer, or by querying Prometheus."""
    if source.kind != SourceKind.PROMETHEUS:
        return _of_jobs(source, scrape_buffer.read(source, period))
    try:
        reading = prometheus_of(source).read(period)
    except SourceError as error:
        _note(source, str(error))
        raise
    _note(source, "", max((int(s.times_ms[-1]) for s in reading.series), default=None))
    return _of_jobs(source, reading)


def _of_jobs(source: Source, reading: Reading) -> Reading:
    """The samples of the jobs in a source's list; other jobs raise an issue.

    Without a list, all jobs are used for GPUs and pods.
    """
    allowed = source.settings.get("jobs")
    if not allowed:
        return reading
    kept = tuple(s for s in reading.series if s.scraper.job in allowed)
    foreign = {s.scraper.job for s in reading.series} - set(allowed)
    notes = tuple(
        (
            "foreign_job",
            f"{source.name}: {job or 'no job'}",
            f"Its samples are ignored: the source allows {', '.join(allowed)}.",
        )
        for job in sorted(foreign)
    )
    return replace(reading, series=kept, notes=(*reading.notes, *notes))


def _note(source: Source, error: str, latest_ms: int | None = None) -> None:
    """Store the result of a query for data health; samples of an old period are not the latest."""
    noted: dict[str, Any] = {
        "last_read_at": Now(),
        "last_error": error.replace("\0", ""),
    }
    if latest_ms is not None:
        latest = Value(to_instant(latest_ms), DateTimeField())
        noted["last_sample_at"] = Greatest("last_sample_at", latest)
    Source.objects.filter(pk=source.pk).update(**noted)


def prometheus_of(source: Source) -> Prometheus:
    """The client for a source's settings."""
    given: dict[str, Any] = source.settings
    return Prometheus(
        url=given["url"],
        access=access_of(source),
        matchers=given.get("matchers", {}),
        parameters=given.get("parameters", {}),
        scales=source.scales,
        interval_ms=None if source.interval_s is None else source.interval_s * 1000,
    )


def access_of(source: Source) -> HttpAccess:
    """Credentials and deadlines in a source's settings."""
    given = {
        key: source.settings[key] for key in _ACCESS_KEYS if key in source.settings
    }
    return HttpAccess(**given)
