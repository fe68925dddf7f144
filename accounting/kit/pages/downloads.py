"""A table of a page as CSV, if no report has the same rows."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from django.utils.timezone import localdate

from accounting.kit.reads.file_names import file_name
from accounting.kit.serializers.csv_text import csv_lines, csv_stream


def csv_answer(
    name: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    period: str = "",
) -> HttpResponse:
    """All rows with raw column names; formulas are neutralized, as in the API's files.

    Args:
        name: content of the file.
        period: of the rows, for the name of the file; without it, the day of the download.
    """
    found: list[Mapping[str, Any]] = [
        dict(zip(columns, row, strict=True)) for row in rows
    ]
    out = io.StringIO()
    lines = csv_lines(found) or [list(columns)]
    csv.writer(out, lineterminator="\n").writerows(lines)
    answer = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = _attachment(name, period)
    return answer


def csv_streamed(
    name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> StreamingHttpResponse:
    """The same for a list of any length: rows are read while they are sent."""
    answer = StreamingHttpResponse(
        csv_stream(rows, columns), content_type="text/csv; charset=utf-8"
    )
    answer["Content-Disposition"] = _attachment(name)
    return answer


def _attachment(name: str, period: str = "") -> str:
    file = file_name("csv", name, period or localdate().isoformat())
    return f'attachment; filename="{file}"'
