"""Exporters and kube-state-metrics read directly, for clusters without Prometheus."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from accounting.metering.sources.catalogue import is_kept
from accounting.metering.sources.errors import InvalidSourceResponse, SourceError
from accounting.metering.sources.exposition import (
    ExpositionError,
    Parser,
    RawSeries,
    limited_lines,
)
from accounting.metering.sources.http import HttpAccess, fetch
from accounting.metering.sources.samples import SampleBatch, UnknownNames

FUTURE_MS = 600_000  # the tolerance for future samples, as in Prometheus
PARALLEL = 16  # targets read at a time


@dataclass(frozen=True, slots=True)
class ScrapeTarget:
    """One address to read, and the identity of its scraper."""

    url: str
    job: str
    instance: str


@dataclass(frozen=True, slots=True)
class Scraped:
    """The result of one round of all targets.

    Attributes:
        batch: relevant samples of the targets that responded, and `up` for every target.
        notes: (code, subject, message) for each failed target.
        unknown: names that look like GPU metrics and are not in the catalogue, with their nodes.
    """

    batch: SampleBatch
    notes: tuple[tuple[str, str, str], ...]
    unknown: Mapping[str, set[str]]


def scrape(
    targets: Sequence[ScrapeTarget], access: HttpAccess, clock_ms: Callable[[], int]
) -> Scraped:
    """Read every target once; a failure does not affect the others.

    Args:
        targets: addresses to read.
        access: credentials and deadlines, the same for all.
        clock_ms: the current time; a sample without a timestamp gets the time at which its
            request was sent (rules.md N2).
    """
    with ThreadPoolExecutor(max_workers=PARALLEL) as pool:
        answers = list(pool.map(lambda t: _one(t, access, clock_ms), targets))
    series: list[RawSeries] = []
    ids: list[int] = []
    times: list[int] = []
    values: list[float] = []
    notes: list[tuple[str, str, str]] = []
    unknown: dict[str, set[str]] = defaultdict(set)
    for answer in answers:
        base = len(series)
        series.extend(answer.series)
        ids.extend(base + sample[0] for sample in answer.samples)
        times.extend(sample[1] for sample in answer.samples)
        values.extend(sample[2] for sample in answer.samples)
        notes.extend(answer.notes)
        for name, nodes in answer.unknown.nodes.items():
            unknown[name] |= nodes
    batch = SampleBatch(
        series,
        np.array(ids, np.int32),
        np.array(times, np.int64),
        np.array(values, np.float64),
    )
    return Scraped(batch, tuple(notes), unknown)


@dataclass(frozen=True, slots=True)
class _Answer:
    series: list[RawSeries]
    samples: list[tuple[int, int, float]]
    notes: list[tuple[str, str, str]]
    unknown: UnknownNames


def _one(
    target: ScrapeTarget, access: HttpAccess, clock_ms: Callable[[], int]
) -> _Answer:
    sent_ms = clock_ms()
    identity = (("job", target.job), ("instance", target.instance))
    up = RawSeries("up", identity)
    unknown = UnknownNames()
    parser = Parser(
        keep=is_kept,
        default_ms=sent_ms,
        latest_ms=sent_ms + FUTURE_MS,
        look_at=unknown.look_at,
    )
    try:
        with access.session() as session:
            body = fetch(session, target.url, access)
        samples = _parsed(parser, body, target)
    except SourceError as error:
        note = ("target_down", target.url, str(error))
        return _Answer([up], [(0, sent_ms, 0.0)], [note], UnknownNames())
    series = [up, *(_labelled(raw, identity) for raw in parser.series)]
    kept = [(i + 1, at, value) for i, at, value in samples]
    return _Answer(series, [(0, sent_ms, 1.0), *kept], [], unknown)


def _parsed(
    parser: Parser, body: bytes, target: ScrapeTarget
) -> list[tuple[int, int, float]]:
    start = body[:200].lstrip().lower()
    if start.startswith((b"<!doctype", b"<html")):
        raise InvalidSourceResponse(
            f"{target.url}: returned a web page, not metrics text"
        )
    is_openmetrics = body.rstrip().endswith(b"# EOF")
    try:
        lines = limited_lines([body])
        return list(parser.samples(lines, is_openmetrics=is_openmetrics))
    except ExpositionError as error:
        raise InvalidSourceResponse(f"{target.url}: {error}") from error


def _labelled(raw: RawSeries, identity: tuple[tuple[str, str], ...]) -> RawSeries:
    """A scraped series with its target's labels, as Prometheus adds them."""
    own = {key for key, _ in identity}
    renamed = tuple(
        (f"exported_{key}" if key in own else key, value) for key, value in raw.labels
    )
    return RawSeries(raw.name, renamed + identity)
