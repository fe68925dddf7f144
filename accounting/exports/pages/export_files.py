"""Downloads of exported files: whole or in ranges, with a strong ETag (money.md M46)."""

import re
from collections.abc import Iterator
from pathlib import Path

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.http.response import StreamingHttpResponse

from accounting.exports.models import ExportJob, ExportState
from accounting.exports.tasks.jobs import path_of
from accounting.exports.tasks.request import CONTENT_TYPES, Format
from accounting.exports.tasks.stream import ExportStream
from accounting.kit.pages.etags import is_known

PART_BYTES = 262_144
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


def stream_answer(found: ExportStream) -> StreamingHttpResponse:
    """A file that is written while it is sent."""
    answer = StreamingHttpResponse(iter(found), content_type=found.content_type)
    answer["Content-Disposition"] = f'attachment; filename="{found.name}"'
    answer["Cache-Control"] = "private, no-store"
    return answer


def job_answer(request: HttpRequest, job: ExportJob) -> HttpResponseBase:
    """The file of a job: 200, 206 for a range, 304 if it is known, 416 for a wrong range.

    409 if it is not complete, 410 if it has expired. Who may read the job is checked before.
    """
    path = path_of(job)
    if path is None:
        is_gone = job.state in (ExportState.EXPIRED, ExportState.DONE)
        return HttpResponse(status=410 if is_gone else 409)
    etag = f'"{job.sha256}"'
    if is_known(request, etag):
        return _described(HttpResponse(status=304), job, etag)
    size = path.stat().st_size
    wanted = _wanted(request, etag, size)
    if wanted is None:
        answer = HttpResponse(status=416)
        answer["Content-Range"] = f"bytes */{size}"
        return answer
    first, after = wanted
    is_part = (first, after) != (0, size)
    parts = iter(()) if request.method == "HEAD" else _parts(path, first, after)
    sent = StreamingHttpResponse(parts, status=206 if is_part else 200)
    sent["Content-Length"] = str(after - first)
    if is_part:
        sent["Content-Range"] = f"bytes {first}-{after - 1}/{size}"
    return _described(sent, job, etag)


def _described(answer: HttpResponseBase, job: ExportJob, etag: str) -> HttpResponseBase:
    answer["ETag"] = etag
    answer["Accept-Ranges"] = "bytes"
    answer["Cache-Control"] = "private, no-store"
    answer["Content-Type"] = CONTENT_TYPES[Format(job.format)]
    answer["Content-Disposition"] = f'attachment; filename="{job.file_name}"'
    return answer


def _wanted(request: HttpRequest, etag: str, size: int) -> tuple[int, int] | None:
    """First byte and the one after the last; None if the range is outside of the file.

    Several ranges, or another unit, are answered with the whole file, as HTTP allows.
    """
    text = request.headers.get("Range", "")
    match = _RANGE.fullmatch(text)
    if match is None or request.headers.get("If-Range", etag) != etag:
        return 0, size
    first, last = match[1], match[2]
    if not first and not last:
        return 0, size
    if not first:
        start = max(0, size - int(last))
        return (start, size) if int(last) else None
    after = min(int(last) + 1, size) if last else size
    return (int(first), after) if int(first) < after else None


def _parts(path: Path, first: int, after: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(first)
        left = after - first
        while left > 0 and (part := file.read(min(PART_BYTES, left))):
            left -= len(part)
            yield part
