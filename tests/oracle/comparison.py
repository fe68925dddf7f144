"""The product's answer in the oracle's shape, and where the two differ."""

import io
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection, transaction

from accounting.models import Cluster, Source, SourceKind
from tests.oracle.ledger import Fact, Key, Ledger
from tests.oracle.samples import Sample
from tests.oracle.text import text
from tests.oracle.units import spelled

CLUSTER = "north"
_FACTS = """
    SELECT extract(epoch FROM w.window_start)::bigint * 1000, g.uuid, w.instance,
           coalesce(p.uid, ''),
           sum(busy_ms), sum(idle_ms), sum(unknown_ms), sum(free_ms), sum(stranded_ms),
           sum(stray_ms), sum(dark_ms), bit_or(flags) & 3
    FROM usage_window w
    JOIN accounting_gpu g ON g.id = w.gpu_id
    LEFT JOIN accounting_pod p ON p.id = w.pod_id
    WHERE busy_ms + idle_ms + unknown_ms + free_ms + stranded_ms + stray_ms + dark_ms > 0
    GROUP BY 1, 2, 3, 4
"""
_TABLES = """
    SELECT relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
      AND NOT relispartition
      AND relname ~ '^(accounting|scheduler_view|usage|intensity|pghistory)_'
    ORDER BY 1
"""
HoldRow = tuple[str, str, str, int, str, int | None, int, int | None, str | None]


@cache
def _forgetting() -> str:
    """SQL that empties every table of ours, without a look from any trigger."""
    with connection.cursor() as cursor:
        cursor.execute(_TABLES)
        tables = [name for (name,) in cursor.fetchall()]
    deletes = "; ".join(f"DELETE FROM {name}" for name in tables)  # noqa: S608  # ours
    return f"SET LOCAL session_replication_role = replica; {deletes}"


def clear() -> None:
    """Forget all that was measured and configured, and the history of it.

    Row by row, as a test has few: to truncate a table is to make a new one, which takes
    longer than what most examples do. `verify` would read the history of all before.
    """
    sql = _forgetting()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


def start(interval: int | None) -> None:
    """A database without facts, and a cluster whose files declare an interval."""
    clear()
    cluster = Cluster.objects.create(name=CLUSTER)
    Source.objects.create(
        cluster=cluster, name="files", kind=SourceKind.OPENMETRICS, interval_s=interval
    )


def write(samples: Iterable[Sample], path: Path) -> Path:
    """Samples as a file."""
    path.write_text(text(samples))
    return path


def imported(paths: Sequence[Path]) -> None:
    """Import files as a person does."""
    words = [f"--cluster={CLUSTER}", *map(str, paths)]
    call_command("import_metrics", *words, stdout=io.StringIO(), stderr=io.StringIO())


def stored_facts() -> dict[Key, Fact]:
    """Every fact in the database."""
    with connection.cursor() as cursor:
        cursor.execute(_FACTS)
        rows = cursor.fetchall()
    return of_gpus({tuple(row[:4]): Fact(tuple(row[4:11]), row[11]) for row in rows})


def of_gpus(facts: dict[Key, Fact]) -> dict[Key, Fact]:
    """Facts with the flags of their GPU, window and pod (fine print N19)."""
    flags: dict[tuple[int, str, str], int] = defaultdict(int)
    for (window, uuid, _, uid), fact in facts.items():
        flags[window, uuid, uid] |= fact.flags
    return {
        key: Fact(fact.states, flags[key[0], key[1], key[3]])
        for key, fact in facts.items()
    }


def reported(kind: str, *options: str) -> list[dict[str, Any]]:
    """The rows of a report."""
    out = io.StringIO()
    call_command("report", kind, "--format=json", *options, stdout=out)
    rows: list[dict[str, Any]] = json.loads(out.getvalue())["rows"]
    return rows


def stored_holds() -> list[HoldRow]:
    """`report holds` as values."""
    return holds_of(reported("holds"))


def holds_of(rows: Iterable[Mapping[str, Any]]) -> list[HoldRow]:
    """Rows of `report holds` as values."""
    return sorted(
        (
            row["uid"],
            row["node"],
            row["resource"],
            row["units"],
            row["share"],
            _ms(row["created"]),
            _ms(row["bound"]) or 0,
            _ms(row["ended"]),
            row["ended_by"],
        )
        for row in rows
    )


def expected_holds(book: Ledger) -> list[HoldRow]:
    """The oracle's holds as values."""
    return sorted(
        (
            h.uid,
            h.node,
            spelled(h.resource),
            h.units,
            str(h.share),
            h.created,
            h.start,
            h.ended,
            h.ended_by or None,
        )
        for h in book.holds
    )


def _ms(instant: str | None) -> int | None:
    if instant is None:
        return None
    return round(datetime.fromisoformat(instant).timestamp() * 1000)


def differences(
    book: Ledger, holds: Iterable[Mapping[str, Any]] | None = None
) -> list[str]:
    """What the database says differently, one line each; `holds` as it reports them."""
    found = []
    ours = stored_holds() if holds is None else holds_of(holds)
    theirs = expected_holds(book)
    found += [f"hold only stored: {row}" for row in ours if row not in theirs]
    found += [f"hold not stored: {row}" for row in theirs if row not in ours]
    stored = stored_facts()
    for key in sorted(stored.keys() | book.facts.keys()):
        a, b = stored.get(key), book.facts.get(key)
        if a != b:
            found.append(f"{key}: stored {a}, expected {b}")
    return found
