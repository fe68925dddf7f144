"""What samples show of the jobs of kube-state, and which of them count (rules.md N40).

Samples of files that were imported after a live source are separate (`is_late`): they do not
change which jobs counted in windows that it computed.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from accounting.core.interval import FAR_MS, HOUR_MS, Interval
from accounting.core.issue import Issue
from accounting.metering.rules.inventory.kube_state.jobs import (
    JobRecord,
    JobRole,
    Roles,
    Run,
    counted_periods,
    joined,
)
from accounting.metering.rules.inventory.merge.operations import within
from accounting.metering.rules.samples.series import Reading, Series, Times
from accounting.metering.rules.units.resources import kubernetes_resource

EVER = Interval(0, FAR_MS)
NO_JOB = "no job"  # subject of an issue about samples without a job


class Side(NamedTuple):
    """A job, as live sources and earlier files show it, or as later files do."""

    job: str
    is_late: bool = False


class Object(NamedTuple):
    """An object that a job shows, or that one of its objects refers to.

    `is_reference`: it is only referred to, such as a pod's namespace and owner.
    """

    name: str  # "pod <uid>", "node <name>", "namespace <name>", "owner <kind> <ns>/<name>"
    is_reference: bool = False


def is_kube(series: Series) -> bool:
    """True for a series of kube-state."""
    return series.metric.startswith("kube_")


Judge = Callable[[Reading], bool]  # whether a reading is of a late file


def records(
    readings: Iterable[Reading], period: Interval, is_late: Judge
) -> dict[Side, JobRecord]:
    """When each job of kube-state was sampled in a period, and when it first showed a node."""
    arrays: dict[Side, dict[bytes, Times]] = defaultdict(dict)
    nodes: dict[Side, int] = {}
    for reading in readings:
        late = is_late(reading)
        for series in reading.series:
            if not is_kube(series):
                continue
            inside = series.times_ms[within(series, period)]
            if not len(inside):
                continue
            side = Side(series.scraper.job, late)
            arrays[side].setdefault(inside.tobytes(), inside)
            if series.metric.startswith("kube_node_"):
                first = int(inside[0])
                nodes[side] = min(first, nodes.get(side, first))
    return {
        side: JobRecord(_runs(list(found.values())), nodes.get(side))
        for side, found in arrays.items()
    }


def _runs(arrays: Sequence[Times]) -> list[Run]:
    times = np.unique(np.concatenate(arrays))
    cuts = np.flatnonzero(np.diff(times) > HOUR_MS)
    firsts = times[np.concatenate(([0], cuts + 1))].tolist()
    lasts = times[np.concatenate((cuts, [len(times) - 1]))].tolist()
    return [Run(first, last) for first, last in zip(firsts, lasts, strict=True)]


def merged(one: JobRecord, other: JobRecord) -> JobRecord:
    """Two records of one job as one."""
    nodes = [at for at in (one.first_node_ms, other.first_node_ms) if at is not None]
    return JobRecord(joined([*one.runs, *other.runs]), min(nodes, default=None))


def objects(
    readings: Iterable[Reading], period: Interval, is_late: Judge
) -> dict[Side, dict[Object, int]]:
    """What each job of kube-state shows and refers to in a period, with its first sample."""
    found: dict[Side, dict[Object, int]] = defaultdict(dict)
    for reading in readings:
        late = is_late(reading)
        for series in reading.series:
            if not is_kube(series):
                continue
            inside = series.times_ms[within(series, period)]
            if not len(inside):
                continue
            first = int(inside[0])
            own = found[Side(series.scraper.job, late)]
            for shown in _objects_of(series):
                own[shown] = min(first, own.get(shown, first))
    return dict(found)


def _objects_of(series: Series) -> Iterable[Object]:
    labels, metric = series.labels, series.metric
    namespace = labels.get("namespace", "")
    if metric.startswith("kube_pod_"):
        if not labels.get("pod"):
            return
        yield Object(f"pod {labels.get('uid') or namespace + '/' + labels['pod']}")
        yield Object(f"namespace {namespace}", is_reference=True)
        if labels.get("node"):
            yield Object(f"node {labels['node']}")
        if metric == "kube_pod_owner" and labels.get("owner_kind") in _OWNERS:
            owner = (labels["owner_kind"], namespace, labels.get("owner_name", ""))
            yield Object(_owner(*owner), is_reference=True)
    elif metric.startswith("kube_node_"):
        if labels.get("node"):
            yield Object(f"node {labels['node']}")
    elif metric == "kube_namespace_labels":
        yield Object(f"namespace {namespace}")
    elif metric == "kube_replicaset_owner":
        yield Object(_owner("ReplicaSet", namespace, labels.get("replicaset", "")))
    elif metric.startswith("kube_job_"):
        yield Object(_owner("Job", namespace, labels.get("job_name", "")))


_OWNERS = ("ReplicaSet", "Job")


def _owner(kind: str, namespace: str, name: str) -> str:
    return f"owner {kind} {namespace}/{name}"


def counting(readings: Iterable[Reading], roles: Roles) -> list[Reading]:
    """Readings without the samples of kube-state that do not count."""
    periods = {job: counted_periods(roles, job) for job in roles}
    if all(found == [EVER] for found in periods.values()):
        return list(readings)
    return [
        replace(reading, series=tuple(_counted(reading.series, periods)))
        for reading in readings
    ]


def _counted(
    found: Iterable[Series], periods: Mapping[str, Sequence[Interval]]
) -> Iterable[Series]:
    for series in found:
        allowed = periods.get(series.scraper.job, ()) if is_kube(series) else [EVER]
        if list(allowed) == [EVER]:
            yield series
            continue
        chosen = _inside(series.times_ms, allowed)
        if chosen.any():
            times, values = series.times_ms[chosen], series.values[chosen]
            yield replace(series, times_ms=times, values=values)


def _inside(times: Times, periods: Iterable[Interval]) -> "np.ndarray":
    chosen = np.zeros(len(times), bool)
    for period in periods:
        chosen |= (times >= period.start_ms) & (times < period.end_ms)
    return chosen


_CODES = {
    JobRole.SHARD: ("kube_state_shard", "warning"),
    JobRole.TOOK_OVER: ("kube_state_renamed", "warning"),
    JobRole.OTHER: ("other_kube_state", "error"),
}


ISSUES = sorted(code for code, _ in _CODES.values())


def codes_of(roles: Roles, jobs: Mapping[str, JobRecord]) -> set[tuple[str, str]]:
    """The issues that `told` can find at any time, as code and subject."""
    return {
        (_CODES[stretch.role][0], job or NO_JOB)
        for job, record in jobs.items()
        for stretch in roles.get(job, ())
        if stretch.role in _CODES
        and any(
            stretch.period.intersection(Interval(run.first_ms, run.last_ms + 1))
            for run in record.runs
        )
    }


def other_job_issues(
    readings: Sequence[Reading],
    roles: Roles,
    period: Interval,
    shared: Mapping[str, str],
    added: Mapping[str, str],
) -> list[Issue]:
    """Issues of the other jobs that were sampled in a period, with their GPU time.

    Args:
        readings: all, including samples that do not count.
        roles: of every job.
        period: half-open.
        shared: by job, an object that both it and the leading jobs show.
        added: resources that an administrator added, by kube-state's spelling.
    """
    leading = sorted(
        job or NO_JOB for job in roles if roles[job][0].role is JobRole.LEADS
    )
    found: list[Issue] = []
    for job, stretches in sorted(roles.items()):
        for role, (code, severity) in _CODES.items():
            parts = [
                part
                for stretch in stretches
                if stretch.role is role
                and (part := stretch.period.intersection(period)) is not None
            ]
            bounds = _bounds(readings, job, parts)
            if bounds is None:
                continue
            at_stake_ms = sum(
                _asked_ms(series, part, added)
                for reading in readings
                for series in reading.series
                if series.scraper.job == job and series.metric == _REQUESTS
                for part in parts
            )
            found.append(
                Issue(
                    code=code,
                    subject=job or NO_JOB,
                    message=_message(role, ", ".join(leading), shared.get(job, "")),
                    first_ms=bounds.start_ms,
                    last_ms=bounds.end_ms,
                    at_stake_ms=at_stake_ms,
                    severity=severity,
                )
            )
    return found


_REQUESTS = "kube_pod_container_resource_requests"


def _message(role: JobRole, leading: str, shared: str) -> str:
    if role is JobRole.SHARD:
        return f"It is used, because it reports only objects that {leading} does not report."
    if role is JobRole.TOOK_OVER:
        return f"It is used instead of {leading}, which sent nothing for an hour."
    what = f" It reports {shared}, which {leading} also reports." if shared else ""
    return f"Its samples are ignored.{what}"


def _bounds(
    readings: Iterable[Reading], job: str, parts: Collection[Interval]
) -> Interval | None:
    """From the first to the last sample of a job in some periods; None without any."""
    if not parts:
        return None
    firsts: list[int] = []
    lasts: list[int] = []
    for reading in readings:
        for series in reading.series:
            if series.scraper.job == job and is_kube(series):
                times = series.times_ms[_inside(series.times_ms, parts)]
                if len(times):
                    firsts.append(int(times[0]))
                    lasts.append(int(times[-1]))
    return Interval(min(firsts), max(lasts)) if firsts else None


def _asked_ms(series: Series, period: Interval, added: Mapping[str, str]) -> int:
    """The GPU time that a pod requests, from its first to its last sample in a period."""
    if kubernetes_resource(series.labels.get("resource", ""), added) is None:
        return 0
    inside = within(series, period)
    times, values = series.times_ms[inside], series.values[inside]
    units = values[np.isfinite(values)]
    if not len(units):
        return 0
    step_ms = int(np.median(np.diff(times))) if len(times) > 1 else 0
    return int(units.max()) * (int(times[-1] - times[0]) + step_ms)
