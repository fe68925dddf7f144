"""A table of a page as CSV, where no report has the same rows."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpResponse

from accounting.queries.fields import csv_lines


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
