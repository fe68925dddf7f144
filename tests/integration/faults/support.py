"""Product processes on the test's database, and all that they leave behind in it."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from django.db import connection

from tests.integration.faults.forks import FAILPOINT, Ended, warm
from tests.integration.metering.support import facts, report

ROOT = Path(__file__).resolve().parents[3]
LONGEST_S = 120.0  # of one command; it takes two seconds where nothing is wrong
SECRET = "of processes that tests start, and of nothing else"

Row = tuple[Any, ...]


def environment(redis_url: str, failpoint: str = "", **session: str) -> dict[str, str]:
    """What a process of ours sees: the test's database, and where it shall die.

    `session` are settings of PostgreSQL that its sessions begin with.
    """
    database = connection.settings_dict
    address = {"host": database["HOST"], "port": database["PORT"] or 5432}
    if session:
        address["options"] = " ".join(f"-c {k}={v}" for k, v in session.items())
    query = urlencode(address)
    who = quote(database["USER"])
    if database["PASSWORD"]:
        who += f":{quote(database['PASSWORD'])}"
    return {
        **os.environ,
        "DATABASE_URL": f"postgres://{who}@/{database['NAME']}?{query}",
        "REDIS_URL": redis_url,
        "SECRET_KEY": SECRET,
        "DJANGO_SETTINGS_MODULE": "portal.settings",
        "GPU_LEDGER_LOCAL": "1",
        "GPU_LEDGER_FAILPOINT": failpoint,
        "INGEST_HOURS_AT_ONCE": "1",  # more commits: more moments to die between them
        "PYTHONUNBUFFERED": "1",
    }


def command(*words: str | Path) -> list[str]:
    """`manage.py` with these words."""
    return [sys.executable, "manage.py", *map(str, words)]


def process(seen: dict[str, str], *words: str | Path) -> Ended:
    """Run one command to its end, in a process that is forked from a warm one."""
    return warm(seen).run(*words, failpoint=seen.get(FAILPOINT, ""))


@contextmanager
def started(
    seen: dict[str, str], *words: str | Path
) -> Iterator[subprocess.Popen[str]]:
    """A command that runs beside the test, and is gone after it."""
    child = subprocess.Popen(
        command(*words),
        cwd=ROOT,
        env=seen,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate(timeout=LONGEST_S)


def ask(query: str, values: Sequence[str | int] = ()) -> list[Row]:
    """Rows from the test's database."""
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        rows: list[Row] = cursor.fetchall()
    return rows


_BUCKET = """
    b.billing_on, coalesce(n.name, ''), coalesce(t.slug, ''), coalesce(k.kind, ''),
    coalesce(k.name, ''), b.workload_type, b.model, b.lifecycle, b.tier,
    b.busy_ms, b.idle_ms, b.unknown_ms, b.free_ms, b.stranded_ms, b.stray_ms, b.dark_ms,
    b.rate, b.cost, b.gpu_rate, b.gpu_cost, b.currency, b.estimated_ms,
    b.samples_expected, b.samples_used
    FROM {table} b
    LEFT JOIN accounting_namespace n ON n.id = b.namespace_id
    LEFT JOIN accounting_team t ON t.id = b.team_id
    LEFT JOIN accounting_workload k ON k.id = b.workload_id
    ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
"""


def hours() -> list[Row]:
    """Every row of the hours by names, with its hour first."""
    return ask(f"SELECT b.hour_start, {_BUCKET.format(table='usage_hour')}")


def days() -> list[Row]:
    """Every row of the days by names."""
    return ask(f"SELECT {_BUCKET.format(table='usage_day')}")


def ledger() -> dict[str, list[Any]]:
    """All that a ledger says: equal data give equal ledgers, whatever happened."""
    return {
        "facts": facts(),
        "hours": hours(),
        "days": days(),
        "holds": report("holds"),
        "presences": ask(
            """
            SELECT g.uuid, n.name, p.start_ms, p.end_ms FROM accounting_gpupresence p
            JOIN accounting_gpu g ON g.id = p.gpu_id
            JOIN accounting_node n ON n.id = p.node_id ORDER BY 1, 2, 3
            """
        ),
    }


def unfinished() -> list[Row]:
    """Windows and hours that somebody still has to compute."""
    return ask(
        """
        SELECT state || ' ' || reason, window_start FROM accounting_ingestwindow
        WHERE state <> 'done'
        UNION ALL SELECT 'hour', hour_start FROM accounting_dirtyhour
        UNION ALL SELECT 'hour by GPU', hour_start FROM accounting_pendinggpuhour
        ORDER BY 1, 2
        """
    )
