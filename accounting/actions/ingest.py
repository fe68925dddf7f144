"""One hour's due windows: claim, read, observe, attribute, replace, mark hours dirty.

Any step may run twice, late, out of order or beside itself. Between any two steps the
process may die: the ledger then still says what is due.
"""

import math
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from django.db import Error, connection, transaction

from accounting.actions import (
    derived,
    due,
    evidence,
    evidence_save,
    facts,
    issues,
    partitions,
    queues,
    windows,
)
from accounting.actions.evidence_ids import Ids
from accounting.actions.locks import lock
from accounting.actions.names import look_for_unknown
from accounting.actions.pause import no_cycle_search
from accounting.actions.reading import ClusterReader, reader_of
from accounting.actions.windows import Claim, FenceError, Outcome
from accounting.actions.workloads import resolve_pods
from accounting.domain.attribution import WindowLedger, attribute
from accounting.domain.condition import conditions, told_twice
from accounting.domain.derived import Derived, data_end_ms, derive
from accounting.domain.inventory import Inventory
from accounting.domain.issue import Issue
from accounting.domain.label import labels_of
from accounting.domain.observe import observe
from accounting.domain.period import Period, to_instant, to_ms
from accounting.domain.place import misplaced
from accounting.domain.series import Reading, content_hash
from accounting.domain.spelling import Spellings, spellings
from accounting.domain.timeline import node_timelines
from accounting.domain.track import MAX_STEP_MS
from accounting.failpoints import reach
from accounting.models import Cluster
from accounting.queries.windows import database_now
from accounting.sources.errors import SourceError

BACK_COVER_MS = MAX_STEP_MS + MAX_STEP_MS // 2  # 1.5 steps (rules.md N6)


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one call did."""

    windows: int
    rows_written: int
    samples_seen: int
    failed: int = 0


@dataclass(frozen=True, slots=True)
class _State:
    """A cluster's evidence and what it says, for one period."""

    inventory: Inventory
    ids: Ids
    derived: Derived
    until_ms: int


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
    reader = reader_of(cluster)
    claimed = windows.claim(
        cluster.pk, newest_first=newest_first, within=within, is_live=reader.is_live
    )
    if claimed is None:
        return None
    reach("claimed")
    started = time.monotonic()
    try:
        readings = reader.read(claimed.period)
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
    look_for_unknown(cluster, reader, claimed.period)
    return done


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


@no_cycle_search()
def observe_period(
    cluster: Cluster,
    reader: ClusterReader,
    readings: Sequence[Reading],
    period: Period,
    *,
    is_observed: bool = False,
) -> _State:
    """Fold a period's samples into the evidence and derive holds and presence from it.

    One transaction under the cluster's evidence lock. Windows outside `period` in which
    somebody's time changed become due again (rules.md N1).
    """
    uids = {
        series.labels.get("uid", "")
        for reading in readings
        for series in reading.series
        if series.metric.startswith("kube_pod_")
    }
    with transaction.atomic():
        lock("evidence", cluster.pk)
        inventory, ids = evidence.load(cluster, period, uids)
        labels_before = None
        if not is_observed:
            labels_before = labels_of(inventory)
            touched = observe(inventory, readings, period)
            evidence_save.save(cluster, inventory, ids, touched, period)
            queues.store(cluster, readings, period)
        _declare_intervals(inventory, readings)
        until = data_end_ms(inventory)
        if reader.is_live:  # it answers to the window's end, and never for the future
            until = max(until, min(period.end_ms, to_ms(database_now())))
        wide = Period(
            max(0, period.start_ms - 2 * MAX_STEP_MS), period.end_ms + 2 * MAX_STEP_MS
        )
        now = derive(inventory, wide, until)
        reach_of_labels = evidence.label_period(period)
        changed = derived.store(
            cluster, inventory, now, ids, reach_of_labels, labels_before
        )
        holding = {ids.pods[hold.uid] for hold in now.holds}
        if not is_observed:
            resolve_pods(cluster, holding)
        outside = _outside(changed, period)
        due.mark_existing(cluster.pk, outside, "late")
        reach("folded")
    return _State(inventory, ids, now, until)


def _declare_intervals(inventory: Inventory, readings: Sequence[Reading]) -> None:
    """Give every kube-state scraper the interval of its source (rules.md N4, N9)."""
    for reading in readings:
        for series in reading.series:
            record = inventory.scrapers.get(series.scraper)
            if record is not None and series.metric.startswith("kube_"):
                record.interval_ms = reading.interval_ms


def _outside(changed: Sequence[Period], period: Period) -> list[Period]:
    """The parts of changed periods that lie outside the windows being computed."""
    found: list[Period] = []
    for span in changed:
        before = span.intersection(
            Period(min(span.start_ms, period.start_ms), period.start_ms)
        )
        after = span.intersection(
            Period(period.end_ms, max(span.end_ms, period.end_ms))
        )
        found.extend(part for part in (before, after) if part is not None)
    return found


def _attribute(
    claimed: Claim,
    readings: Sequence[Reading],
    state: _State,
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
    seen = any(part.intersection(period) for part in state.derived.seen)
    found = [
        *_all_issues(ledgers, readings, period),
        *state.derived.issues,
        *misplaced(state.inventory, period, is_seen=seen),
    ]
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


def write_windows(
    claimed: Claim,
    results: Sequence[tuple[Outcome, facts.Facts]],
    found: Sequence[Issue] = (),
) -> int:
    """Facts, dirty hours and ledger in one transaction; unchanged windows write no facts.

    Where nothing changed and nothing was found, one statement is the transaction: the live
    windows of every cluster are read again and again, and round trips are most of it.

    Args:
        claimed: whose fences must still hold.
        results: of each window its outcome and all its facts.
        found: issues of these windows.

    Returns:
        How many facts were written.

    Raises:
        FenceError: a window was taken over meanwhile; nothing was written.
    """
    replaced = [
        (to_instant(outcome.window.start_ms), stored)
        for outcome, stored in results
        if claimed.hashes.get(outcome.window.start_ms) != outcome.content_hash
    ]
    outcomes = [outcome for outcome, _ in results]
    if not replaced and not found and windows.finish_quietly(claimed, outcomes):
        reach("committed")
        return 0
    cluster_id, period = claimed.cluster_id, claimed.period
    for table in (partitions.WINDOWS, partitions.INTENSITY_WINDOWS):
        partitions.ensure(table, period.start, period.end)
    with transaction.atomic():
        if replaced:
            lock("facts", cluster_id)
            facts.replace_windows(cluster_id, replaced)
            mark_hours(cluster_id, [window for window, _ in replaced], "facts")
        windows.finish(claimed, outcomes)
        issues.record(cluster_id, found)
        issues.resolve_gone(cluster_id, period, found)
        reach("before_commit")
    reach("committed")
    return sum(len(stored.rows) for _, stored in replaced)


def mark_hours(cluster_id: int, instants: Sequence[object], reason: str) -> None:
    """Mark the UTC hours of instants dirty; a mark that is there is renewed."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO accounting_dirtyhour (cluster_id, hour_start, marked_at, reason)
            SELECT DISTINCT %s, date_trunc('hour', at, 'UTC'), statement_timestamp(), %s
            FROM unnest(%s::timestamptz[]) AS at
            ON CONFLICT (cluster_id, hour_start) DO UPDATE
                SET marked_at = excluded.marked_at, reason = excluded.reason
            """,
            [cluster_id, reason, list(instants)],
        )


def _all_issues(
    ledgers: Sequence[WindowLedger], readings: Sequence[Reading], period: Period
) -> list[Issue]:
    found = [issue for ledger in ledgers for issue in ledger.issues]
    found.extend(
        Issue(code, subject, message, period.start_ms, period.end_ms)
        for reading in readings
        for code, subject, message in reading.notes
    )
    return [*found, *conditions(readings, period), *told_twice(readings, period)]


def _source_failed(cluster: Cluster, claimed: Claim, error: SourceError) -> None:
    period = claimed.period
    issue = Issue(
        code="source_failed",
        subject=cluster.name,
        message=str(error),
        first_ms=period.start_ms,
        last_ms=period.end_ms,
        severity="error",
    )
    issues.record(cluster.pk, [issue])
