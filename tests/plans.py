"""What PostgreSQL does for a statement."""

import re
from collections.abc import Iterator
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext


def steps(sql: str) -> Iterator[dict[str, Any]]:
    """The steps of a statement that is run, with no table read as a whole if it has an index.

    A few pages are read as a whole, unless they are bloated: a matter of the machine.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
        [plan] = cursor.fetchone()[0]
        cursor.execute("SET LOCAL enable_seqscan = on")
    yield from within(plan["Plan"])


def rows_read(step: dict[str, Any]) -> float:
    """The rows that a step looks at."""
    removed = step.get("Rows Removed by Filter", 0)
    return float((step["Actual Rows"] + removed) * step["Actual Loops"])


def within(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A step and all of its parts."""
    yield step
    for part in step.get("Plans", ()):
        yield from within(part)


def explained(asked: CaptureQueriesContext, table: str) -> dict[str, Any]:
    """The last step of the only captured statement about a table, as it is planned usually."""
    [query] = [one["sql"] for one in asked.captured_queries if table in one["sql"]]
    with connection.cursor() as cursor:
        cursor.cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}")
        [plan] = cursor.fetchone()[0]
    return dict(plan["Plan"])


def is_summed_before(step: dict[str, Any], table: str, joined: str) -> bool:
    """True if rows of a table are added up before another table is joined to them."""
    sums = [one for one in within(step) if one["Node Type"] == "Aggregate"]
    return any(_reads(one, table) and not _reads(one, joined) for one in sums)


def _reads(step: dict[str, Any], table: str) -> bool:
    """True if a table, or a partition of it, is read for a step."""
    names = (one.get("Relation Name", "") for one in within(step))
    return any(re.fullmatch(rf"{table}(_\d+)?", name) for name in names)
