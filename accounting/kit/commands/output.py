"""Rows as a table for people, JSON or CSV for programs; and exit codes of commands."""

import csv
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.core.management.base import OutputWrapper
from django.db import Error
from rich.console import Console
from rich.table import Table

from accounting.kit.serializers.csv_text import csv_lines

DONE, FINDING, WRONG_USE = 0, 1, 2  # exit codes
INTERRUPTED = 130  # Ctrl-C, as in shells
HIDDEN = {  # Django's own options: they work, but are not shown in `--help`
    "--version",
    "--verbosity",
    "--settings",
    "--pythonpath",
    "--traceback",
    "--no-color",
    "--force-color",
}


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise `KeyboardInterrupt` also where the database's error about it took its place.

    Ctrl-C in the middle of a statement leaves the connection busy, and the end of the transaction
    then fails: the error has the interrupt as its context (PEP 3134).
    """
    try:
        yield
    except Error as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__context__
        if cause is None:
            raise
        raise KeyboardInterrupt from error


@contextmanager
def until_closed() -> Iterator[None]:
    """End without an error when the reader of the output closes it, as `head` does."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(DONE)


def write_rows(
    rows: Iterable[Mapping[str, Any]], kind: str, out: OutputWrapper
) -> None:
    """Print rows in a format: table, json or csv.

    JSON and CSV are written row by row, so that a large report needs little memory. JSON is one
    document with a row on each line.
    """
    if kind == "json":
        _json(rows, out)
    elif kind == "csv":
        _csv(rows, out)
    else:
        _table(list(rows), out)


def _json(rows: Iterable[Mapping[str, Any]], out: OutputWrapper) -> None:
    """`out` ends each piece with a line feed, so a piece is a line."""
    before = '{"rows": ['
    for row in rows:
        out.write(before)
        before = f"{json.dumps(row)},"
    if before == '{"rows": [':
        out.write('{"rows": []}')
    else:
        out.write(f"{before.removesuffix(',')}\n]}}")


def _csv(rows: Iterable[Mapping[str, Any]], out: OutputWrapper) -> None:
    writer = csv.writer(out, lineterminator="\n")
    for number, row in enumerate(rows):
        lines = csv_lines([row])
        writer.writerows(lines if number == 0 else lines[1:])


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
