"""What PostgreSQL does for a statement."""

from collections.abc import Iterator
from typing import Any

from django.db import connection


def steps(sql: str) -> Iterator[dict[str, Any]]:
    """The steps of a statement that is run, with no table read as a whole if it has an index.

    A few pages are read as a whole, unless they are bloated: a matter of the machine.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
        [plan] = cursor.fetchone()[0]
        cursor.execute("SET LOCAL enable_seqscan = on")
    yield from _within(plan["Plan"])


def rows_read(step: dict[str, Any]) -> float:
    """The rows that a step looks at."""
    removed = step.get("Rows Removed by Filter", 0)
    return float((step["Actual Rows"] + removed) * step["Actual Loops"])


def _within(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield step
    for part in step.get("Plans", ()):
        yield from _within(part)
