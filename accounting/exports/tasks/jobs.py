"""Jobs that write files: claimed, written aside, kept for a week (money.md M46).

The state is in PostgreSQL; a message only wakes a worker. A killed worker's job starts again from
the beginning: a period is one snapshot, so a part cannot be continued. A file for a bucket is sent
when it is written; what the bucket has already of it is not sent again.
"""

import shutil
import time
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import connection
from django.db.models import F, Q

from accounting.exports.models import ExportJob, ExportState
from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.bucket import BucketError, bucket_of_settings, send_file
from accounting.exports.tasks.files import (
    WriteProgress,
    WrittenFile,
    remove_parts,
    write_file,
)
from accounting.exports.tasks.request import ExportError, ExportRequest, Format
from accounting.kit.failpoints import reach
from accounting.kit.reads.database_clock import database_now
from accounting.months.reads.lines import BookingError
from accounting.months.tasks.periods import PeriodError
from accounting.months.tasks.running import book_running

log = structlog.get_logger(__name__)
KEPT = timedelta(days=7)
LEASE = timedelta(minutes=2)  # without a sign of the worker, another one starts again
SIGN_S = 2.0  # between two signs, and between two readings of progress
MOST_ATTEMPTS = 5  # a job that kills its worker each time is given up


class LostError(Exception):
    """Another worker has started this job again."""


def next_job() -> ExportJob | None:
    """Claim the oldest job that waits, or whose worker died; None if there is none."""
    now = database_now()
    due = Q(state=ExportState.QUEUED) | Q(
        state=ExportState.RUNNING, seen_at__lt=now - LEASE
    )
    for job in ExportJob.objects.filter(due).order_by("id"):
        if job.attempt >= MOST_ATTEMPTS:
            _fail(job, f"stopped {MOST_ATTEMPTS} times without an error", now)
            continue
        claimed = ExportJob.objects.filter(due, pk=job.pk, attempt=job.attempt).update(
            state=ExportState.RUNNING,
            attempt=F("attempt") + 1,
            seen_at=now,
            started_at=now,
            bytes_written=0,
            rows_written=0,
        )
        if claimed:
            job.refresh_from_db()
            return job
    return None


def run_job(job: ExportJob) -> bool:
    """Write the file of a claimed job; True if it is complete.

    A wrong request, or a folder that cannot be written, is stored as the error of the job.
    """
    folder = folder_of(job)
    try:
        if job.revision is None:
            book_running(job.period)
        folder.mkdir(parents=True, exist_ok=True)
        with closing(_Progress(job)) as progress:
            target = folder / job.file_name if job.destination else folder
            written = write_file(request_of(job), target, progress=progress)
            if job.destination:
                _send(job, written, progress)
    except (BookingError, ExportError, PeriodError, OSError) as error:
        _fail(job, str(error), database_now())
        return False
    except LostError:
        log.info("export is not written here any more", job=job.pk)
        _remove_unwanted(job)
        return False
    reach("export_written")
    now = database_now()
    done = ExportJob.objects.filter(pk=job.pk, attempt=job.attempt).update(
        state=ExportState.DONE,
        finished_at=now,
        expires_at=None if job.destination else now + KEPT,
        rows_total=written.metadata["rows"],
        rows_written=written.metadata["rows"],
        bytes_written=written.metadata["bytes"],
        file_name=written.path.name,
        sha256=written.metadata["sha256"],
        metadata=written.metadata,
        error="",
    )
    if not done:
        _remove_unwanted(job)
    elif job.destination:
        shutil.rmtree(folder, ignore_errors=True)
    return bool(done)


def _send(job: ExportJob, written: WrittenFile, progress: "_Progress") -> None:
    """Send a file to its bucket, then its metadata: with those it is complete.

    Raises:
        BucketError: as for `send_file`, or the bucket is not the one of the settings any more.
        LostError: another worker has started the job again.
    """
    bucket = bucket_of_settings()
    if bucket is None or bucket.address != job.destination:
        raise BucketError(f"{job.destination} is no longer in the settings")
    send_file(bucket, written.path, progress=progress.sign)
    send_file(bucket, written.metadata_path)


def stop_job(number: int, reason: str) -> bool:
    """Let a job fail that waits or runs; its worker stops at its next sign of life.

    Returns False if the job was finished already.
    """
    waiting = ExportJob.objects.filter(
        pk=number, state__in=(ExportState.QUEUED, ExportState.RUNNING)
    )
    return bool(
        waiting.update(
            state=ExportState.FAILED,
            attempt=F("attempt") + 1,
            finished_at=database_now(),
            error=reason,
        )
    )


def _remove_unwanted(job: ExportJob) -> None:
    """Remove what was written for a job that was stopped; of another worker's, nothing."""
    if ExportJob.objects.filter(pk=job.pk, state=ExportState.FAILED).exists():
        shutil.rmtree(folder_of(job), ignore_errors=True)


def request_of(job: ExportJob) -> ExportRequest:
    """What the job writes."""
    return ExportRequest(
        What(job.what),
        job.period,
        job.profile,
        job.team or None,
        Format(job.format),
        job.revision,
    )


def folder_of(job: ExportJob) -> Path:
    """The folder of the job's file: two jobs may have files of one name."""
    return Path(settings.EXPORT_FOLDER) / str(job.pk)


def path_of(job: ExportJob) -> Path | None:
    """The complete file; None if there is none, or not any more."""
    if job.state != ExportState.DONE:
        return None
    path = folder_of(job) / job.file_name
    return path if path.is_file() else None


def expire_jobs() -> int:
    """Remove files after a week, and parts that killed workers left; returns their number."""
    now = database_now()
    old = ExportJob.objects.filter(state=ExportState.DONE, expires_at__lte=now)
    removed = 0
    for job in old:
        shutil.rmtree(folder_of(job), ignore_errors=True)
        job.state = ExportState.EXPIRED
        job.save(update_fields=["state"])
        removed += 1
    for folder in Path(settings.EXPORT_FOLDER).glob("*/"):
        remove_parts(folder, KEPT.total_seconds(), time.time())
    return removed


def _fail(job: ExportJob, reason: str, now: datetime) -> None:
    log.warning("export failed", job=job.pk, reason=reason)
    shutil.rmtree(folder_of(job), ignore_errors=True)
    ExportJob.objects.filter(pk=job.pk, attempt=job.attempt).update(
        state=ExportState.FAILED, finished_at=now, error=reason
    )


class _Progress:
    """Stores progress and the sign of life, on a connection of its own.

    The rows are read in a read-only transaction of one moment; nobody would see progress in it.
    """

    def __init__(self, job: ExportJob) -> None:
        self._job = job
        self._connection = connection.copy()
        self._stored = 0.0
        self._last: WriteProgress | None = None

    def __call__(self, so_far: WriteProgress) -> None:
        """Store progress every two seconds.

        Raises:
            LostError: another worker has started the job again.
        """
        self._last = so_far
        if time.monotonic() - self._stored < SIGN_S:
            return
        self._stored = time.monotonic()
        values: list[Any] = [so_far.size, so_far.rows, so_far.row_count]
        values += [self._job.pk, self._job.attempt]
        with self._connection.cursor() as cursor:
            cursor.execute(
                """UPDATE accounting_exportjob
                   SET bytes_written = %s, rows_written = %s, rows_total = %s, seen_at = now()
                   WHERE id = %s AND attempt = %s""",
                values,
            )
            if cursor.rowcount == 0:
                raise LostError
        reach("export_part")

    def sign(self) -> None:
        """Store a sign of life; the file is written.

        Raises:
            LostError: another worker has started the job again.
        """
        if self._last is not None:
            self(self._last)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
