"""Due windows near each other: claim, read, observe, attribute, replace, mark hours dirty.

Any step may run twice, late, out of order or in parallel. The process may die between any two
steps: the window ledger then still shows what is due.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from django.db import Error

from accounting.core.interval import Interval
from accounting.kit.failpoints import reach
from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.data_health.retirement import retired_ms
from accounting.metering.rules.attribution.attribute import WindowLedger, attribute
from accounting.metering.rules.attribution.metric_names import Spellings, spellings
from accounting.metering.rules.attribution.node_timeline import node_timelines
from accounting.metering.rules.inventory.merge.places import placed
from accounting.metering.rules.samples.series import Reading, content_hash
from accounting.metering.sources.errors import SourceError
from accounting.metering.tasks import retirement
from accounting.metering.tasks.data_issues import checks
from accounting.metering.tasks.data_issues.events import SourceFailed, WindowsComputed
from accounting.metering.tasks.evidence.ids import Ids
from accounting.metering.tasks.evidence.load import shown_nodes
from accounting.metering.tasks.evidence.observe import State, observe_period
from accounting.metering.tasks.facts import write_facts
from accounting.metering.tasks.facts.commit import write_windows
from accounting.metering.tasks.gc_pause import no_cycle_search
from accounting.metering.tasks.kube_state_jobs.changes import apply_accepted_jobs
from accounting.metering.tasks.reading.cluster_reader import ClusterReader, reader_of
from accounting.metering.tasks.unknown_metrics import look_for_unknown
from accounting.metering.tasks.windows import leases, window_results
from accounting.metering.tasks.windows.hours_at_once import hours_at_once
from accounting.metering.tasks.windows.leases import WindowLease, WindowLeaseLostError
from accounting.metering.tasks.windows.window_results import WindowResult

MOST_ROUNDS = 20  # one or two follow late findings of a backfill; more find nothing new
FAILURES_IN_A_ROW = 3  # consecutive hours that fail: the source is down


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of one call; `failed` counts attempts on windows."""

    windows: int
    rows_written: int
    samples_seen: int
    failed: int = 0

    def __add__(self, other: "Ingested") -> "Ingested":
        """Both together."""
        return Ingested(
            self.windows + other.windows,
            self.rows_written + other.rows_written,
            self.samples_seen + other.samples_seen,
            self.failed + other.failed,
        )


@no_cycle_search()
def ingest_next(
    cluster: Cluster,
    *,
    within: Interval | None = None,
    newest_first: bool = True,
    not_since: datetime | None = None,
    as_of: datetime | None = None,
) -> Ingested | None:
    """Compute the due windows of one hour, or of some at once; None when nothing is due.

    Args:
        cluster: of the windows.
        within: only windows of this period.
        newest_first: the order of hours.
        not_since: skip windows that were read at or after this instant.
        as_of: skip attempts that are due after this instant; None: after now.
    """
    claimed = leases.claim(
        cluster.pk,
        newest_first=newest_first,
        within=within,
        not_since=not_since,
        as_of=as_of,
        hours=hours_at_once(cluster),
    )
    if claimed is None:
        return None
    started = time.monotonic()
    try:
        reach("claimed")
        at = retired_ms(cluster.pk)
        is_over = at is not None and claimed.period.start_ms >= at
        # read again after the claim: a source that was added since makes windows due
        reader = reader_of(cluster)
        readings = placed(
            _read(reader, claimed.period, is_over=is_over), shown_nodes(cluster)
        )
        reach("read")
        reading_hash = content_hash(readings)
        if reading_hash == claimed.reading_hash:
            window_results.finish_unchanged(claimed)
            return Ingested(len(claimed.windows), 0, 0)
        # after reading, so that none is missed
        is_observed = reader.is_folded(claimed.period)
        state = observe_period(
            cluster,
            reader,
            readings,
            claimed.period,
            is_observed=is_observed,
            computed=claimed.windows,
        )
        reach("observed")
        done = _attribute(claimed, readings, state, started, reading_hash)
    except SourceError as error:
        window_results.fail(claimed, str(error), error.retry_after_s or 0.0)
        checks.run(SourceFailed(cluster, claimed.period, error))
        return Ingested(0, 0, 0, failed=len(claimed.windows))
    except (
        WindowLeaseLostError
    ):  # one was taken over: the others of its hour are due again
        window_results.give_back(claimed)
        return Ingested(0, 0, 0)
    except KeyboardInterrupt:  # stopped by a person: the hour is due again at once
        with suppress(Error):
            window_results.give_back(claimed)
        raise
    except Exception as error:
        with suppress(Error):  # a lost database: the lease expires
            window_results.fail(claimed, f"{type(error).__name__}: {error}")
        raise
    if not is_over:
        look_for_unknown(cluster, reader, claimed.period)
    return done


def _read(reader: ClusterReader, period: Interval, *, is_over: bool) -> list[Reading]:
    """The samples of a period; sources of a retired cluster do not have to respond (N38).

    Raises:
        SourceError: a source did not respond.
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
    within: Interval | None = None,
    newest_first: bool = True,
    as_of: datetime | None = None,
    for_s: float = math.inf,
    on_progress: Callable[[Ingested], None] | None = None,
) -> Ingested:
    """Compute due windows until none is left, or start no more after `for_s` seconds.

    Windows that become due in the meantime are computed too: a sample of one window may change
    others (N1). No window is computed twice in one round, so windows that became due again wait
    for the next round and are computed once with all new evidence. A round after the first reads
    only samples that are already in the evidence, so the rounds end, unless a source returns
    different data each time: then after `MOST_ROUNDS`. A window that failed, or whose response was
    incomplete, is tried once; the next attempt is made by another run.

    A source that fails for several hours in a row ends the run: the rest stays due.
    """
    total = Ingested(0, 0, 0)
    end = time.monotonic() + for_s
    apply_accepted_jobs(cluster)
    retirement.apply_retirement(cluster, for_s=for_s)
    as_of = as_of or database_now()
    for _ in range(MOST_ROUNDS):
        began, in_a_row, is_idle = database_now(), 0, True
        while (
            done := ingest_next(
                cluster,
                within=within,
                newest_first=newest_first,
                not_since=began,
                as_of=as_of,
            )
        ) is not None:
            total, is_idle = total + done, False
            in_a_row = in_a_row + 1 if done.failed else 0
            if on_progress is not None:
                on_progress(total)
            if time.monotonic() >= end or in_a_row >= FAILURES_IN_A_ROW:
                return total
        if is_idle:
            break
    return total


def _attribute(
    claimed: WindowLease,
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
    retired_ms = state.inventory.retired_ms
    is_over = retired_ms is not None and retired_ms <= period.start_ms
    found = (  # after the end of a cluster its windows do not matter (N38)
        []
        if is_over
        else checks.find(WindowsComputed(ledgers, readings, state, period))
    )
    is_partial = any(reading.is_partial for reading in readings)
    run = (is_partial, took_ms, reading_hash)
    results = _results(claimed, ledgers, state.ids, spellings(readings), run)
    written = write_windows(claimed, results, found)
    count = sum(ledger.samples_seen for ledger in ledgers)
    return Ingested(len(ledgers), written, count)


def _results(
    claimed: WindowLease,
    ledgers: Sequence[WindowLedger],
    ids: Ids,
    names: Spellings,
    run: tuple[bool, int, bytes],
) -> list[tuple[WindowResult, write_facts.Facts]]:
    """The results to write of every claimed window; `run` ends each `WindowResult`."""
    known = write_facts.Known(ids.gpus, ids.pods, ids.nodes)
    results: list[tuple[WindowResult, write_facts.Facts]] = []
    for ledger in ledgers:
        spelled = names.within(ledger.window)
        stored = write_facts.facts_of(claimed.cluster_id, ledger, known, spelled)
        outcome = WindowResult(
            ledger.window,
            len(stored.rows),
            stored.content_hash,
            ledger.samples_expected,
            ledger.samples_seen,
            *run,
        )
        results.append((outcome, stored))
    return results
