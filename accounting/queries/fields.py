"""Report rows as the fields that commands, the API and files print.

Milliseconds, counts and ratios are numbers; GPU-hours and money are strings (rules.md N36).
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from accounting.domain.core.interval import HOUR_MS, to_instant
from accounting.domain.core.ledger_line import STATES
from accounting.domain.core.rounding import half_even
from accounting.domain.reports.rows import HoldRow, LedgerRow, UsageRow

Fields = dict[str, Any]


def gpu_hours(milliseconds: int) -> str:
    """GPU-hours with six places, half-even, each by itself (N34)."""
    return str(half_even(Fraction(milliseconds, HOUR_MS), 6))


def amount(value: Decimal | None) -> str | None:
    """Money with six places."""
    return None if value is None else f"{value:.6f}"


def instant(ms: int | None) -> str | None:
    """ISO 8601, UTC; milliseconds only where they are not zero (N35)."""
    if ms is None:
        return None
    at = to_instant(ms)
    spec = "milliseconds" if ms % 1000 else "seconds"
    return at.isoformat(timespec=spec).replace("+00:00", "Z")


def usage_fields(row: UsageRow) -> Fields:
    """The fields of `report usage`."""
    return {
        **row.key,
        "allocated_ms": row.allocated_ms,
        "busy_ms": row.busy_ms,
        "idle_ms": row.idle_ms,
        "unknown_ms": row.unknown_ms,
        "allocated_gpu_hours": gpu_hours(row.allocated_ms),
        "busy_gpu_hours": gpu_hours(row.busy_ms),
        "idle_gpu_hours": gpu_hours(row.idle_ms),
        "unknown_gpu_hours": gpu_hours(row.unknown_ms),
        "efficiency": row.efficiency,
        "coverage": row.coverage,
        "charge": amount(row.charge),
        "idle_charge": amount(row.idle_charge),
        "currency": row.currency or None,
        "unpriced_gpu_hours": gpu_hours(row.unpriced_ms),
        "estimated": row.estimated,
        "energy_joules": row.hard.energy_joules,
        "peak_memory_bytes": row.hard.peak_memory_bytes,
        "sm_active": row.hard.sm_active,
        "tensor_active": row.hard.tensor_active,
        "dram_active": row.hard.dram_active,
    }


def ledger_fields(row: LedgerRow) -> Fields:
    """The fields of `report ledger`."""
    return {
        **row.key,
        **{f"{state}_ms": row.milliseconds[state] for state in STATES},
        "wall_ms": row.wall_ms,
        **{f"{state}_charge": amount(row.charges[state]) for state in STATES},
        "wall_charge": amount(row.wall_charge),
        "currency": row.currency or None,
        "unpriced_gpu_hours": gpu_hours(row.unpriced_ms),
    }


def hold_fields(row: HoldRow) -> Fields:
    """The fields of `report holds`."""
    return {
        "cluster": row.cluster,
        "namespace": row.namespace,
        "pod": row.pod,
        "uid": row.uid,
        "node": row.node,
        "resource": row.resource,
        "units": row.units,
        "share": row.share,
        "created": instant(row.created_ms),
        "bound": instant(row.bound_ms),
        "ended": instant(row.ended_ms),
        "ended_by": row.ended_by or None,
        "wait_ms": row.wait_ms,
        "admission_wait_ms": row.admission_wait_ms,
    }


DANGEROUS = (*"=+-@＝＋－＠", "\t", "\n", "\0")  # noqa: RUF001  # spreadsheets fold them


def csv_cell(value: Any) -> str:
    """A CSV cell: text that a spreadsheet would run as a formula is quoted with `'`.

    A carriage return becomes a line feed, which the writer quotes: alone it would end the row.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        value = "; ".join(map(str, value))
    elif isinstance(value, dict):
        value = json.dumps(value, ensure_ascii=False)
    text = str(value).replace("\r\n", "\n").replace("\r", "\n")
    if isinstance(value, str) and text.startswith(DANGEROUS) and not _is_number(text):
        return "'" + text
    return text


def _is_number(text: str) -> bool:
    try:
        Decimal(text)
    except ArithmeticError:
        return False
    return True


def csv_stream(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str]
) -> Iterator[str]:
    """A CSV file line by line, however long: a head, then each row in its columns."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([csv_cell(row[name]) for name in columns])
        yield out.getvalue()
        out.seek(0)
        out.truncate()
    yield out.getvalue()  # the head, where there is no row


def csv_lines(rows: list[Mapping[str, Any]]) -> list[list[str]]:
    """Head and rows of a CSV file."""
    if not rows:
        return []
    return [
        list(rows[0]),
        *([csv_cell(value) for value in row.values()] for row in rows),
    ]
