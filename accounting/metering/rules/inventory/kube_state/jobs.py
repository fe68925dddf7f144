"""Which scrape jobs of kube-state count, and when (rules.md N40).

The jobs that showed nodes in the first hour *lead*, together with those that a person accepted. A
job that shows only objects unknown to them is a *shard* and counts. Any other job does not count,
unless it *takes over*: it was never seen at the same time as the leaders, and they have been
silent for an hour. The role of a job at an instant depends only on samples up to that instant, so
later samples do not change what was counted; older samples that arrive late may.

All times are milliseconds since 1970.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

from accounting.core.interval import FAR_MS, HOUR_MS, Interval, without


class JobRole(Enum):
    """The role of a job of kube-state at an instant; all except `OTHER` count."""

    LEADS = "leads"
    SHARD = "shard"
    TOOK_OVER = "took over"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Run:
    """Samples from `first_ms` to `last_ms` without more than an hour of silence."""

    first_ms: int
    last_ms: int


@dataclass(slots=True)
class JobRecord:
    """When one job of kube-state was sampled.

    Attributes:
        runs: ascending.
        first_node_ms: its first sample that shows a node; None where it shows none.
    """

    runs: list[Run] = field(default_factory=list)
    first_node_ms: int | None = None


@dataclass(frozen=True, slots=True)
class RoleInterval:
    """A period in which a job has one role."""

    period: Interval
    role: JobRole


@dataclass(frozen=True, slots=True)
class NamedJobs:
    """The jobs that people named.

    Attributes:
        accepted: they lead together with those of the first hour.
        listed: by a source (`jobs`); if one of them was sampled, they lead instead of those of the
            first hour.
        is_closed: every source lists its jobs, so no other job counts.
    """

    accepted: Set[str] = frozenset()
    listed: Set[str] = frozenset()
    is_closed: bool = False


NOBODY = NamedJobs()

_ALWAYS = (RoleInterval(Interval(0, FAR_MS), JobRole.LEADS),)
_NEVER = (RoleInterval(Interval(0, FAR_MS), JobRole.OTHER),)

Jobs = Mapping[str, JobRecord]
Overlaps = Mapping[tuple[str, str], int]
"""(job, other) -> since when the job has shown an object that the other one knows."""
Roles = Mapping[str, tuple[RoleInterval, ...]]  # ascending and complete, by job


def joined(runs: Iterable[Run]) -> list[Run]:
    """Runs, with those joined that are at most an hour apart."""
    found: list[Run] = []
    for run in sorted(runs, key=lambda run: (run.first_ms, run.last_ms)):
        if found and run.first_ms - found[-1].last_ms <= HOUR_MS:
            last_ms = max(run.last_ms, found[-1].last_ms)
            found[-1] = Run(found[-1].first_ms, last_ms)
        else:
            found.append(run)
    return found


def leaders(jobs: Jobs, named: NamedJobs) -> set[str]:
    """The jobs that sources list, and those that were accepted.

    If no listed job was sampled, the jobs that showed nodes in the first hour lead instead;
    if none showed a node then, all jobs of that hour.
    """
    sampled = {job: record for job, record in jobs.items() if record.runs}
    chosen = sampled.keys() & named.accepted
    if listed := sampled.keys() & named.listed:
        return listed | chosen
    first_ms = min((r.runs[0].first_ms for r in sampled.values()), default=0)
    until_ms = first_ms + HOUR_MS
    found = {
        job
        for job, record in sampled.items()
        if record.first_node_ms is not None and record.first_node_ms < until_ms
    } or {job for job, record in sampled.items() if record.runs[0].first_ms < until_ms}
    return found | chosen


def roles_of(jobs: Jobs, overlaps: Overlaps, named: NamedJobs = NOBODY) -> Roles:
    """The roles of each job over time.

    Args:
        jobs: all sampled jobs.
        overlaps: since when two jobs show the same object; jobs without common objects are not in
            it.
        named: by people.
    """
    if named.is_closed:  # samples of other jobs are not even read
        return {job: _ALWAYS if job in named.listed else _NEVER for job in jobs}
    lead = leaders(jobs, named)
    runs = joined(run for job in lead for run in jobs[job].runs)
    taken = _Handover(jobs, lead).replay(runs)
    found: dict[str, tuple[RoleInterval, ...]] = {}
    for job in jobs:
        if job in lead:
            found[job] = _ALWAYS
        else:
            since_ms = _shared_since(job, lead, taken, overlaps)
            found[job] = tuple(_stretches(since_ms, taken.get(job, ())))
    return found


def changed_at(roles: Roles, later: Roles, at_ms: int) -> Roles:
    """Some roles up to an instant, and others from then on."""
    return {
        job: (
            *_within(roles.get(job, ()), Interval(0, at_ms)),
            *_within(later.get(job, _NEVER), Interval(at_ms, FAR_MS)),
        )
        for job in {*roles, *later}
    }


def differences(
    before: Roles, after: Roles, jobs: Jobs
) -> tuple[dict[str, list[Interval]], dict[str, list[Interval]]]:
    """When samples of jobs counted and no longer do, or the other way round, by job.

    Args:
        before, after: the roles.
        jobs: the sampled jobs with the roles before.
    """
    lost: dict[str, list[Interval]] = {}
    gained: dict[str, list[Interval]] = {}
    for job, record in jobs.items():
        if not record.runs:
            continue
        sampled = [Interval(run.first_ms, run.last_ms + 1) for run in record.runs]
        was = _common(sampled, counted_periods(before, job))
        now = _common(sampled, counted_periods(after, job))
        if left := without(was, now):
            lost[job] = left
        if new := without(now, was):
            gained[job] = new
    return lost, gained


def _common(periods: Iterable[Interval], others: Sequence[Interval]) -> list[Interval]:
    return [
        part
        for period in periods
        for other in others
        if (part := period.intersection(other)) is not None
    ]


def counted_periods(roles: Roles, job: str) -> list[Interval]:
    """When samples of a job count."""
    return [s.period for s in roles.get(job, ()) if s.role is not JobRole.OTHER]


def _within(
    stretches: Iterable[RoleInterval], period: Interval
) -> Iterable[RoleInterval]:
    for stretch in stretches:
        common = stretch.period.intersection(period)
        if common is not None:
            yield RoleInterval(common, stretch.role)


@dataclass(slots=True)
class _Handover:
    """Which jobs take over when the leading ones are silent for an hour, and until when."""

    jobs: Jobs
    lead: Collection[str]
    found: dict[str, list[Interval]] = field(default_factory=dict)

    def replay(self, runs: Iterable[Run]) -> Mapping[str, list[Interval]]:
        """When each of the other jobs is used instead of silent ones, ascending."""
        others = frozenset(self.jobs) - frozenset(self.lead)
        self._silences(list(runs), FAR_MS, [], others)
        return {job: sorted(periods) for job, periods in self.found.items()}

    def _silences(
        self, runs: list[Run], end_ms: int, before: list[Run], others: frozenset[str]
    ) -> None:
        """Fill each silence after the runs of the leading jobs, up to `end_ms`."""
        led = list(before)
        for run, following in pairwise([*runs, None]):
            if run is None:
                continue
            led.append(run)
            back_ms = end_ms if following is None else following.first_ms
            start_ms = run.last_ms + HOUR_MS
            if start_ms < back_ms:
                self._fill(Interval(start_ms, back_ms), led, others)

    def _fill(self, silence: Interval, led: list[Run], others: frozenset[str]) -> None:
        """Let the jobs take over that were never sampled at the same time as the previous ones.

        All jobs that are sampled when the hour is over do; if none is, the next one.
        """
        candidates = {
            job: runs
            for job in sorted(others)
            if (runs := self._runs_up_to(job, silence.end_ms))
            and not any(_meet(run, other) for run in runs for other in led)
        }
        there = {
            job
            for job, runs in candidates.items()
            if any(
                run.first_ms <= silence.start_ms < run.last_ms + HOUR_MS for run in runs
            )
        }
        begin_ms = silence.start_ms
        if not there:
            firsts = {
                job: first
                for job, runs in candidates.items()
                if (first := _first_after(runs, silence.start_ms)) is not None
            }
            begin_ms = min(firsts.values(), default=silence.end_ms)
            there = {job for job, first in firsts.items() if first == begin_ms}
        if not there or begin_ms >= silence.end_ms:
            return
        for job in there:
            period = Interval(begin_ms, silence.end_ms)
            self.found.setdefault(job, []).append(period)
        runs = joined(
            Run(max(run.first_ms, begin_ms - HOUR_MS), min(run.last_ms, silence.end_ms))
            for job in there
            for run in candidates[job]
            if run.last_ms > begin_ms - HOUR_MS
        )
        self._silences(runs, silence.end_ms, led, others - there)

    def _runs_up_to(self, job: str, end_ms: int) -> list[Run]:
        return [run for run in self.jobs[job].runs if run.first_ms < end_ms]


def _meet(one: Run, other: Run) -> bool:
    return one.first_ms <= other.last_ms and other.first_ms <= one.last_ms


def _first_after(runs: Iterable[Run], at_ms: int) -> int | None:
    return min((run.first_ms for run in runs if run.first_ms > at_ms), default=None)


def _shared_since(
    job: str,
    lead: Iterable[str],
    taken: Mapping[str, list[Interval]],
    overlaps: Overlaps,
) -> int:
    """Since when a job has shown objects of the leading jobs: from then on it is not a shard."""
    found = [overlaps[job, other] for other in lead if (job, other) in overlaps]
    for other, periods in taken.items():
        if other != job and (job, other) in overlaps:
            found.append(max(overlaps[job, other], periods[0].start_ms))
    return min(found, default=FAR_MS)


def _stretches(since_ms: int, taken: Iterable[Interval]) -> Iterable[RoleInterval]:
    """A shard up to an instant, another job from then on, and taking over in between."""
    start_ms = 0
    for period in [*taken, Interval(FAR_MS, FAR_MS)]:
        for role, low, high in (
            (JobRole.SHARD, start_ms, min(since_ms, period.start_ms)),
            (JobRole.OTHER, max(start_ms, since_ms), period.start_ms),
        ):
            if low < high:
                yield RoleInterval(Interval(low, high), role)
        if period.length_ms:
            yield RoleInterval(period, JobRole.TOOK_OVER)
        start_ms = period.end_ms
