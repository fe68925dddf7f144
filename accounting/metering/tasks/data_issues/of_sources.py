"""Checks of the responses of sources, or of missing ones."""

from collections.abc import Iterable
from datetime import timedelta

from accounting.core.interval import WINDOW_MS, to_instant
from accounting.core.issue import Issue
from accounting.metering.reads.data_health.at_stake import silent_gpus, waiting_ms
from accounting.metering.sources.catalogue import resembled_name
from accounting.metering.tasks.data_issues.events import (
    NamesShown,
    SamplesLate,
    SourceFailed,
    SourceScraped,
)
from accounting.metering.tasks.reading.scrape_targets import SCRAPE_S, targets_of

UNKNOWN_METRIC = "unknown_metric"
PASSING = ("target_down", "clock_went_back", UNKNOWN_METRIC)  # resolved when they stop


def failed(event: SourceFailed) -> Iterable[Issue]:
    """The windows that wait for a source, with all time at stake so far."""
    yield Issue(
        code="source_failed",
        subject=event.cluster.name,
        message=str(event.error),
        first_ms=event.period.start_ms,
        last_ms=event.period.end_ms,
        at_stake_ms=waiting_ms(event.cluster.pk),
        severity="error",
    )


def scrape_faults(event: SourceScraped) -> Iterable[Issue]:
    """Faults of a scrape; at stake is the time to the next one, of each GPU of a silent target."""
    notes = event.result.notes
    silent = {subject for code, subject, _ in notes if code == "target_down"}
    down = {
        target.url: (target.job, target.instance)
        for target in targets_of(event.source)
        if target.url in silent
    }
    gpus = silent_gpus(event.cluster.pk, down.values())
    for code, subject, message in notes:
        at_stake_ms = 1000 * SCRAPE_S * gpus.get(down.get(subject, ("", "")), 0)
        yield Issue(
            *(code, subject, message, event.at_ms, event.at_ms),
            at_stake_ms=at_stake_ms,
        )


def clock_went_back(event: SamplesLate) -> Iterable[Issue]:
    """Samples for computed time: a clock went back, or an exporter's clock is behind."""
    first = to_instant(event.sampled.start_ms)
    until = event.newest + timedelta(milliseconds=WINDOW_MS)
    yield Issue(
        code="clock_went_back",
        subject=event.source.name,
        message=f"Samples of {first:%Y-%m-%d %H:%M:%S} UTC arrived when windows up to "
        f"{until:%H:%M} were already computed.",
        first_ms=event.sampled.start_ms,
        last_ms=event.sampled.end_ms,
    )


def unknown_metrics(event: NamesShown) -> Iterable[Issue]:
    """Names that are not in the catalogue; such a metric is not used."""
    for name in sorted(event.where):
        at_stake = sum(event.lost_ms.get(one, 0) for one in event.nodes.get(name, ()))
        like = resembled_name(name)
        yield Issue(
            code=UNKNOWN_METRIC,
            subject=name,
            message=f"{event.where[name]} has an unknown metric, which is ignored."
            + (f" It resembles {like}." if like else ""),
            first_ms=event.period.start_ms,
            last_ms=event.period.end_ms,
            at_stake_ms=at_stake,
            severity="warning" if at_stake else "info",
        )
