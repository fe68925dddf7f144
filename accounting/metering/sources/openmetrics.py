"""Files with timestamps, plain or gzipped: the source for backfill and air-gapped sites.

A file is read once, checked to its end, and spooled to disk by hour; nothing is used before every
line was checked. Memory is bounded for files of any size: it grows with the series, whose number
and size are limited.
"""

import errno
import gzip
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from accounting.core.interval import HOUR_MS
from accounting.metering.sources.catalogue import is_kept
from accounting.metering.sources.exposition import (
    ExpositionError,
    Parser,
    RawSeries,
    limited_lines,
)
from accounting.metering.sources.samples import SampleBatch, UnknownNames
from accounting.metering.sources.text_limits import MOST_SERIES

CHUNK = 1 << 20  # bytes read at a time
MOST_BLANK = (
    64  # chunks without anything but blank lines: compressed, they need no space
)
FLUSH_SAMPLES = 400_000  # held in memory before they go to disk (about 30 MB)
ROW = np.dtype([("id", "<i4"), ("time", "<i8"), ("value", "<f8")])

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})

Progress = Callable[[int, int], None]  # bytes read, total bytes


class FileError(ValueError):
    """A file cannot be imported; the message names the file, the location and what to do."""


@dataclass(slots=True)
class Spool:
    """Checked samples on disk, by hour.

    Attributes:
        folder: one file for each hour; removed by `close`.
        series: by id, over all files.
        samples: the number of stored samples.
        unknown: names that look like GPU metrics and are not in the catalogue, with their nodes.
        first_ms, last_ms: of the stored samples; None if there are none.
        skipped: samples that were left out because their time is in the future.
    """

    folder: Path
    series: list[RawSeries] = field(default_factory=list)
    samples: int = 0
    unknown: UnknownNames = field(default_factory=UnknownNames)
    first_ms: int | None = None
    last_ms: int | None = None
    skipped: int = 0
    _ids: dict[RawSeries, int] = field(default_factory=dict)
    _hours: set[int] = field(default_factory=set)

    def hours(self) -> list[int]:
        """Starts of the hours with samples, in milliseconds, ascending."""
        return sorted(self._hours)

    def hour(self, start_ms: int) -> SampleBatch:
        """All samples of one hour."""
        rows = np.fromfile(self._path(start_ms), ROW)
        return SampleBatch(self.series, rows["id"], rows["time"], rows["value"])

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def series_id(self, raw: RawSeries) -> int:
        """The id of a series over all files of the spool.

        Raises:
            ExpositionError: they are too many to be held in memory.
        """
        known = self._ids.get(raw)
        if known is None:
            if len(self.series) >= MOST_SERIES:
                raise ExpositionError(
                    f"more than {MOST_SERIES:,} series with the files before: import fewer files "
                    "at once"
                )
            known = self._ids[raw] = len(self.series)
            self.series.append(raw)
        return known

    def write(self, rows: "np.ndarray") -> None:
        """Append rows of `ROW`, at least one, to their hours' files."""
        times = rows["time"]
        hours = times - times % HOUR_MS
        for start_ms in np.unique(hours).tolist():
            with self._path(start_ms).open("ab") as file:
                # tofile() does not report a full disk
                file.write(rows[hours == start_ms].tobytes())
            self._hours.add(start_ms)
        self.samples += len(rows)
        low, high = int(times.min()), int(times.max())
        self.first_ms = low if self.first_ms is None else min(low, self.first_ms)
        self.last_ms = high if self.last_ms is None else max(high, self.last_ms)

    def _path(self, start_ms: int) -> Path:
        return self.folder / f"{start_ms}.rows"


def spool(
    paths: Sequence[Path],
    folder: Path,
    *,
    latest_ms: int,
    skips_future: bool = False,
    on_progress: Progress | None = None,
) -> Spool:
    """Read and check files, and store the samples that the ledger needs on disk.

    Args:
        paths: OpenMetrics or timestamped Prometheus text, also .gz.
        folder: an empty folder for the spool.
        latest_ms: later sample times are rejected as future times.
        skips_future: samples of such times are left out and counted instead.
        on_progress: called with bytes read and bytes in total (compressed, for .gz).

    Raises:
        FileError: the first error of the first file that is not valid; the spool is removed.
    """
    result = Spool(folder)
    total = sum(_size(path) for path in paths)
    done = 0
    try:
        for path in paths:
            parser = Parser(
                keep=is_kept,
                latest_ms=latest_ms,
                skips_future=skips_future,
                look_at=result.unknown.look_at,
            )
            _read(path, result, parser, partial(_tell, on_progress, total, done))
            result.skipped += parser.skipped
            done += _size(path)
    except (ExpositionError, FileError, OSError, EOFError, zlib.error) as error:
        result.close()
        if isinstance(error, FileError):
            raise
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            raise FileError(_no_room(folder)) from error
        raise FileError(f"{path}: {_reason(error)}") from error
    return result


def _tell(on_progress: Progress | None, total: int, before: int, read: int) -> None:
    if on_progress is not None:
        on_progress(before + read, total)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror})") from error


def _no_room(folder: Path) -> str:
    megabytes = shutil.disk_usage(folder.parent).free / 2**20
    return (
        f"no space left for temporary files in {folder.parent} ({megabytes:,.0f} MB free); "
        "nothing was imported. Free space there, or set TMPDIR to a folder on another disk"
    )


def _reason(error: Exception) -> str:
    if isinstance(error, EOFError):
        return "the gzip file is truncated; copy it again"
    if isinstance(error, gzip.BadGzipFile | zlib.error):
        return f"not a valid gzip file ({error}); copy it again"
    return str(error)


def _chunks(
    path: Path, on_read: Callable[[int], None] | None = None
) -> Iterator[bytes]:
    with path.open("rb") as raw:
        file = gzip.GzipFile(fileobj=raw) if _is_gzip(path) else raw
        blank = 0
        while chunk := file.read(CHUNK):
            blank += chunk.isspace()
            if blank > MOST_BLANK:
                raise FileError(
                    f"{path}: more than {MOST_BLANK} MiB of blank lines; this is not metrics text"
                )
            yield chunk
            if on_read is not None:
                on_read(raw.tell())


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _ends_in_eof(path: Path) -> bool:
    """True if the text's last line is `# EOF` (rules.md N2)."""
    tail = b""
    if _is_gzip(path):
        for chunk in _chunks(path):
            tail = (tail + chunk)[-64:]
    else:
        with path.open("rb") as file:
            file.seek(max(0, _size(path) - 64))
            tail = file.read()
    # without the zeros of UTF-16: no other text has any
    lines = tail.replace(b"\0", b"").rstrip(b"\r\n").split(b"\n")
    return lines[-1].strip() == b"# EOF"


def _read(
    path: Path, result: Spool, parser: Parser, on_read: Callable[[int], None]
) -> None:
    if _size(path) == 0:
        raise FileError(f"{path}: the file is empty; nothing was imported")
    ids: list[int] = []  # in the spool, of the file's series
    lines = limited_lines(_chunks(path, on_read))
    samples = parser.samples(lines, is_openmetrics=_ends_in_eof(path))
    while len(rows := np.fromiter(islice(samples, FLUSH_SAMPLES), ROW)):
        ids.extend(result.series_id(raw) for raw in parser.series[len(ids) :])
        rows["id"] = np.array(ids, np.int32)[rows["id"]]
        result.write(rows)
    if not parser.limits.names:
        raise FileError(f"{path}: the file contains no samples; nothing was imported")
