"""CSV files of rows: cells without formulas, and lines one by one."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

PART = 16_384  # characters that are sent at once
DANGEROUS = (*"=+-@＝＋－＠", "\t", "\n", "\0")  # noqa: RUF001  # spreadsheets fold them


def csv_cell(value: Any) -> str:
    """A CSV cell: text that a spreadsheet would execute as a formula is quoted with `'`.

    A carriage return becomes a line feed, which the writer quotes; otherwise it would end the row.
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
    """A CSV file in parts of some lines, of any length: a header, then each row in its columns."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([csv_cell(row[name]) for name in columns])
        if out.tell() >= PART:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()


def csv_lines(rows: list[Mapping[str, Any]]) -> list[list[str]]:
    """Header and rows of a CSV file."""
    if not rows:
        return []
    return [
        list(rows[0]),
        *([csv_cell(value) for value in row.values()] for row in rows),
    ]
