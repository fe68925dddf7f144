"""Merges samples of a period into the evidence, and derives holds and presence from it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import transaction

from accounting.core.interval import FAR_MS, Interval, to_ms
from accounting.core.issue import Issue
from accounting.kit.failpoints import reach
from accounting.kit.locks import lock
from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.cluster import Cluster
from accounting.metering.rules.holds.derive import DerivedHolds, data_end_ms, derive
from accounting.metering.rules.inventory.merge.operations import ChangedRecords
from accounting.metering.rules.inventory.merge.samples import observe
from accounting.metering.rules.inventory.records import Inventory
from accounting.metering.rules.samples.scraper_series import MAX_STEP_MS
from accounting.metering.rules.samples.series import Reading
from accounting.metering.rules.samples.validity import longest_gap_ms
from accounting.metering.tasks import batch_queues, node_states
from accounting.metering.tasks.evidence import gpu_labels, load, save, store_derived
from accounting.metering.tasks.evidence.gpu_labels import label_period
from accounting.metering.tasks.evidence.holds import overlapping
from accounting.metering.tasks.evidence.ids import Ids
from accounting.metering.tasks.evidence.workloads import mark_changed, resolve_pods
from accounting.metering.tasks.gc_pause import no_cycle_search
from accounting.metering.tasks.kube_state_jobs.changes import counted_readings
from accounting.metering.tasks.reading import scrape_buffer
from accounting.metering.tasks.windows import schedule

# the web process derives holds too, and must not load the client of a cluster
if TYPE_CHECKING:
    from accounting.metering.tasks.reading.cluster_reader import ClusterReader


@dataclass(frozen=True, slots=True)
class State:
    """A cluster's evidence and what is derived from it, for one period.

    Attributes:
        issues: jobs of kube-state other than the leading ones.
    """

    inventory: Inventory
    ids: Ids
    derived: DerivedHolds
    until_ms: int
    issues: Sequence[Issue] = ()


@no_cycle_search()
def observe_period(
    cluster: Cluster,
    reader: "ClusterReader",
    readings: Sequence[Reading],
    period: Interval,
    *,
    is_observed: bool = False,
    computed: Sequence[Interval] = (),
) -> State:
    """Merge a period's samples into the evidence and derive holds and presence from it.

    One transaction under the cluster's evidence lock. Windows in which held time changed become due
    again (rules.md N1), except those that the caller computes anyway.

    Args:
        cluster, reader, readings, period: of the samples.
        is_observed: the samples were in the evidence when they were read; they are merged
            again where evidence was removed since (rules.md N40).
        computed: the windows that the caller computes; all of `period` if None.
    """
    uids = {
        series.labels.get("uid", "")
        for reading in readings
        for series in reading.series
        if series.metric.startswith("kube_pod_")
    }
    with transaction.atomic():
        lock("evidence", cluster.pk)
        is_observed = is_observed and reader.is_folded(period)  # checked under the lock
        jobs = counted_readings(cluster, readings, period, is_known=is_observed)
        is_observed = is_observed and not jobs.again
        readings = jobs.readings
        inventory, ids = load.load(cluster, period, uids)
        touched = ChangedRecords()
        if not is_observed:
            touched = observe(inventory, readings, period)
            save.save(cluster, inventory, ids, touched, period)
            batch_queues.store(cluster, readings, period)
            node_states.store(cluster, readings, period)
            scrape_buffer.unfold(cluster.pk, touched.restepped)
        _declare_intervals(inventory, readings)
        until = data_end_ms(inventory)
        if reader.is_live:  # a source covers time to the window's end, never the future
            until = max(until, min(period.end_ms, to_ms(database_now())))
        wide = Interval(
            max(0, period.start_ms - 2 * MAX_STEP_MS), period.end_ms + 2 * MAX_STEP_MS
        )
        near = label_period(period)
        _load_far(cluster, period, inventory, ids, touched)
        now = derive(inventory, wide, until)
        now, changed = store_derived.store(cluster, inventory, now, ids, near, touched)
        holding = {ids.pods[hold.uid] for hold in now.holds}
        if not is_observed:
            mark_changed(cluster.pk, resolve_pods(cluster, holding))
        changed.extend(_moved_end(cluster, until))
        changed.extend(jobs.again)
        changed.extend([*_rescaled(inventory, touched), *touched.restepped])
        outside = _outside(changed, _stretches(computed or [period]))
        schedule.mark_existing(cluster.pk, outside, "late")
        reach("folded")
    found = jobs.issues(period, inventory.added_names)
    return State(inventory, ids, now, until, found)


def derive_again(cluster: Cluster, period: Interval) -> None:
    """Derive holds and presence near a period from stored evidence; reads no samples.

    In the current transaction. Windows in which held time changed become due again, up to the time
    at which the cluster was retired (rules.md N38).
    """
    lock("evidence", cluster.pk)
    inventory, ids = load.load(cluster, period)
    touched = ChangedRecords()
    _load_far(cluster, period, inventory, ids, touched)
    ends = Cluster.objects.values_list("data_end_ms", flat=True)
    until = max(data_end_ms(inventory), ends.get(pk=cluster.pk) or 0)
    now = derive(inventory, period, until)
    near = label_period(period)
    _, changed = store_derived.store(cluster, inventory, now, ids, near, touched)
    kept = Interval(0, inventory.retired_ms or FAR_MS)
    there = [part for span in changed if (part := span.intersection(kept))]
    schedule.mark_existing(cluster.pk, there, "late")


def _load_far(
    cluster: Cluster,
    period: Interval,
    inventory: Inventory,
    ids: Ids,
    touched: ChangedRecords,
) -> None:
    """Load distant labels of the pods that appear in samples now.

    Scrapes of kube-state in the middle of a gap also affect the holds that labels created there,
    for pods of the period.
    """
    names = gpu_labels.names_of(inventory)
    if touched.scrapers:
        wide = Interval(
            max(0, period.start_ms - MAX_STEP_MS), period.end_ms + MAX_STEP_MS
        )
        pods = (row.pod for row in overlapping(cluster, wide))
        names.update((pod.namespace.name, pod.name) for pod in pods)
    near = label_period(period)
    gpu_labels.load_far(cluster, near, names, inventory, ids)
    gpu_labels.load_shown(cluster, inventory)


def _rescaled(inventory: Inventory, touched: ChangedRecords) -> Iterator[Interval]:
    """All time that is covered by samples of scrapers whose scale is read otherwise now (N8)."""
    for gpu in inventory.gpus.values() if touched.rescaled else ():
        for place, spans in gpu.spans.items():
            if place.scraper in touched.rescaled:
                for span in spans:
                    reach_ms = longest_gap_ms(span.step_ms)
                    yield Interval(
                        max(0, span.first_ms - reach_ms), span.last_ms + reach_ms + 1
                    )


def _moved_end(cluster: Cluster, until_ms: int) -> list[Interval]:
    """Store where a cluster's data end (rules.md N1); returns the old and the new end.

    Windows in between were computed as after the end of the data, if they were computed.
    """
    known = Cluster.objects.filter(pk=cluster.pk)
    [before] = known.values_list("data_end_ms", flat=True)
    if before is not None and before >= until_ms:
        return []
    known.update(data_end_ms=until_ms)
    return [] if before is None else [Interval(before, until_ms)]


def _declare_intervals(inventory: Inventory, readings: Sequence[Reading]) -> None:
    """Assign the interval of its source to every kube-state scraper (rules.md N4, N9)."""
    for reading in readings:
        for series in reading.series:
            record = inventory.scrapers.get(series.scraper)
            if record is not None and series.metric.startswith("kube_"):
                record.interval_ms = reading.interval_ms


def _stretches(windows: Sequence[Interval]) -> list[Interval]:
    """Windows, ascending, with adjoining ones joined."""
    found: list[Interval] = []
    for window in windows:
        if found and found[-1].end_ms == window.start_ms:
            found[-1] = Interval(found[-1].start_ms, window.end_ms)
        else:
            found.append(window)
    return found


def _outside(
    changed: Sequence[Interval], computed: Sequence[Interval]
) -> list[Interval]:
    """The parts of changed periods that are outside the computed ones.

    Args:
        changed: in any order.
        computed: ascending and disjoint.
    """
    left = list(changed)
    for done in computed:
        parts: list[Interval] = []
        for span in left:
            if span.start_ms < done.start_ms:
                end_ms = min(span.end_ms, done.start_ms)
                parts.append(Interval(span.start_ms, end_ms))
            if span.end_ms > done.end_ms:
                start_ms = max(span.start_ms, done.end_ms)
                parts.append(Interval(start_ms, span.end_ms))
        left = parts
    return left
