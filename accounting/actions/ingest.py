"""One hour's due windows: claim, read, observe, attribute, replace, mark hours dirty.

Any step may run twice, late, out of order or beside itself. Between any two steps the
process may die: the ledger then still says what is due.
"""

import math
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from django.db import Error

from accounting.actions import (
    facts,
    issues,
    retirement,
    windows,
)
from accounting.actions.evidence_ids import Ids
from accounting.actions.names import look_for_unknown
from accounting.actions.observing import State, observe_period
from accounting.actions.outcomes import write_windows
from accounting.actions.pause import no_cycle_search
from accounting.actions.reading import ClusterReader, reader_of
from accounting.actions.windows import Claim, FenceError, Outcome
from accounting.domain.attribution import WindowLedger, attribute
from accounting.domain.condition import conditions, told_twice
from accounting.domain.issue import Issue
from accounting.domain.period import Period
from accounting.domain.place import misplaced
from accounting.domain.series import Reading, content_hash
from accounting.domain.spelling import Spellings, spellings
from accounting.domain.timeline import node_timelines
from accounting.failpoints import reach
from accounting.models import Cluster
from accounting.queries.at_stake import waiting_ms
from accounting.queries.retirement import retired_ms
from accounting.sources.errors import SourceError


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one call did."""

    windows: int
    rows_written: int
    samples_seen: int
    failed: int = 0


@no_cycle_search()
def ingest_next(
    cluster: Cluster,
    *,
    within: Period | None = None,
    newest_first: bool = True,
    observed: Collection[int] = (),
) -> Ingested | None:
    """Compute the due windows of one hour; None when nothing is due.

    Args:
        cluster: whose windows.
        within: only windows of this period.
        newest_first: the order in which hours are taken.
        observed: ids of the kept blocks that are in the evidence already.
    """
    claimed = windows.claim(cluster.pk, newest_first=newest_first, within=within)
    if claimed is None:
        return None
    reach("claimed")
    started = time.monotonic()
    at = retired_ms(cluster.pk)
    is_over = at is not None and claimed.period.start_ms >= at
    try:
        reader = reader_of(cluster)
        readings = _read(reader, claimed.period, is_over=is_over)
        reach("read")
        reading_hash = content_hash(readings)
        if reading_hash == claimed.reading_hash:
            windows.finish_unchanged(claimed)
            return Ingested(len(claimed.windows), 0, 0)
        blocks = reader.block_ids(claimed.period)  # after reading: none was read unseen
        is_observed = blocks is not None and blocks.issubset(observed)
        state = observe_period(
            cluster, reader, readings, claimed.period, is_observed=is_observed
        )
        reach("observed")
        done = _attribute(claimed, readings, state, started, reading_hash)
    except SourceError as error:
        windows.fail(claimed, str(error), error.retry_after_s or 0.0)
        _source_failed(cluster, claimed, error)
        return Ingested(0, 0, 0, failed=len(claimed.windows))
    except FenceError:  # one was taken over: the others of its hour are due again
        windows.give_back(claimed)
        return Ingested(0, 0, 0)
    except Exception as error:
        with suppress(Error):  # a lost database: the claim lapses by itself
            windows.fail(claimed, f"{type(error).__name__}: {error}")
        raise
    if not is_over:
        look_for_unknown(cluster, reader, claimed.period)
    return done


def _read(reader: ClusterReader, period: Period, *, is_over: bool) -> list[Reading]:
    """The samples of a period; of a cluster that is over, nobody has to answer (N38).

    Raises:
        SourceError: a source did not answer.
    """
    try:
        return reader.read(period)
    except SourceError:
        if not is_over:
            raise
        return []


def ingest_all(
    cluster: Cluster,
    *,
    within: Period | None = None,
    newest_first: bool = True,
    observed: Collection[int] = (),
    for_s: float = math.inf,
    on_progress: Callable[[Ingested], None] | None = None,
) -> Ingested:
    """Compute due windows until none is left, or begin no more after `for_s` seconds."""
    total = Ingested(0, 0, 0)
    end = time.monotonic() + for_s
    retirement.work_off(cluster, for_s=for_s)
    while True:
        done = ingest_next(
            cluster, within=within, newest_first=newest_first, observed=observed
        )
        if done is None:
            return total
        total = Ingested(
            total.windows + done.windows,
            total.rows_written + done.rows_written,
            total.samples_seen + done.samples_seen,
            total.failed + done.failed,
        )
        if on_progress is not None:
            on_progress(total)
        if time.monotonic() >= end:
            return total


def _attribute(
    claimed: Claim,
    readings: Sequence[Reading],
    state: State,
    started: float,
    reading_hash: bytes,
) -> Ingested:
    timelines = node_timelines(
        state.inventory, state.derived, claimed.period, state.until_ms
    )
    ledgers = attribute(claimed.windows, readings, timelines)
    reach("attributed")
    took_ms = int((time.monotonic() - started) * 1000) // len(claimed.windows)
    period = claimed.period
    found = _all_issues(ledgers, readings, state, period)
    is_partial = any(reading.is_partial for reading in readings)
    run = (is_partial, took_ms, reading_hash)
    results = _results(claimed, ledgers, state.ids, spellings(readings), run)
    written = write_windows(claimed, results, found)
    count = sum(ledger.samples_seen for ledger in ledgers)
    return Ingested(len(ledgers), written, count)


def _results(
    claimed: Claim,
    ledgers: Sequence[WindowLedger],
    ids: Ids,
    names: Spellings,
    run: tuple[bool, int, bytes],
) -> list[tuple[Outcome, facts.Facts]]:
    """What is written of every claimed window; `run` ends each `Outcome`."""
    known = facts.Known(ids.gpus, ids.pods, ids.nodes)
    results: list[tuple[Outcome, facts.Facts]] = []
    for ledger in ledgers:
        spelled = names.within(ledger.window)
        stored = facts.facts_of(claimed.cluster_id, ledger, known, spelled)
        outcome = Outcome(
            ledger.window,
            len(stored.rows),
            stored.content_hash,
            ledger.samples_expected,
            ledger.samples_seen,
            *run,
        )
        results.append((outcome, stored))
    return results


def _all_issues(
    ledgers: Sequence[WindowLedger],
    readings: Sequence[Reading],
    state: State,
    period: Period,
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
    ]


def _of_sources(
    ledgers: Sequence[WindowLedger], readings: Sequence[Reading], period: Period
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


def _source_failed(cluster: Cluster, claimed: Claim, error: SourceError) -> None:
    period = claimed.period
    issue = Issue(
        code="source_failed",
        subject=cluster.name,
        message=str(error),
        first_ms=period.start_ms,
        last_ms=period.end_ms,
        at_stake_ms=waiting_ms(cluster.pk),
        severity="error",
    )
    issues.record(cluster.pk, [issue])
