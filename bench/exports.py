"""P9, P10: files of a month's lines.

The file of FOCUS rows is written by the product, by a server-side `COPY TO` of one statement, and
by Django's `iterator()` with the rule over values. All three have the same bytes.
"""

import csv
import os
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from django.db import connection

from accounting.core.charge_lines import FIELDS
from accounting.exports.rules.focus.row import row_of
from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.csv_rows import header
from accounting.exports.tasks.files import write_file
from accounting.exports.tasks.request import Export, ExportRequest, instant, prepare
from accounting.exports.tasks.rows_sql import copy_rows
from accounting.months.models.charge import RunningLine
from accounting.months.models.period import PeriodRevision
from accounting.months.rules.close_hash import Line
from accounting.months.sql.line_text_sql import line_id
from bench.measure import Figure, interleaved, peak_rss, ratio

ROWS_P9 = 200_000
ROWS_P10 = 10_000_000
MIB = 1 << 20
FOCUS = ExportRequest(What.FOCUS, "2026-10")


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The requested figures of this module (all if none is named)."""
    if not wanted or "P9" in wanted:
        yield from _speed()
    if not wanted or "P10" in wanted:
        yield _memory()


# Prices with all six places and workloads of real lengths: cells cost what they cost in a month.
_LINES = f"""
INSERT INTO running_line (revision_id, line_id, {", ".join(FIELDS)})
SELECT %(id)s, {line_id("l")}, l.*
FROM (
    SELECT 'usage' AS kind, 'team-' || lpad((n %% 200)::text, 3, '0') AS team,
           DATE '2026-10-01' + (n %% 31)::int AS billing_on, 'cluster-' || n %% 4 AS cluster,
           'namespace-' || n %% 1009 AS namespace, 'Job' AS workload_kind,
           'train-' || md5((n / 3)::text) AS workload, 'training' AS workload_type,
           'NVIDIA-H100-80GB-HBM3' AS model, '' AS profile,
           (ARRAY['spot', 'on-demand', 'reserved'])[n %% 3 + 1] AS lifecycle,
           'tier-' || n %% 5 AS tier, (ARRAY['busy', 'idle', 'unknown'])[n %% 3 + 1] AS state,
           'EUR' AS price_currency, 2.123457 AS rate, 1 AS fx, n * 1009 %% 8640000 AS ms,
           n * 1009 %% 8640000 * 2.123457 AS raw,
           div(n * 1009 %% 8640000 * 2.123457, 3.6) * 0.000001 AS charge, 'priced' AS status,
           '' AS corrects, '' AS reference
    FROM generate_series(1::bigint, %(rows)s) n
) l
"""


def _book(rows: int) -> None:
    """A running booking of so many lines."""
    PeriodRevision.objects.all().delete()
    revision = PeriodRevision.objects.create(
        period="2026-10",
        starts_at=datetime(2026, 9, 30, 22, tzinfo=UTC),
        ends_at=datetime(2026, 10, 31, 23, tzinfo=UTC),
        timezone="Europe/Berlin",
        currency="EUR",
        minor_places=2,
        method="alloc-v1",
        booked_at=datetime(2026, 11, 1, tzinfo=UTC),
    )
    with connection.cursor() as cursor:
        cursor.execute(
            _LINES,
            {"id": revision.pk, "rows": rows, "period": "2026-10", "revision": 1},
        )
        cursor.execute("VACUUM ANALYZE running_line")


def _speed() -> Iterator[Figure]:
    _book(ROWS_P9)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)  # the server writes here, too
        export = prepare(FOCUS)
        runs: dict[str, Callable[[], object]] = {
            "ours": lambda: write_file(FOCUS, folder / "ours.csv"),
            "copy": lambda: _server_copy(export, folder / "copy.csv"),
        }
        for run in runs.values():
            run()
        _iterator(export, folder / "django.csv")
        files = {path.name: path.read_bytes() for path in folder.glob("*.csv")}
        assert files["ours.csv"] == files["copy.csv"] == files["django.csv"]
        seconds = interleaved(runs)
        django = interleaved(
            {
                "ours": runs["ours"],
                "django": lambda: _iterator(export, folder / "django.csv"),
            },
            rounds=1,
        )
        size = len(files["ours.csv"])
    median = sorted(seconds["ours"])[len(seconds["ours"]) // 2]
    detail = {"rows/s": ROWS_P9 / median, "MB/s": size / median / 1e6}
    yield Figure(
        "P9",
        f"FOCUS CSV of {ROWS_P9:,} rows against server-side COPY TO",
        ratio(seconds["copy"], seconds["ours"]),
        0.75,
        detail=detail,
    )
    yield Figure(
        "P9",
        f"FOCUS CSV of {ROWS_P9:,} rows against Django's iterator",
        ratio(django["django"], django["ours"]),
        10,
    )


def _server_copy(export: Export, path: Path) -> None:
    """One statement that sorts all lines, written by the server; the same checksum is left out."""
    rows = copy_rows(export.table, export.booking, guarded=True, grouped=False)
    path.unlink(missing_ok=True)
    with connection.cursor() as cursor:
        cursor.execute(
            f"COPY ({rows}) TO '{path}' WITH (FORMAT csv, HEADER)", export.parameters()
        )


def _iterator(export: Export, path: Path) -> None:
    """What one would write with Django: rows by `iterator()`, cells by the rule over values."""
    context = export.context()
    lines = RunningLine.objects.filter(revision_id=export.booking.revision_id)
    lines = lines.order_by("kind", "team", "billing_on", *FIELDS[3:])
    with path.open("w", encoding="utf-8", newline="") as out:
        out.write(header(export).decode())
        writer = csv.writer(out, lineterminator="\n")
        for row in lines.iterator(chunk_size=2000):
            line = Line(*(getattr(row, name) for name in FIELDS))
            writer.writerow(map(_cell, row_of(line, context).values()))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return instant(value)
    return str(value)


def _memory() -> Figure:
    """Growth of this process while it writes; it has written a small file before."""
    _book(ROWS_P9)
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / "focus.csv"
        write_file(FOCUS, target)
        _book(ROWS_P10)
        before = peak_rss()
        written = write_file(FOCUS, target)
        assert written.metadata["rows"] == ROWS_P10
        grown = max(0, peak_rss() - before)
    return Figure(
        "P10",
        f"growth of memory for a FOCUS file of {ROWS_P10:,} rows",
        grown / MIB,
        64,
        "MiB",
        at_most=True,
        detail={"GB": written.metadata["bytes"] / 1e9, "cores": os.cpu_count() or 0},
    )
