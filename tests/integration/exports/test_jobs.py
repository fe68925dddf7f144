"""Jobs that write files: queued, running, done, failed, expired; killed and started again.

Not here: what is in a file (`test_csv.py`, `test_files.py`).
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.http import HttpResponseBase
from django.http.response import StreamingHttpResponse
from django.test import RequestFactory

from accounting.exports.models import ExportJob
from accounting.exports.pages.export_files import job_answer
from accounting.exports.sql.file_tables import What
from accounting.exports.tasks import jobs
from accounting.exports.tasks.files import write_file
from accounting.exports.tasks.jobs import (
    MOST_ATTEMPTS,
    expire_jobs,
    folder_of,
    next_job,
    path_of,
    run_job,
)
from accounting.exports.tasks.request import ExportRequest, Format
from accounting.kit.reads.database_clock import database_now
from accounting.tasks import keep_exports, write_exports
from tests.integration.exports.queued_jobs import FOCUS, queued

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_job_writes_what_a_command_writes(lines: int, tmp_path: Path) -> None:
    assert lines
    job = queued()
    assert (job.state, path_of(job)) == ("queued", None)
    write_exports()
    job.refresh_from_db()
    assert job.state == "done"
    path = path_of(job)
    assert path is not None
    assert path.read_bytes() == write_file(FOCUS, tmp_path).path.read_bytes()
    assert job.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert job.bytes_written == path.stat().st_size
    assert job.rows_total == job.metadata["rows"]
    beside = json.loads((folder_of(job) / f"{job.file_name}.metadata.json").read_text())
    assert beside == job.metadata
    assert next_job() is None


def test_a_job_that_cannot_be_written_fails_with_its_reason(
    lines: int, folder: Path
) -> None:
    assert lines
    job = queued()
    folder.write_text("a file where a folder should be")
    write_exports()
    job.refresh_from_db()
    assert job.state == "failed"
    assert "exports" in job.error
    assert job.finished_at is not None


def test_files_expire_after_a_week(lines: int) -> None:
    assert lines
    job = queued()
    write_exports()
    assert expire_jobs() == 0
    ExportJob.objects.update(expires_at=database_now() - timedelta(seconds=1))
    keep_exports()
    job.refresh_from_db()
    assert (job.state, path_of(job)) == ("expired", None)
    assert not folder_of(job).exists()


def test_progress_is_stored_while_it_runs(
    lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lines
    monkeypatch.setattr(jobs, "SIGN_S", 0)
    seen = []
    other = connection.copy()  # as a page reads it: not within the snapshot

    def look(_name: str) -> None:
        with other.cursor() as cursor:
            cursor.execute(
                "SELECT state, bytes_written, rows_total FROM accounting_exportjob"
            )
            seen.append(cursor.fetchone())

    monkeypatch.setattr(jobs, "reach", look)
    queued()
    write_exports()
    other.close()
    state, size, rows = seen[0]
    assert state == "running"
    assert size > 0
    assert rows > 100


KILLED = """
import django
django.setup()
from accounting.exports.tasks import jobs
jobs.SIGN_S = 0
jobs.run_job(jobs.next_job())
"""


@pytest.mark.parametrize("place", ["export_part", "export_written"])
def test_a_killed_worker_s_job_starts_again(
    lines: int, folder: Path, place: str
) -> None:
    assert lines
    job = queued()
    database = connection.settings_dict
    address = (
        f"postgres://{database['USER']}:{database['PASSWORD']}@/{database['NAME']}"
        f"?host={database['HOST']}"
    )
    if database["PORT"]:
        address += f"&port={database['PORT']}"
    ended = subprocess.run(
        [sys.executable, "-c", KILLED],
        check=False,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "portal.settings",
            "SECRET_KEY": "x" * 40,
            "DATABASE_URL": address,
            "REDIS_URL": "redis://127.0.0.1:1/0",
            "EXPORT_FOLDER": str(folder),
            "GPU_LEDGER_FAILPOINT": place,
        },
        capture_output=True,
        timeout=60,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()[-2000:]
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("running", 1)
    assert path_of(job) is None
    assert next_job() is None  # its worker may still live
    ExportJob.objects.update(seen_at=database_now() - jobs.LEASE * 2)
    write_exports()
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("done", 2)
    path = path_of(job)
    assert path is not None
    assert hashlib.sha256(path.read_bytes()).hexdigest() == job.sha256


def test_a_worker_that_lost_its_job_stores_nothing(
    lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lines
    monkeypatch.setattr(jobs, "SIGN_S", 0)
    queued()
    mine = next_job()
    assert mine is not None
    ExportJob.objects.update(attempt=2)  # another worker has started it again
    assert not run_job(mine)
    assert ExportJob.objects.get().state == "running"


def test_a_job_that_kills_its_worker_is_given_up(lines: int) -> None:
    assert lines
    job = queued()
    long_ago = database_now() - jobs.LEASE * 2
    ExportJob.objects.update(state="running", attempt=MOST_ATTEMPTS, seen_at=long_ago)
    assert next_job() is None
    job.refresh_from_db()
    assert job.state == "failed"


def body_of(answer: HttpResponseBase) -> bytes:
    assert isinstance(answer, StreamingHttpResponse)
    return b"".join(bytes(part) for part in answer)


@pytest.mark.parametrize(
    ("wanted", "status", "first", "after"),
    [
        ("", 200, 0, None),
        ("bytes=0-99", 206, 0, 100),
        ("bytes=100-", 206, 100, None),
        ("bytes=-50", 206, -50, None),
        ("bytes=0-999999999", 200, 0, None),
        ("bytes=0-1,5-6", 200, 0, None),
        ("lines=1-2", 200, 0, None),
    ],
)
def test_a_download_continues_with_a_range(
    lines: int, wanted: str, status: int, first: int, after: int | None
) -> None:
    assert lines
    job = queued()
    write_exports()
    job.refresh_from_db()
    path = path_of(job)
    assert path is not None
    headers = {"Range": wanted} if wanted else {}
    answer = job_answer(RequestFactory(headers=headers).get("/"), job)
    data = path.read_bytes()[first:after]
    assert answer.status_code == status
    assert answer["ETag"] == f'"{job.sha256}"'
    assert answer["Content-Length"] == str(len(data))
    assert body_of(answer) == data


def test_ranges_outside_known_files_and_other_versions(lines: int) -> None:
    assert lines
    job = queued()
    assert job_answer(RequestFactory().get("/"), job).status_code == 409
    write_exports()
    job.refresh_from_db()
    etag = f'"{job.sha256}"'

    def code(**headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return job_answer(RequestFactory(headers=named).get("/"), job).status_code

    assert code(Range="bytes=999999999-") == 416
    assert code(If_None_Match=etag) == 304
    assert code(Range="bytes=0-1", If_Range=etag) == 206
    assert code(Range="bytes=0-1", If_Range='"another"') == 200
    shutil.rmtree(folder_of(job))
    assert code() == 410


def test_each_format_can_be_a_job(lines: int) -> None:
    assert lines
    for format_ in Format:
        queued(ExportRequest(What.CHARGES, "2026-10", format=format_))
    write_exports()
    assert {job.state for job in ExportJob.objects.all()} == {"done"}
