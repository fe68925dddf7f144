"""The data issues of windows that were computed, and of those that their source failed."""

from collections.abc import Iterable, Sequence

from accounting.domain.attribution.attribute import WindowLedger
from accounting.domain.core.interval import Interval
from accounting.domain.core.issue import Issue
from accounting.domain.holds.gpu_location import misplaced
from accounting.domain.holds.node_capacity import beyond_capacity
from accounting.domain.samples.gpu_errors import conditions, told_twice
from accounting.domain.samples.series import Reading
from accounting.ingest.data_issues import record
from accounting.ingest.evidence.observe import State
from accounting.models import Cluster
from accounting.queries.data_health.at_stake import waiting_ms
from accounting.sources.errors import SourceError


def issues_of(
    ledgers: Sequence[WindowLedger],
    readings: Sequence[Reading],
    state: State,
    period: Interval,
) -> list[Issue]:
    """What windows found; after the end of a cluster nothing of them matters (N38)."""
    at = state.inventory.retired_ms
    if at is not None and at <= period.start_ms:
        return []
    seen = any(part.intersection(period) for part in state.derived.seen)
    return [
        *(issue for ledger in ledgers for issue in ledger.issues),
        *_of_sources(ledgers, readings, period),
        *conditions(readings, period),
        *told_twice(readings, period),
        *state.derived.issues,
        *misplaced(state.inventory, period, is_seen=seen),
        *beyond_capacity(state.inventory, state.derived.presences, period),
        *state.issues,
    ]


def _of_sources(
    ledgers: Sequence[WindowLedger], readings: Sequence[Reading], period: Interval
) -> Iterable[Issue]:
    """What sources and their samples were at fault; an answer that was not whole has at
    stake what nothing is known of in its windows, once however often it was said."""
    missed_ms = sum(ledger.missed_ms for ledger in ledgers)
    warned: set[str] = set()
    for reading in readings:
        for code, subject, message in reading.notes:
            is_first = code == "source_warning" and subject not in warned
            if is_first:
                warned.add(subject)
            yield Issue(
                code,
                subject,
                message,
                period.start_ms,
                period.end_ms,
                at_stake_ms=missed_ms if is_first else 0,
            )


def source_failed(cluster: Cluster, period: Interval, error: SourceError) -> None:
    """Record that the windows of a period wait for their source, with what is at stake."""
    issue = Issue(
        code="source_failed",
        subject=cluster.name,
        message=str(error),
        first_ms=period.start_ms,
        last_ms=period.end_ms,
        at_stake_ms=waiting_ms(cluster.pk),
        severity="error",
    )
    record.record(cluster.pk, [issue])
