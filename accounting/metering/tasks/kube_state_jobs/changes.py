"""Effects of a change in which samples of kube-state count (rules.md N40).

A person accepted a job, or older data arrived and changed the jobs of the first hour. The evidence
of a job while it counted is removed, as far back as samples are available; the windows of that time
become due again and read it from the jobs that count now.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection, transaction

from accounting.core.interval import FAR_MS, HOUR_MS, Interval, union
from accounting.core.issue import Issue
from accounting.kit.locks import lock
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.data_health.known_kube_state_jobs import (
    KnownJobs,
    known_jobs,
    stored_named,
)
from accounting.metering.rules.inventory.kube_state.job_samples import (
    ISSUES,
    codes_of,
    counting,
    other_job_issues,
)
from accounting.metering.rules.inventory.kube_state.jobs import (
    JobRecord,
    JobRole,
    Roles,
    counted_periods,
    differences,
)
from accounting.metering.rules.samples.series import Reading
from accounting.metering.tasks.kube_state_jobs.store import merge_into_stored
from accounting.metering.tasks.kube_state_jobs.withdrawal import withdraw
from accounting.metering.tasks.reading import scrape_buffer
from accounting.metering.tasks.windows import schedule

Changes = Mapping[str, Sequence[Interval]]  # by job


@dataclass(frozen=True, slots=True)
class CountedReadings:
    """Readings with the samples of kube-state that count.

    Attributes:
        readings: without the samples that do not count.
        again: the time that must be recomputed, because other samples count than before.
    """

    readings: Sequence[Reading]
    again: Sequence[Interval]
    _known: KnownJobs
    _roles: Roles
    _all: Sequence[Reading]

    def issues(self, period: Interval, added: Mapping[str, str]) -> list[Issue]:
        """Issues of the jobs other than the leading ones, in a period.

        Args:
            period: half-open.
            added: resources that an administrator added, by kube-state's spelling.
        """
        if all(
            s.role is JobRole.LEADS for found in self._roles.values() for s in found
        ):
            return []
        shared = self._known.shared(self._roles)
        return other_job_issues(self._all, self._roles, period, shared, added)


def counted_readings(
    cluster: Cluster, readings: Sequence[Reading], period: Interval, *, is_known: bool
) -> CountedReadings:
    """Merge the jobs of readings into the stored ones, and remove samples that do not count.

    In the current transaction, under the cluster's `evidence` lock.

    Args:
        cluster: of the jobs.
        readings: of all its active sources, with their margins.
        period: of the samples that are merged.
        is_known: they were merged before.
    """
    known = known_jobs(cluster.pk)
    now = known if is_known else merge_into_stored(cluster, known, readings, period)
    roles, again = _apply_roles(cluster, known, now)
    return CountedReadings(counting(readings, roles), again, now, roles, readings)


def apply_accepted_jobs(cluster: Cluster) -> Interval | None:
    """Apply the current accepted and listed jobs; no samples are read.

    Windows whose samples are available become due again.

    Returns:
        The time that is recomputed; None if nothing changed.
    """
    known = known_jobs(cluster.pk)
    if known.is_in_force or not known.sides:
        return None  # the usual case: does not wait for the lock
    with transaction.atomic():
        lock("evidence", cluster.pk)
        known = known_jobs(cluster.pk)
        _, again = _apply_roles(cluster, known, known)
        schedule.mark_existing(cluster.pk, again, "jobs")
    return Interval(again[0].start_ms, again[-1].end_ms) if again else None


def _apply_roles(
    cluster: Cluster, known: KnownJobs, now: KnownJobs
) -> tuple[Roles, list[Interval]]:
    """The current roles of jobs, and the time that they change."""
    before = known.roles()
    if not known.is_in_force:
        Cluster.objects.filter(pk=cluster.pk).update(
            kube_jobs_in_force=stored_named(known.wanted)
        )
    elif known is now:
        return before, []
    roles = replace(now, named=known.wanted).roles()
    return roles, changed(cluster, before, roles, known.records())


def changed(
    cluster: Cluster, before: Roles, after: Roles, jobs: Mapping[str, JobRecord]
) -> list[Interval]:
    """Apply a change in which samples count; returns the time that must be recomputed.

    In the current transaction, under the cluster's `evidence` lock.

    Args:
        cluster: of the jobs.
        before, after: the roles of its jobs.
        jobs: the samples that were merged with the roles before.
    """
    lost, gained = differences(before, after, jobs)
    if not lost and not gained:
        return []
    _resolve(cluster.pk, codes_of(after, jobs))
    at_hand = Interval(schedule.at_hand_from(cluster.pk), FAR_MS)
    found = _at_hand(gained, at_hand)
    for job, periods in lost.items():
        kept = _at_hand({job: periods}, at_hand)
        if kept:
            # an hour more on each side, so that adjoining time is read again as well
            wide = {job: [_widened(period) for period in kept]}
            found += _at_hand(wide, at_hand)
            is_gone = not counted_periods(after, job)
            found += withdraw(
                cluster.pk, job, kept, union(_at_hand(wide, at_hand)), is_gone=is_gone
            )
    again = union(found)
    scrape_buffer.unfold(cluster.pk, again)
    return again


def _widened(period: Interval) -> Interval:
    return Interval(max(0, period.start_ms - HOUR_MS), period.end_ms + HOUR_MS)


def _at_hand(changes: Changes, at_hand: Interval) -> list[Interval]:
    return [
        part
        for periods in changes.values()
        for period in periods
        if (part := period.intersection(at_hand)) is not None
    ]


_RESOLVE = """
    UPDATE accounting_dataissue SET resolved_at = clock_timestamp()
    WHERE cluster_id = %(cluster)s AND resolved_at IS NULL AND code = ANY(%(codes)s)
      AND NOT EXISTS (SELECT FROM unnest(%(had)s::text[], %(whose)s::text[])
                          AS f(code, subject)
                      WHERE f.code = accounting_dataissue.code
                        AND f.subject = accounting_dataissue.subject)
"""


def _resolve(cluster_id: int, left: Iterable[tuple[str, str]]) -> None:
    """Resolve the issues of jobs except for the remaining ones, by code and job."""
    had, whose = [list(column) for column in zip(*left, strict=True)] or ([], [])
    values: dict[str, Any] = {
        "cluster": cluster_id,
        "codes": ISSUES,
        "had": had,
        "whose": whose,
    }
    with connection.cursor() as cursor:
        cursor.execute(_RESOLVE, values)
