"""The product's answer in the oracle's shape, and where the two differ."""

import io
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection, transaction

from accounting.core.interval import to_instant
from accounting.kit.audit import SYSTEM
from accounting.metering.models.cluster import Cluster, Source, SourceKind
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.retirement import apply_retirement, retire
from accounting.usage.tasks.rollup import roll_up_dirty_hours
from tests.integration.faults.support import unfinished
from tests.oracle.ledger import STATES, Fact, Key, Ledger
from tests.oracle.samples import Sample
from tests.oracle.setup import Setup
from tests.oracle.text import text
from tests.oracle.units import spelled

CLUSTER = "north"
SHOWN = 12  # lines of what is wrong
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


def start(setup: Setup) -> None:
    """A database without facts, and a cluster whose files are read as somebody set up."""
    clear()
    end = None if setup.retired is None else to_instant(setup.retired)
    cluster = Cluster.objects.create(name=CLUSTER, retired_at=end)
    Source.objects.create(
        cluster=cluster,
        name="files",
        kind=SourceKind.OPENMETRICS,
        interval_s=setup.interval,
        scales=dict(setup.scales),
        settings={"jobs": list(setup.jobs)} if setup.jobs else {},
    )


def write(samples: Iterable[Sample], path: Path) -> Path:
    """Samples as a file."""
    path.write_text(text(samples))
    return path


def files(parts: Sequence[Sequence[Sample]], folder: str) -> list[Path]:
    """The parts as files, in their order."""
    return [write(part, Path(folder) / f"{n}.om") for n, part in enumerate(parts)]


def retired(setup: Setup) -> None:
    """Let the cluster end as somebody set up, after its samples were read."""
    if setup.retired is None:
        return
    cluster = Cluster.objects.get(name=CLUSTER)
    retire(cluster, to_instant(setup.retired), actor=SYSTEM, reason="it is gone")
    apply_retirement(cluster)
    ingest_all(cluster)
    roll_up_dirty_hours(cluster.pk)


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
    """Facts with the flags of their GPU, window and pod (N19)."""
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
    ours = stored_holds() if holds is None else holds_of(holds)
    return differing(stored_facts(), ours, book)


def none_of(found: Sequence[str]) -> None:
    """Fail with what was found, if anything was."""
    more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    if found:
        raise AssertionError("\n".join([*found[:SHOWN], *more]))


def wrong(book: Ledger) -> list[str]:
    """What is wrong with the database: it differs, work is due, an invariant is broken."""
    found = differences(book)
    found += [f"still due: {row}" for row in unfinished()]
    if book.held != (stored := stored_lifecycles()):
        found.append(f"held by lifecycle: {stored}; by the rules {book.held}")
    out = io.StringIO()
    try:
        call_command("verify", stdout=out)
    except SystemExit:
        found += out.getvalue().splitlines()
    return found


def stored_lifecycles() -> dict[str, int]:
    """Held milliseconds by lifecycle of the node."""
    rows = reported("usage", "--by=lifecycle")
    return {row["lifecycle"]: row["allocated_ms"] for row in rows}


def differing(
    facts: Mapping[Key, Fact], holds: Sequence[HoldRow], book: Ledger
) -> list[str]:
    """What facts and holds say other than the rules, one line each, to be read by people."""
    expected, found = expected_holds(book), []
    for name in sorted({row[:3] for row in [*holds, *expected]}):
        ours = [_hold(row) for row in holds if row[:3] == name]
        theirs = [_hold(row) for row in expected if row[:3] == name]
        if ours != theirs:
            whose = " ".join(name)
            got, want = (" and ".join(x) or "none" for x in (ours, theirs))
            found.append(f"hold of {whose}: {got}; by the rules {want}")
    for key in sorted(facts.keys() | book.facts.keys()):
        a, b = facts.get(key), book.facts.get(key)
        if a != b:
            found.append(f"{_place(key)}: {_fact(a)}; by the rules {_fact(b)}")
    return found


def _hold(row: HoldRow) -> str:
    units, share, created, bound, ended, by = row[3:]
    made = "" if created is None else f" made {_clock(created)}"
    end = "lasts" if ended is None else f"to {_clock(ended)} {by}"
    return f"{units} of {share}{made} from {_clock(bound)} {end}"


def _place(key: Key) -> str:
    window, uuid, instance, uid = key
    part = "" if instance < 0 else f" part {instance}"
    return f"{_clock(window)} {uuid}{part} {uid or 'nobody'}"


def _fact(fact: Fact | None) -> str:
    if fact is None:
        return "nothing"
    said = [
        f"{state} {ms / 1000:g}"
        for state, ms in zip(STATES, fact.states, strict=True)
        if ms
    ]
    flags = {1: " estimated", 2: " inferred", 3: " estimated inferred"}
    return ", ".join(said) + flags.get(fact.flags, "")


def _clock(ms: int) -> str:
    """Hours, minutes and seconds of a time."""
    whole = datetime.fromtimestamp(ms // 1000, UTC).strftime("%H:%M:%S")
    return whole + (f".{ms % 1000:03}" if ms % 1000 else "")
