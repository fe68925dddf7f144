"""Rows as a table for people, JSON or CSV for programs; and how commands end."""

import csv
import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.core.management.base import OutputWrapper
from rich.console import Console
from rich.table import Table

from accounting.queries.fields import csv_lines

DONE, FINDING, WRONG_USE = 0, 1, 2  # how commands end (design section 9)


def write_rows(
    rows: Sequence[Mapping[str, Any]], kind: str, out: OutputWrapper
) -> None:
    """Print rows in a format: table, json or csv."""
    if kind == "json":
        json.dump({"rows": list(rows)}, out, indent=1)
        out.write("\n")
    elif kind == "csv":
        csv.writer(out, lineterminator="\n").writerows(csv_lines(list(rows)))
    else:
        _table(rows, out)


def _table(rows: Sequence[Mapping[str, Any]], out: OutputWrapper) -> None:
    if not rows:
        out.write("No rows.\n")
        return
    shown = [k for k in rows[0] if any(row[k] is not None for row in rows)]
    table = Table(box=None, header_style="bold")
    for name in shown:
        number = isinstance(rows[0][name], int | float) or name.endswith(
            ("_hours", "charge")
        )
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in shown))
    width = None if out.isatty() else 400
    printer = Console(file=out, width=width, highlight=False, markup=False)  # type: ignore[arg-type]  # it writes text
    printer.print(table)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4f}"
    return str(value)
