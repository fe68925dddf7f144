"""Jobs that a queue held back before their pods were created (trap T30).

Kueue keeps a Job suspended until it is admitted: until then there is no pod, so pods alone do not
show that wait.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.merge.operations import within
from accounting.metering.rules.samples.series import Reading, Series

AT_ONCE_MS = (
    5_000  # a Job that is not held back starts sooner than this after its creation
)
METRICS = (
    "kube_job_created",
    "kube_job_status_start_time",
    "kube_job_status_suspended",
)


class JobName(NamedTuple):
    """The name of a Job."""

    namespace: str
    name: str


@dataclass(slots=True)
class HeldJob:
    """The times of a Job, in milliseconds since 1970.

    Attributes:
        started_ms: its start time, as it reports it.
        suspended_ms: the last sample that shows it suspended.
    """

    created_ms: int
    started_ms: int | None = None
    suspended_ms: int | None = None


def held_jobs(readings: Iterable[Reading], period: Interval) -> dict[JobName, HeldJob]:
    """Jobs that were seen suspended, or that started later than they were created."""
    shown: dict[JobName, dict[str, int]] = {}
    for reading in readings:
        for series in reading.series:
            if series.metric in METRICS:
                _note(shown, series, within(series, period))
    created, started, suspended = METRICS
    found = {}
    for name, values in shown.items():
        if created not in values:
            continue
        job = HeldJob(values[created], values.get(started), values.get(suspended))
        if job.started_ms is not None and job.started_ms < job.created_ms:
            job.started_ms = None  # of an earlier Job of this name
        is_late = (
            job.started_ms is not None and job.started_ms - job.created_ms > AT_ONCE_MS
        )
        if is_late or job.suspended_ms is not None:
            found[name] = job
    return found


def _note(shown: dict[JobName, dict[str, int]], series: Series, inside: slice) -> None:
    labels, values = series.labels, series.values[inside]
    name = JobName(labels.get("namespace", ""), labels.get("job_name", ""))
    if not name.name or not len(values):
        return
    known = shown.setdefault(name, {})
    if series.metric == "kube_job_status_suspended":
        times = series.times_ms[inside][values == 1]
        if len(times):
            last = int(times[-1])
            known[series.metric] = max(last, known.get(series.metric, last))
        return
    good = values[np.isfinite(values) & (values > 0)]
    if len(good):
        # A Job that is suspended again starts again: the first start is the end of the wait.
        at = round(float(good[0] if "start" in series.metric else good[-1]) * 1000)
        known[series.metric] = at
