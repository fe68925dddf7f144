"""Which scrape jobs of kube-state count, and when (rules.md N40).

The jobs that showed nodes in the first hour *lead*, beside those that a person accepted. A job
that shows only objects which they do not know is a *shard* and counts. Any other job counts for
nothing, except where it *takes over*: it was never seen beside the leaders, and they have been
silent for an hour. What a job is at an instant follows from samples up to that instant, so that
later samples change nothing of what was counted; older ones that come late may.

All times are milliseconds.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

from accounting.domain.core.interval import FAR_MS, HOUR_MS, Interval, without


class JobRole(Enum):
    """What a job of kube-state is at an instant; all but `OTHER` count."""

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
        accepted: they lead beside those that the data show first.
        listed: by a source (`jobs`); where one of them was sampled, they lead instead of those.
        is_closed: every source lists its jobs, so nobody else counts.
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
Roles = Mapping[str, tuple[RoleInterval, ...]]  # ascending and whole, by job


def joined(runs: Iterable[Run]) -> list[Run]:
    """Runs with those joined that are no more than an hour apart."""
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

    Where no listed one was sampled, those that showed nodes in the first hour of all take its place
    for them; where none showed a node then, all jobs of that hour.
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
    """What each job is at any time.

    Args:
        jobs: all that was sampled.
        overlaps: since when a job shows what another one knows; jobs that share nothing
            are not in it.
        named: by people.
    """
    if named.is_closed:  # samples of other jobs are not even read
        return {job: _ALWAYS if job in named.listed else _NEVER for job in jobs}
    lead = leaders(jobs, named)
    runs = joined(run for job in lead for run in jobs[job].runs)
    taken = _Handover(jobs, lead).play(runs)
    found: dict[str, tuple[RoleInterval, ...]] = {}
    for job in jobs:
        if job in lead:
            found[job] = _ALWAYS
        else:
            since_ms = _shared_since(job, lead, taken, overlaps)
            found[job] = tuple(_stretches(since_ms, taken.get(job, ())))
    return found


def changed_at(roles: Roles, later: Roles, at_ms: int) -> Roles:
    """Some roles up to an instant, and others from there on."""
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
    """When samples of jobs counted and do not any more, and the other way round, by job.

    Args:
        before, after: the roles.
        jobs: what was sampled when the roles were those before.
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
    """Who takes over when those that lead are silent for an hour, and until when."""

    jobs: Jobs
    lead: Collection[str]
    found: dict[str, list[Interval]] = field(default_factory=dict)

    def play(self, runs: Iterable[Run]) -> Mapping[str, list[Interval]]:
        """When each of the other jobs is used in place of silent ones, ascending."""
        others = frozenset(self.jobs) - frozenset(self.lead)
        self._silences(list(runs), FAR_MS, [], others)
        return {job: sorted(periods) for job, periods in self.found.items()}

    def _silences(
        self, runs: list[Run], end_ms: int, before: list[Run], others: frozenset[str]
    ) -> None:
        """Fill each silence after the runs of those that lead, up to `end_ms`."""
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
        """Let those take over that were never sampled beside the ones before them.

        All that are there when the hour is over do; else whoever comes first.
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
    """Since when a job has shown what those that lead know: it is not a shard from then on."""
    found = [overlaps[job, other] for other in lead if (job, other) in overlaps]
    for other, periods in taken.items():
        if other != job and (job, other) in overlaps:
            found.append(max(overlaps[job, other], periods[0].start_ms))
    return min(found, default=FAR_MS)


def _stretches(since_ms: int, taken: Iterable[Interval]) -> Iterable[RoleInterval]:
    """A shard up to an instant, another job from there on, and in between taking over."""
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
