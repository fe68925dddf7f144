"""Files of every closed period, in a folder or a bucket that other systems read (money.md M46).

`SCHEDULED_EXPORTS` lists them, such as `focus-1.4:csv, statements:xlsx`. A worker writes those that
are missing within an hour of a close: a later close of a reopened period gives files of its own.
Each file is a job, so that the page of exports shows what became of it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings

from accounting.exports.models import ExportJob, ExportState
from accounting.exports.rules.focus.columns import PROFILES
from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.bucket import bucket_of_settings
from accounting.exports.tasks.files import WrittenFile, write_file
from accounting.exports.tasks.metadata import metadata_name
from accounting.exports.tasks.request import ExportError, ExportRequest, Format, prepare
from accounting.kit.audit import SYSTEM, act
from accounting.kit.reads.database_clock import database_now
from accounting.months.tasks.periods import closed_revisions

log = structlog.get_logger(__name__)


def write_scheduled() -> list[WrittenFile]:
    """Write the files that are missing in the folder.

    A file that cannot be written is a failed job, and tried again the next time.
    """
    folder = settings.SCHEDULED_EXPORT_FOLDER
    if folder is None:
        return []
    missing = [
        (request, name)
        for request, name in scheduled_requests(settings.SCHEDULED_EXPORTS)
        if not (Path(folder) / metadata_name(name)).exists()
    ]
    written = (_write(request, Path(folder), name) for request, name in missing)
    return [one for one in written if one is not None]


def _write(request: ExportRequest, folder: Path, name: str) -> WrittenFile | None:
    now = database_now()
    found: dict[str, Any] = {"file_name": name, "started_at": now, "finished_at": now}
    written = None
    try:
        written = write_file(request, folder / name)
    except ExportError as error:
        log.warning("scheduled export failed", file=name, reason=str(error))
        found |= {"state": ExportState.FAILED, "error": str(error)}
    else:
        found |= {
            "state": ExportState.DONE,
            "rows_total": written.metadata["rows"],
            "rows_written": written.metadata["rows"],
            "bytes_written": written.metadata["bytes"],
            "sha256": written.metadata["sha256"],
            "metadata": written.metadata,
            "error": "",
        }
    with act(SYSTEM, f"scheduled export of {request.period}"):
        ExportJob.objects.update_or_create(
            **_key(request, str(folder)),
            defaults=found,
            create_defaults=found | {"requested_at": now},
        )
    return written


def queue_for_bucket() -> int:
    """Queue the files that the bucket lacks, and those that could not be sent; their number."""
    bucket = bucket_of_settings()
    if bucket is None:
        return 0
    queued = 0
    for request, name in scheduled_requests(settings.SCHEDULED_EXPORTS):
        with act(SYSTEM, f"scheduled export of {request.period}"):
            job, is_new = ExportJob.objects.get_or_create(
                **_key(request, bucket.address),
                defaults={"file_name": name, "requested_at": database_now()},
            )
        if is_new:
            queued += 1
        else:
            queued += ExportJob.objects.filter(
                pk=job.pk, state=ExportState.FAILED
            ).update(state=ExportState.QUEUED, attempt=0)
    return queued


def _key(request: ExportRequest, destination: str) -> dict[str, Any]:
    return {
        "destination": destination,
        "what": request.what,
        "period": request.period,
        "revision": request.revision,
        "profile": request.profile,
        "format": request.format,
    }


def scheduled_requests(kinds: Sequence[str]) -> Iterator[tuple[ExportRequest, str]]:
    """The files of all closed periods, with their names."""
    for revision in closed_revisions():
        for kind in kinds:
            content, _, ending = kind.partition(":")
            is_focus = content in PROFILES
            request = ExportRequest(
                What.FOCUS if is_focus else What(content),
                revision.period,
                content if is_focus else "focus-1.4",
                format=Format(ending),
                revision=revision.revision,
            )
            yield request, prepare(request).name
