"""Requests of files that a worker writes (money.md M46)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from accounting.exports.models import ExportJob, JournalSettings
from accounting.exports.tasks.jobs import request_of, stop_job
from accounting.exports.tasks.request import ExportRequest, prepare
from accounting.kit.audit import SYSTEM, Actor, act
from accounting.kit.outcomes import RefusalCode, Refused
from accounting.kit.wakeup import WRITE_EXPORTS, wake_worker

MOST_QUEUED = 20  # of one person: jobs are large, and workers have other work


def set_journal(settings: Mapping[str, Any]) -> bool:
    """Set the column map of journals; True if it is another one. In the caller's `act`.

    Args:
        settings: the fields of a `JournalMap`.
    """
    found = JournalSettings.objects.first()
    if found is not None and found.settings == settings:
        return False
    JournalSettings.objects.update_or_create(
        defaults={"settings": dict(settings)}, id=1
    )
    return True


def request_export(request: ExportRequest, *, actor: Actor, now: datetime) -> ExportJob:
    """Queue a file and wake a worker; without Redis, beat does so within a minute.

    Args:
        request: checked here, so that a wrong one fails at once.
        actor: the person, or the name of a command.
        now: time of the request.

    Raises:
        BookingError, ExportError: as for `exports.tasks.request.prepare`.
        Refused: 20 jobs of this person are waiting or running.
    """
    prepare(request)
    person = None if isinstance(actor, str) else actor
    if person is not None:
        unfinished = ExportJob.objects.filter(
            requested_by=person.pk, state__in=("queued", "running")
        )
        if unfinished.count() >= MOST_QUEUED:
            raise Refused(
                f"{MOST_QUEUED} exports of yours are not finished: wait for one of them",
                RefusalCode.CONFLICT,
            )
    with act(actor or SYSTEM, f"export {request.what} of {request.period}"):
        wake_worker(WRITE_EXPORTS)
        return ExportJob.objects.create(
            what=request.what,
            period=request.period,
            revision=request.revision,
            profile=request.profile,
            team=request.team or "",
            format=request.format,
            requested_by_id=None if person is None else person.pk,
            requested_at=now,
        )


def repeat_export(job: ExportJob, *, actor: Actor, now: datetime) -> ExportJob:
    """Request the file of a failed or expired job again, as a job of its own.

    Raises:
        BookingError, ExportError, Refused: as for `request_export`.
    """
    return request_export(request_of(job), actor=actor, now=now)


def cancel_export(job: ExportJob, *, actor: Actor) -> bool:
    """End a job that waits or runs: it fails with the name of who canceled it.

    Its worker stops within seconds, and no file remains. Returns False if the job was finished
    already; then nothing changes.
    """
    name = actor if isinstance(actor, str) else actor.get_username()
    with act(actor, f"cancel export {job.pk}"):
        return stop_job(job.pk, f"canceled by {name}")
