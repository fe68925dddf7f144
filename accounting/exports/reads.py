"""Files that workers write, as they are listed (money.md M46)."""

from datetime import datetime

from django.db.models import QuerySet

from accounting.access.models.teams import Team
from accounting.access.scope import Scope
from accounting.exports.models import ExportJob, ExportState
from accounting.kit.reads.paging import ALL_ROWS, Key, Seek, seek_rows
from accounting.kit.rows import TextOrNull, column, listed

UNFINISHED = frozenset({ExportState.QUEUED, ExportState.RUNNING})
AGAIN = frozenset({ExportState.FAILED, ExportState.EXPIRED})


@listed("Export")
class ExportRow:
    """A file and how far it is.

    Attributes:
        requested_by: a user name; "" for a worker or a command.
        rows_written: of CSV, so far; of other formats 0 until it is done.
        destination: folder or bucket of a scheduled file; "" for a file to download.
    """

    id: int = column()
    what: str = column()
    period: str = column()
    revision: int | None = column("null: the one in effect when it is written")
    profile: TextOrNull = column("of FOCUS rows")
    team: TextOrNull = column("null for all teams")
    format: str = column()
    state: str = column("queued, running, done, failed or expired")
    requested_by: TextOrNull = column()
    requested_at: datetime = column()
    started_at: datetime | None = column()
    finished_at: datetime | None = column()
    expires_at: datetime | None = column()
    row_count: int = column("so far")
    size: int = column("bytes so far")
    file_name: TextOrNull = column()
    sha256: TextOrNull = column("of the complete file; also its ETag")
    error: TextOrNull = column("why it failed")
    rows_written: int
    destination: str

    @property
    def is_unfinished(self) -> bool:
        """Whether it can be canceled."""
        return self.state in UNFINISHED

    @property
    def may_be_repeated(self) -> bool:
        """Whether there is no file to download, and will be none."""
        return self.state in AGAIN and not self.destination

    @property
    def share(self) -> float | None:
        """How much of the rows is written, 0 to 1; None where that is not known."""
        if not self.rows_written or not self.row_count:
            return None
        return self.rows_written / self.row_count


def export_key(row: ExportRow) -> Key:
    """The position of a job in `export_rows`."""
    return (row.id,)


def export_rows(scope: Scope, seek: Seek = ALL_ROWS) -> list[ExportRow]:
    """Jobs that a scope may read, newest first.

    Finance and administrators read all of them, leads those of the teams that they lead: also jobs
    that another person requested.
    """
    return [export_row(job) for job in seek_rows(_readable(scope), ("-pk",), seek)]


def export_job(scope: Scope, number: int) -> ExportJob | None:
    """One job; None if there is none that the scope may read."""
    return _readable(scope).filter(pk=number).first()


def _readable(scope: Scope) -> QuerySet[ExportJob]:
    jobs = ExportJob.objects.select_related("requested_by")
    if scope.sees_all:
        return jobs
    return jobs.filter(
        team__in=Team.objects.filter(pk__in=scope.lead_of).values("slug")
    )


def export_row(job: ExportJob) -> ExportRow:
    """One job."""
    person = job.requested_by
    return ExportRow(
        id=job.pk,
        what=job.what,
        period=job.period,
        revision=job.revision,
        profile=job.profile if job.what == "focus" else "",
        team=job.team,
        format=job.format,
        state=job.state,
        requested_by="" if person is None else person.get_username(),
        requested_at=job.requested_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        expires_at=job.expires_at,
        row_count=job.rows_total,
        rows_written=job.rows_written,
        size=job.bytes_written,
        file_name=job.file_name,
        sha256=job.sha256,
        error=job.error,
        destination=job.destination,
    )
