"""A table of a page as CSV, where no report has the same rows."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse

from accounting.queries.fields import csv_lines, csv_stream


def csv_answer(
    name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> HttpResponse:
    """All rows under raw names; formulas are made harmless, as in the API's files."""
    found: list[Mapping[str, Any]] = [
        dict(zip(columns, row, strict=True)) for row in rows
    ]
    out = io.StringIO()
    lines = csv_lines(found) or [list(columns)]
    csv.writer(out, lineterminator="\n").writerows(lines)
    answer = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return answer


def csv_streamed(
    name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> StreamingHttpResponse:
    """The same for a list of any length: rows are read while they are sent."""
    answer = StreamingHttpResponse(
        csv_stream(rows, columns), content_type="text/csv; charset=utf-8"
    )
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return answer
