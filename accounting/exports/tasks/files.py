"""Files on disk: written aside, and renamed when they are complete (money.md M45)."""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from accounting.exports.tasks.csv_rows import csv_parts_quickly, snapshot
from accounting.exports.tasks.metadata import metadata_name, metadata_of, metadata_text
from accounting.exports.tasks.request import (
    Export,
    ExportError,
    ExportRequest,
    Format,
    prepare,
)
from accounting.exports.tasks.stream import parts_of

PART = ".part"  # ending of a file that is not complete


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A complete file and its metadata file."""

    path: Path
    metadata_path: Path
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WriteProgress:
    """How far a file is written.

    Attributes:
        size: bytes so far.
        rows: so far, of CSV only, else 0. Lines are counted: a text with line breaks counts more
            than once.
        row_count: of the complete file.
    """

    size: int
    rows: int
    row_count: int


def write_file(
    request: ExportRequest,
    target: Path,
    *,
    progress: Callable[[WriteProgress], None] | None = None,
) -> WrittenFile:
    """Write a file and, beside it, its metadata; rows are those of one moment.

    A file of that name is replaced when the new one is complete: a reader never finds a part.

    Args:
        target: a folder, or the path of the file.
        progress: called after each part.

    Raises:
        BookingError, ExportError: as for `prepare`; also where the folder cannot be written.
    """
    with snapshot():
        export = prepare(request)
        path = target / export.name if target.is_dir() else target
        is_counted = progress is not None and request.format is Format.CSV
        digest = sha256()
        size = rows = 0
        with _aside(path) as out:
            for part in _parts(export):
                digest.update(part)
                out.write(part)
                size += len(part)
                rows += part.count(b"\n") if is_counted else 0
                if progress is not None:
                    progress(
                        WriteProgress(
                            size, min(rows, export.row_count), export.row_count
                        )
                    )
    found = metadata_of(
        export,
        name=path.name,
        size=size,
        sha256=digest.hexdigest(),
        written_at=datetime.now(UTC),
    )
    beside = path.with_name(metadata_name(path.name))
    with _aside(beside) as out:
        out.write(metadata_text(found).encode())
    return WrittenFile(path, beside, found)


def _parts(export: Export) -> Iterator[bytes]:
    if export.request.format is Format.CSV:
        return csv_parts_quickly(export)
    return parts_of(export)


@contextlib.contextmanager
def _aside(path: Path) -> Any:
    """A file that gets its name when it is complete and stored; else nothing remains."""
    try:
        with NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", suffix=PART, delete=False
        ) as out:
            part = Path(out.name)
            try:
                yield out
                out.flush()
                os.fsync(out.fileno())
                part.chmod(0o640)
                part.replace(path)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise ExportError(f"{path} cannot be written: {error.strerror}") from error


def remove_parts(folder: Path, older_than_s: float, now_s: float) -> int:
    """Remove parts that a killed process left; those of running writers are younger."""
    removed = 0
    for part in folder.glob(f".*{PART}"):
        with contextlib.suppress(FileNotFoundError):
            if now_s - part.stat().st_mtime > older_than_s:
                part.unlink()
                removed += 1
    return removed
