"""Rows as programs read them: one JSON document, CSV, neither of them held in memory."""

import csv
import io
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management.base import OutputWrapper
from django.db import ProgrammingError

from accounting.kit.commands.output import interruptible, write_rows

MIB = 1 << 20


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Rows as reports have them."""
    for i in range(count):
        yield {"pod": f'p "{i}"\n', "busy_ms": i, "charge": None, "gpus": [1, 2]}


def written(kind: str, count: int) -> str:
    out = io.StringIO()
    write_rows(rows(count), kind, OutputWrapper(out))
    return out.getvalue()


@pytest.mark.parametrize("count", [0, 1, 3])
def test_json_is_one_document_with_a_row_on_each_line(count: int) -> None:
    text = written("json", count)
    assert json.loads(text) == {"rows": list(rows(count))}
    assert len(text.splitlines()) == (count + 2 if count else 1)
    assert text.endswith("\n")


def test_csv_has_its_head_once() -> None:
    head, *body = csv.reader(io.StringIO(written("csv", 3)))
    assert head == ["pod", "busy_ms", "charge", "gpus"]
    assert [row[1] for row in body] == ["0", "1", "2"]
    assert written("csv", 0) == ""


class Nowhere(io.StringIO):
    """Takes text and keeps none of it."""

    def write(self, text: str) -> int:
        """As a file does."""
        return len(text)


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_a_large_report_is_not_held_in_memory(kind: str) -> None:
    tracemalloc.start()
    write_rows(rows(3_000), kind, OutputWrapper(Nowhere()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MIB / 4, "the rows are more than a megabyte"


def test_an_interrupt_behind_an_error_of_the_database_is_an_interrupt() -> None:
    """As psycopg and Django raise it when Ctrl-C comes in the middle of a statement."""
    fault = ProgrammingError("connection in transaction status ACTIVE")
    fault.__context__ = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt), interruptible():
        raise fault
    with pytest.raises(ProgrammingError), interruptible():
        raise ProgrammingError("syntax error")
