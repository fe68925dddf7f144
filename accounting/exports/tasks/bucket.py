"""Files sent to an S3-compatible bucket: complete or not at all, and checked (money.md M46).

Needs the extra `s3`. Small files are one request. Larger ones are sent in parts: after a failure,
the next upload of the same file keeps the parts that the bucket has already.
"""

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings

from accounting.exports.tasks.request import ExportError

PART_BYTES = 16 << 20  # of a part, held in memory; a bucket accepts 10,000 of them
CONNECT_S, READ_S = 10, 60  # for each of the attempts
ATTEMPTS = 5


class BucketError(ExportError):
    """The bucket cannot be reached, refuses the file, or has another one than was sent."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Where files are sent.

    Attributes:
        prefix: of the names of objects, without slashes at its ends; "" for none.
        endpoint: the address of a service; "" for that of AWS.
        key_id, secret: "" for the credentials of the process: its environment, files, or role.
    """

    name: str
    prefix: str
    endpoint: str
    region: str
    key_id: str
    secret: str

    @property
    def address(self) -> str:
        """As people read it; without credentials."""
        where = "/".join(filter(None, (self.name, self.prefix)))
        at = f" at {self.endpoint}" if self.endpoint else ""
        return f"s3://{where}{at}"

    def key(self, name: str) -> str:
        """The name of an object."""
        return f"{self.prefix}/{name}" if self.prefix else name


def bucket_of_settings() -> Bucket | None:
    """The bucket of scheduled files; None if none is set."""
    address: str = settings.SCHEDULED_EXPORT_BUCKET
    if not address:
        return None
    name, _, prefix = address.removeprefix("s3://").partition("/")
    return Bucket(
        name,
        prefix.strip("/"),
        settings.S3_ENDPOINT,
        settings.S3_REGION,
        settings.S3_ACCESS_KEY_ID,
        settings.S3_SECRET_ACCESS_KEY,
    )


def send_file(
    bucket: Bucket, path: Path, *, progress: Callable[[], None] = lambda: None
) -> None:
    """Send a file under its name; an object of that name is replaced when the file has arrived.

    The bucket checks the SHA-256 of what it receives, and what it has then is compared again.

    Args:
        progress: called after each part.

    Raises:
        BucketError: see there. Parts that arrived stay for the next upload.
    """
    with _connected(bucket) as client:
        upload = _Upload(client, bucket, path, progress)
        if path.stat().st_size <= PART_BYTES:
            upload.whole()
        else:
            upload.in_parts()


@contextmanager
def _connected(bucket: Bucket) -> Iterator[Any]:
    try:  # here, because the web process has no use for it
        import boto3  # noqa: PLC0415  # see above
        from botocore.config import Config  # noqa: PLC0415  # see above
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # see above
    except ModuleNotFoundError as error:
        raise BucketError(
            "a bucket needs boto3: install GPU Ledger with the extra 's3'"
        ) from error
    options = Config(
        connect_timeout=CONNECT_S,
        read_timeout=READ_S,
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        # Checksums are given below: services differ in those that clients add on their own.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path" if bucket.endpoint else "auto"},
    )
    try:
        client = boto3.session.Session().client(
            "s3",
            endpoint_url=bucket.endpoint or None,
            region_name=bucket.region,
            aws_access_key_id=bucket.key_id or None,
            aws_secret_access_key=bucket.secret or None,
            config=options,
        )
        yield client
    except (BotoCoreError, ClientError) as error:
        raise BucketError(f"{bucket.address}: {error}") from error


class _Upload:
    """One file on its way."""

    def __init__(
        self, client: Any, bucket: Bucket, path: Path, progress: Callable[[], None]
    ) -> None:
        self._client = client
        self._bucket = bucket
        self._path = path
        self._progress = progress
        self._object = {"Bucket": bucket.name, "Key": bucket.key(path.name)}

    def whole(self) -> None:
        """In one request."""
        data = self._path.read_bytes()
        digest = _text(sha256(data).digest())
        self._client.put_object(**self._object, Body=data, ChecksumSHA256=digest)
        self._check(digest)

    def in_parts(self) -> None:
        """In parts; those that an interrupted upload of the same bytes has sent are kept."""
        number_of_upload, known = self._continued()
        sent, digests = [], []
        for number, data in enumerate(self._parts(), start=1):
            digest = sha256(data).digest()
            digests.append(digest)
            tag = known.get((number, _text(digest)))
            if tag is None:
                tag = self._send_part(number_of_upload, number, data)
            sent.append(
                {"PartNumber": number, "ETag": tag, "ChecksumSHA256": _text(digest)}
            )
            self._progress()
        self._client.complete_multipart_upload(
            **self._object, UploadId=number_of_upload, MultipartUpload={"Parts": sent}
        )
        whole = _text(sha256(b"".join(digests)).digest())
        self._check(f"{whole}-{len(digests)}")

    def _parts(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            while data := file.read(PART_BYTES):
                yield data

    def _send_part(self, upload: str, number: int, data: bytes) -> str:
        answer = self._client.upload_part(
            **self._object,
            UploadId=upload,
            PartNumber=number,
            Body=data,
            ChecksumSHA256=_text(sha256(data).digest()),
        )
        return str(answer["ETag"])

    def _continued(self) -> tuple[str, dict[tuple[int, str], str]]:
        """The latest upload of this object that is not complete, with its parts; else a new one."""
        name, key = self._object["Bucket"], self._object["Key"]
        pages = self._client.get_paginator("list_multipart_uploads")
        found = [
            one
            for page in pages.paginate(Bucket=name, Prefix=key)
            for one in page.get("Uploads", [])
            if one["Key"] == key
        ]
        if not found:
            begun = self._client.create_multipart_upload(
                **self._object, ChecksumAlgorithm="SHA256"
            )
            return str(begun["UploadId"]), {}
        latest = max(found, key=lambda one: one["Initiated"])["UploadId"]
        pages = self._client.get_paginator("list_parts")
        parts = {
            (part["PartNumber"], part.get("ChecksumSHA256", "")): part["ETag"]
            for page in pages.paginate(**self._object, UploadId=latest)
            for part in page.get("Parts", [])
        }
        return str(latest), parts

    def _check(self, digest: str) -> None:
        """Compare what the bucket has with what was sent."""
        found = self._client.head_object(**self._object, ChecksumMode="ENABLED")
        size = self._path.stat().st_size
        has = found.get("ChecksumSHA256", digest)  # some services keep none
        if found["ContentLength"] != size or has != digest:
            raise BucketError(
                f"{self._bucket.address}: {self._object['Key']} is not what was sent: "
                f"{found['ContentLength']} bytes of {size}, SHA-256 {has} instead of {digest}"
            )


def _text(digest: bytes) -> str:
    return base64.b64encode(digest).decode()
