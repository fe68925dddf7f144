"""A file as parts of bytes, for a response or a disk."""

from collections.abc import Iterator

from accounting.exports.tasks.csv_rows import csv_parts, snapshot
from accounting.exports.tasks.request import (
    CONTENT_TYPES,
    Export,
    ExportError,
    ExportRequest,
    Format,
    prepare,
)

__all__ = ["CONTENT_TYPES", "ExportError", "ExportStream", "parts_of", "stream"]


def parts_of(export: Export) -> Iterator[bytes]:
    """The bytes of a file; in the `snapshot` in which it was prepared.

    Raises:
        ExportError: the library for the format is not installed.
    """
    if export.request.format is Format.PARQUET:
        from accounting.exports.tasks.parquet_file import parquet_parts  # noqa: PLC0415  # its library is loaded only for its files

        return parquet_parts(export)
    if export.request.format is Format.XLSX:
        from accounting.exports.tasks.xlsx_file import xlsx_parts  # noqa: PLC0415  # its library is loaded only for its files

        return xlsx_parts(export)
    return csv_parts(export)


class ExportStream:
    """A file that is written while it is sent: iterate it once.

    The rows are those of one moment, however slow the reader is. A reader that leaves ends the
    transaction, because the server closes the iterator.

    Attributes:
        name: of the file.
        content_type: for HTTP.
    """

    def __init__(self, request: ExportRequest) -> None:
        with snapshot():
            export = prepare(request)
            parts_of(
                export
            )  # not read: a format that is not installed fails before a byte is sent
        self.name = export.name
        self.content_type = CONTENT_TYPES[request.format]
        self.row_count = export.row_count
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        with snapshot():
            yield from parts_of(prepare(self._request))


def stream(request: ExportRequest) -> ExportStream:
    """A file, checked before its first byte is sent.

    Raises:
        BookingError: the period has no booking.
        ExportError: the team has no statement in it, or the format is not installed.
    """
    return ExportStream(request)
