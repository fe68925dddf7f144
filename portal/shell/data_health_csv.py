"""The tables of the data health page as files."""

from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpResponse

from accounting.access.scope import Scope
from accounting.health.reads.freshness import RunRow, gaps, last_runs, source_rows
from accounting.kit.pages.downloads import csv_answer
from accounting.usage.reads.coverage import DayCoverage

MOST = 100_000  # rows of a file
_RUN = (
    "cluster",
    "window_start",
    "state",
    "reason",
    "rows",
    "samples_seen",
    "samples_expected",
    "read_ms",
    "read_at",
    "attempts",
    "last_error",
)
_SOURCE = (
    "cluster",
    "name",
    "kind",
    "is_active",
    "interval_s",
    "last_read_at",
    "last_sample_at",
    "last_error",
    "file_from",
    "file_to",
)
_DAY = ("day", "windows", "samples_seen", "samples_expected", "waiting", "ratio")


def health_csv(name: str, scope: Scope, days: Sequence[DayCoverage]) -> HttpResponse:
    """One of the page's tables, with all rows.

    Raises:
        Http404: the table does not exist, or not for this scope.
    """
    file = f"data-health-{name}"
    if name == "coverage":
        return csv_answer(file, _DAY, [_values(one, _DAY) for one in days])
    if not scope.sees_all or name not in {"sources", "gaps", "runs"}:
        raise Http404("no such table")
    if name == "sources":
        sources = [_values(one, _SOURCE) for one in source_rows(scope)]
        return csv_answer(file, _SOURCE, sources)
    runs: list[RunRow] = (gaps if name == "gaps" else last_runs)(scope, MOST)
    return csv_answer(file, _RUN, [_values(one, _RUN) for one in runs])


def _values(row: Any, names: Sequence[str]) -> list[Any]:
    """Fields of a row; times as ISO 8601."""
    found = [getattr(row, name) for name in names]
    return [one.isoformat() if hasattr(one, "isoformat") else one for one in found]
