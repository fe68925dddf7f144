"""Scheduled files in a bucket of a real S3 server: sent, checked, continued, tried again.

Not here: what is in a file (`test_csv.py`, `test_files.py`); other services than versitygw.
"""

import base64
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from accounting.exports.models import ExportJob
from accounting.exports.reads import export_row
from accounting.exports.tasks import bucket as bucket_module
from accounting.exports.tasks.bucket import (
    Bucket,
    BucketError,
    bucket_of_settings,
    send_file,
)
from accounting.exports.tasks.jobs import folder_of, path_of
from accounting.tasks import keep_exports, write_exports
from tests.s3_server import KEY_ID, SECRET, serving

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.s3]
FILE = "gpu-ledger_focus-1.4_2026-10_r1.csv"
MIB = 1 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of an S3 server, and the folder of its buckets."""
    folder = tmp_path_factory.mktemp("s3")
    with serving(folder, "finance") as address:
        yield address, folder / "data"


@pytest.fixture
def arrived(server: tuple[str, Path], settings: Settings, tmp_path: Path) -> Path:
    """The folder in which objects of the bucket in the settings appear: one for each test."""
    address, data = server
    settings.SCHEDULED_EXPORT_BUCKET = f"s3://finance/{tmp_path.name}"
    settings.S3_ENDPOINT = address
    settings.S3_ACCESS_KEY_ID = KEY_ID
    settings.S3_SECRET_ACCESS_KEY = SECRET
    settings.SCHEDULED_EXPORTS = ["focus-1.4:csv", "focus-1.2:parquet"]
    return data / "finance" / tmp_path.name


def settings_bucket() -> Bucket:
    found = bucket_of_settings()
    assert found is not None
    return found


def test_files_of_a_closed_month_are_sent_once(lines: int, arrived: Path) -> None:
    assert lines
    keep_exports()
    keep_exports()
    assert ExportJob.objects.count() == 2
    write_exports()
    names = {path.name for path in arrived.iterdir()}
    other = "gpu-ledger_focus-1.2_2026-10_r1.parquet"
    assert names == {
        one + end for one in (FILE, other) for end in ("", ".metadata.json")
    }
    for job in ExportJob.objects.all():
        data = (arrived / job.file_name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == job.sha256
        row = export_row(job)
        assert (row.state, row.expires_at, row.error) == ("done", None, "")
        assert row.destination == settings_bucket().address
        assert SECRET not in row.destination
        assert not folder_of(job).exists()
        assert path_of(job) is None
    keep_exports()
    assert set(ExportJob.objects.values_list("state", flat=True)) == {"done"}


def test_what_could_not_be_sent_is_tried_again(
    lines: int, arrived: Path, settings: Settings
) -> None:
    assert lines
    settings.SCHEDULED_EXPORTS = ["focus-1.4:csv"]
    settings.S3_SECRET_ACCESS_KEY = "another"  # not one
    keep_exports()
    write_exports()
    job = ExportJob.objects.get()
    assert job.state == "failed"
    assert "SignatureDoesNotMatch" in job.error
    assert SECRET not in job.error
    assert not folder_of(job).exists()
    settings.S3_SECRET_ACCESS_KEY = SECRET
    keep_exports()
    write_exports()
    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")
    assert (arrived / FILE).exists()


def test_a_bucket_that_left_the_settings_gets_nothing(
    lines: int, arrived: Path, settings: Settings
) -> None:
    assert lines
    keep_exports()
    settings.SCHEDULED_EXPORT_BUCKET = ""
    write_exports()
    assert {job.state for job in ExportJob.objects.all()} == {"failed"}
    assert "no longer in the settings" in ExportJob.objects.all()[0].error
    assert not arrived.exists()


def test_an_interrupted_upload_continues_where_it_was(
    arrived: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        bucket_module, "PART_BYTES", 5 * MIB
    )  # the smallest that S3 servers take
    path = tmp_path / "large.csv"
    path.write_bytes(os.urandom(5 * MIB) * 2 + b"end")
    sent: list[int] = []
    send_part = bucket_module._Upload._send_part  # counted, not replaced

    def counted(self: object, upload: str, number: int, data: bytes) -> str:
        sent.append(number)
        return send_part(self, upload, number, data)  # type: ignore[arg-type]

    monkeypatch.setattr(bucket_module._Upload, "_send_part", counted)

    def stop() -> None:
        if len(sent) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        send_file(settings_bucket(), path, progress=stop)
    assert not (arrived / path.name).exists()  # never a part
    send_file(settings_bucket(), path)
    assert sent == [1, 2, 3]
    assert (arrived / path.name).read_bytes() == path.read_bytes()


def test_another_file_replaces_parts_that_were_left(
    arrived: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_module, "PART_BYTES", 5 * MIB)
    path = tmp_path / "large.csv"
    path.write_bytes(os.urandom(6 * MIB))

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        send_file(settings_bucket(), path, progress=stop)
    path.write_bytes(os.urandom(6 * MIB))
    send_file(settings_bucket(), path)
    assert (arrived / path.name).read_bytes() == path.read_bytes()


def test_a_file_that_arrives_changed_is_refused(
    arrived: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "small.csv"
    path.write_bytes(b"a,b\n1,2\n")
    wrong = base64.b64encode(hashlib.sha256(b"other").digest()).decode()
    monkeypatch.setattr(bucket_module, "_text", lambda _digest: wrong)
    with pytest.raises(BucketError, match=r"(?i)checksum|digest"):
        send_file(settings_bucket(), path)
    assert not (arrived / path.name).exists()


def test_a_service_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "small.csv"
    path.write_bytes(b"a\n")
    away = Bucket("finance", "", "http://127.0.0.1:1", "us-east-1", KEY_ID, SECRET)
    with pytest.raises(BucketError, match="s3://finance at http://127"):
        send_file(away, path)
