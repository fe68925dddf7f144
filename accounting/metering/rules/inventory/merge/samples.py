"""Merges samples into the evidence of a cluster: kube-state's objects, and its GPUs."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from accounting.core.interval import WINDOW_MS, Interval
from accounting.metering.rules.inventory.amd_partitions import note_partitions
from accounting.metering.rules.inventory.divided_nodes import note_divided
from accounting.metering.rules.inventory.label_names import object_labels
from accounting.metering.rules.inventory.merge.gpus import observe_gpus
from accounting.metering.rules.inventory.merge.nodes import observe_node
from accounting.metering.rules.inventory.merge.operations import (
    ChangedRecords,
    Everything,
    changes_of,
    merge_changes,
    put_spans,
    scraper_record,
    spans_of,
    within,
)
from accounting.metering.rules.inventory.merge.places import placed
from accounting.metering.rules.inventory.merge.pod_nodes import pod_nodes
from accounting.metering.rules.inventory.merge.pods import observe_pod, pod_labels
from accounting.metering.rules.inventory.merge.scales import observe_scales
from accounting.metering.rules.inventory.named_pods import note_named
from accounting.metering.rules.inventory.records import (
    ClaimRecord,
    Inventory,
    SampleSpan,
)
from accounting.metering.rules.samples.scraper_series import (
    STEP_LOOKBACK_MS,
    ScrapeSteps,
)
from accounting.metering.rules.samples.series import Reading, ScraperIdentity, Series
from accounting.metering.rules.samples.validity import longest_gap_ms


def observe(
    inventory: Inventory, readings: Sequence[Reading], period: Interval
) -> ChangedRecords:
    """Merge every sample of `readings` that is in `period` into `inventory`.

    Args:
        inventory: changed in place.
        readings: of all sources of the cluster, with their margins.
        period: half-open; samples outside are context only.

    Returns:
        The changed records.
    """
    touched = ChangedRecords()
    known = frozenset(inventory.scrapers)
    shown = {name for name, node in inventory.nodes.items() if node.spans}
    everything = [
        (series, reading)
        for reading in placed(readings, shown)
        for series in reading.series
    ]
    _kube_times(inventory, everything, period, touched)
    _objects(inventory, everything, period, touched)
    _show_claims(inventory, touched)
    observe_gpus(inventory, everything, period, touched)
    observe_scales(inventory, everything, period, touched, known)
    touched.nodes |= note_partitions(inventory)
    touched.nodes |= note_divided(inventory, touched.pods)
    touched.pods |= note_named(inventory)
    return touched


def _show_claims(inventory: Inventory, touched: ChangedRecords) -> None:
    """Store which claims kube-state shows; exporters' labels of other claims are not confirmed."""
    for uid in touched.pods:
        pod = inventory.pods[uid]
        for key in {(pod.namespace, name) for name in pod.claims}:
            record = inventory.claims.setdefault(key, ClaimRecord(*key))
            if not record.is_shown:
                record.is_shown = True
                touched.claims.add(key)


def _kube_times(
    inventory: Inventory,
    everything: Everything,
    period: Interval,
    touched: ChangedRecords,
) -> None:
    """When each kube-state scraper was scraped in the period."""
    before = kube_steps(inventory)
    seen: dict[ScraperIdentity, set[bytes]] = defaultdict(set)
    times: dict[ScraperIdentity, set[int]] = defaultdict(set)
    for series, reading in everything:
        if not series.metric.startswith("kube_"):
            continue
        scraper_record(inventory, series.scraper).interval_ms = reading.interval_ms
        inside = series.times_ms[within(series, period)]
        key = inside.tobytes()
        if key and key not in seen[series.scraper]:
            seen[series.scraper].add(key)
            times[series.scraper].update(inside.tolist())
    for scraper, found in times.items():
        record = scraper_record(inventory, scraper)
        known = [] if record.kube_times is None else record.kube_times.tolist()
        union = sorted(found.union(known))
        if len(union) != len(known):
            record.kube_times = np.array(union, np.int64)
            touched.scrapers.add(scraper)
    steps = kube_steps(inventory)
    _later_steps(inventory, before, steps, period, touched)
    for scraper in times:
        own = steps[scraper]
        low = bisect_left(own.times, period.start_ms)
        high = bisect_left(own.times, period.end_ms)
        fresh = spans_of(own.times[low:high], own.at)
        if put_spans(inventory.scrapers[scraper].spans, fresh):
            touched.scrapers.add(scraper)


def _later_steps(
    inventory: Inventory,
    before: Mapping[ScraperIdentity, ScrapeSteps],
    now: Mapping[ScraperIdentity, ScrapeSteps],
    period: Interval,
    touched: ChangedRecords,
) -> None:
    """Give later samples without a step of their own the step that is known now (N4).

    Nodes are corrected when the samples are merged again: their evidence does not say which
    samples show them.
    """
    settled_ms = period.end_ms + STEP_LOOKBACK_MS + WINDOW_MS  # own steps are final
    for scraper, old in before.items():
        times, new = old.times, now[scraper]
        changed: list[int] = []
        for i in range(bisect_left(times, period.end_ms), len(times)):
            at = times[i]
            if old.own(at - at % WINDOW_MS) is None:
                if old.at(at) != new.at(at):
                    changed.append(i)
            elif at >= settled_ms:
                break  # it gives all after it a step
        if changed:
            run = times[changed[0] : changed[-1] + 2]
            put_spans(inventory.scrapers[scraper].spans, spans_of(run, new.at))
            touched.scrapers.add(scraper)
        for at in map(times.__getitem__, changed):
            reach_ms = longest_gap_ms(max(old.at(at), new.at(at)))
            touched.restepped.append(Interval(at, at + reach_ms + 1))


def kube_steps(inventory: Inventory) -> dict[ScraperIdentity, ScrapeSteps]:
    """The steps of every kube-state scraper (rules.md N4, N9).

    With fewer than three samples, the step of its other scrapers, else the last known step of a
    scraper of the same job.
    """
    found = {
        scraper: ScrapeSteps(record.kube_times.tolist(), record.interval_ms)
        for scraper, record in inventory.scrapers.items()
        if record.kube_times is not None
    }
    every = list(found.values())
    jobs: dict[str, list[tuple[ScrapeSteps, Sequence[SampleSpan]]]] = defaultdict(list)
    for scraper, steps in found.items():
        steps.others = [other for other in every if other is not steps]
        jobs[scraper.job].append((steps, inventory.scrapers[scraper].spans))
    for scraper, steps in found.items():
        steps.last_known = partial(_last_known, jobs[scraper.job])
    return found


def _last_known(
    job: Sequence[tuple[ScrapeSteps, Sequence[SampleSpan]]], window_start_ms: int
) -> int | None:
    """The step of the last sample of a job that has one of its own; None if none has.

    Of several scrapers that were sampled at that time, the lower median.
    """
    known: list[tuple[int, int]] = []
    for steps, spans in job:
        own = steps.own_before(window_start_ms)
        if own is None:  # before the hours that were loaded
            first_ms = min([window_start_ms, *steps.times[:1]])
            older = bisect_left(spans, first_ms, key=lambda span: span.last_ms)
            own = (
                (spans[older - 1].last_ms, spans[older - 1].step_ms) if older else None
            )
        if own is not None:
            known.append(own)
    if not known:
        return None
    latest = max(at for at, _ in known)
    steps_ms = sorted(step for at, step in known if at == latest)
    return steps_ms[(len(steps_ms) - 1) // 2]


def _objects(
    inventory: Inventory,
    everything: Everything,
    period: Interval,
    touched: ChangedRecords,
) -> None:
    nodes: dict[str, list[Series]] = defaultdict(list)
    namespaces: dict[str, list[Series]] = defaultdict(list)
    for series, _ in everything:
        metric = series.metric
        if metric.startswith("kube_pod_"):
            observe_pod(inventory, series, period, touched)
        elif metric.startswith("kube_node_"):
            nodes[series.labels.get("node", "")].append(series)
        elif metric == "kube_namespace_labels":
            namespaces[series.labels.get("namespace", "")].append(series)
        elif metric in _OWNED:
            _owner(inventory, series, touched)
    pod_labels(inventory, everything, period)
    pod_nodes(inventory, everything, period)
    for name, found in namespaces.items():
        _namespace(inventory, name, found, period, touched)
    steps = kube_steps(inventory)
    for name, found in nodes.items():
        if name:
            observe_node(inventory, name, found, period, steps, touched)


_OWNED = {"kube_replicaset_owner": "ReplicaSet", "kube_job_owner": "Job"}
_OWNED_LABEL = {"kube_replicaset_owner": "replicaset", "kube_job_owner": "job_name"}


def _owner(inventory: Inventory, series: Series, touched: ChangedRecords) -> None:
    labels = series.labels
    kind, name = labels.get("owner_kind", ""), labels.get("owner_name", "")
    if kind in ("", "<none>") or labels.get("owner_is_controller") == "false":
        return
    own = labels.get(_OWNED_LABEL[series.metric], "")
    key = (labels.get("namespace", ""), _OWNED[series.metric], own)
    inventory.owners[key] = (kind, name)
    touched.owners.add(key)


def _namespace(
    inventory: Inventory,
    name: str,
    found: Sequence[Series],
    period: Interval,
    touched: ChangedRecords,
) -> None:
    parts = [
        (inside, object_labels(series.labels))
        for series in found
        if len(inside := series.times_ms[within(series, period)])
    ]
    if not parts or not name:
        return
    if merge_changes(inventory.namespaces.setdefault(name, []), *changes_of(parts)):
        touched.namespaces.add(name)
