"""P24 to P26: every page and list of the navigation over 13 months of many GPUs.

Server time in a forked process, which has the memory of a web process. The time of PostgreSQL, the
number of statements and bytes are counted once; each distinct statement of the eight pages is
planned alone. `--sizes 1000,100000` says for how many GPUs (`bench.scale`).
"""

import re
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import override_settings
from django.urls import reverse

from accounting.access.models.people import OrganizationRole, Person
from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.files import write_file
from accounting.exports.tasks.request import ExportRequest, Format
from accounting.kit.pages.fragments import FRAGMENT, card_address, every_card
from bench import scale
from bench.gpu_pages import as_server
from bench.measure import Figure, peak_rss
from portal.shell.navigation import ROUTES
from tests.answers.addresses import api_reads
from tests.answers.frozen import clocks_stopped

EIGHT = (
    *("/", "/teams/team-7", "/teams", "/teams/team-7/workloads"),
    *("/quotas", "/months", "/waste", "/gpus"),
)
CARDS = tuple(card_address(card, slug="team-7") for card in every_card())
"""Parts of pages that their scripts ask for: no time of a page is hidden in them."""
BY_HOUR = "/api/v1/usage?by=hour&from=2026-10-01&to=2026-11-01&limit=1000"
BY_TEAM = "/api/v1/usage?by=team&from=2026-10-01&to=2026-11-01&limit=1000"
LIMITS_MS = {1_000: 100.0, 10_000: 150.0, 100_000: 250.0}
MOST_ROUNDS, LEAST_ROUNDS = 20, 5  # of one address
SECONDS, MOST_SECONDS = 1.0, 12.0  # after which no more rounds begin
XLSX_LINES = 8_500
BY_HOUR_MS = 1_000  # of 24,877 lines, 592,000 hours of lines


@dataclass
class Asked:
    """One address: milliseconds of each round, and what one answer needs."""

    at: str
    status: int = 0
    ms: list[float] = field(default_factory=list)
    statements: int = 0
    sql_ms: float = 0.0
    size: int = 0
    slowest: tuple[float, str] = (0.0, "")
    lines: int = 0
    planning_ms: float = 0.0

    @property
    def p95(self) -> float:
        """Milliseconds; the longest of few rounds."""
        if len(self.ms) == 1:
            return self.ms[0]
        return statistics.quantiles(self.ms, n=20, method="inclusive")[-1]

    @property
    def headers(self) -> dict[str, str]:
        """Those by which the script of a page asks for a card."""
        return {FRAGMENT: "true"} if self.at in CARDS else {}

    def line(self) -> str:
        """One row of the table."""
        took, text = self.slowest
        return (
            f"{self.at:<44} {self.status} {statistics.median(self.ms):8.1f} {self.p95:8.1f}"
            f" {self.statements:5} {self.sql_ms:8.1f} {self.size:9,} {self.lines:5}"
            f" {self.planning_ms:6.1f}  {took:7.1f} {text}"
        )


HEAD = (
    f"{'address':<44} code   p50 ms   p95 ms  stmts   sql ms     bytes lines   plan"
    "  slowest statement, ms"
)


def figures(wanted: set[str], sizes: Sequence[int]) -> Iterator[Figure]:
    """The figures of this module, if none is named or one of them is."""
    if wanted and not wanted & {"P24", "P25", "P26"}:
        return
    for gpus in sizes:
        began = time.perf_counter()
        closed = scale.fill(scale.SIZES[gpus])
        filled = time.perf_counter() - began
        asked, memory = _measured()
        print(f"\n{gpus:,} GPUs, {len(closed)} closed months, filled in {filled:.0f} s")
        print(HEAD)
        for one in asked.values():
            print(one.line())
        yield from _figures(gpus, asked, memory)


def _figures(gpus: int, asked: dict[str, Asked], memory: float) -> Iterator[Figure]:
    eight = {at: asked[at] for at in (*EIGHT, *CARDS)}
    yield Figure(
        "P24",
        f"slowest of eight pages and their cards, {gpus:,} GPUs, 95th percentile",
        max(one.p95 for one in eight.values()),
        LIMITS_MS[gpus],
        "ms",
        at_most=True,
        detail={at: one.p95 for at, one in eight.items()} | {"MiB": memory},
    )
    if gpus == min(LIMITS_MS):
        what = f"usage by hour of a closed month, {gpus:,} GPUs, 95th percentile"
        most = BY_HOUR_MS  # the goal is for a month of 9,201 lines: bench.booked_hours
        yield Figure("P25", what, asked[BY_HOUR].p95, most, "ms", at_most=True)
        yield _workbook()
    worst = max(eight.values(), key=lambda one: one.lines)
    what = f"lines of the longest statement of eight pages, {gpus:,} GPUs"
    yield Figure("P26", f"{what}: {worst.at}", worst.lines, 100, "", at_most=True)
    worst = max(eight.values(), key=lambda one: one.planning_ms)
    what = f"planning of a statement of eight pages, {gpus:,} GPUs"
    yield Figure(
        "P26", f"{what}: {worst.at}", worst.planning_ms, 10, "ms", at_most=True
    )


def _workbook() -> Figure:
    request = ExportRequest(What.CHARGES, scale.LAST_CLOSED, format=Format.XLSX)
    seconds, rows = [], 0
    with TemporaryDirectory(prefix="gpu-ledger-bench-") as folder:
        for _ in range(3):
            began = time.perf_counter()
            written = write_file(request, Path(folder) / "charges.xlsx")
            seconds.append(time.perf_counter() - began)
            rows = int(written.metadata["rows"])
    what = f"charges as XLSX, of {XLSX_LINES:,} lines"
    ms = statistics.median(seconds) * 1000 * XLSX_LINES / rows
    return Figure("P25", what, ms, 600, "ms", at_most=True, detail={"rows": rows})


# --- what is measured ----------------------------------------------------------------


def _measured() -> tuple[dict[str, Asked], float]:
    """Every address, and the MiB of the process at most."""
    with clocks_stopped(scale.NOW), override_settings(ALLOWED_HOSTS=["testserver"]):
        connection.close()
        with ProcessPoolExecutor(1, mp_context=get_context("fork")) as child:
            return child.submit(_in_child).result()


def _in_child() -> tuple[dict[str, Asked], float]:
    user, _ = User.objects.get_or_create(username="scale")
    Person.objects.update_or_create(
        user=user, defaults={"role": OrganizationRole.ADMIN}
    )
    client = Client()
    client.force_login(user)
    with as_server():
        _check(client)
        found = {at: _asked(client, at) for at in _addresses()}
    connection.close()
    return found, peak_rss() / (1 << 20)


def _addresses() -> list[str]:
    pages = [reverse(route) for route in ROUTES]
    month = f"/statements/team-7/{scale.LAST_CLOSED}"
    more = [f"/months/{scale.LAST_CLOSED}", month, "/charges?by=workload"]
    lists = [
        path for path in api_reads() if "{" not in path and "gpu-steps" not in path
    ]
    return list(
        dict.fromkeys([*EIGHT, *CARDS, *pages, *more, *lists, BY_HOUR, BY_TEAM])
    )


def _check(client: Client) -> None:
    """The answer is the sum of the rows that were written."""
    told = {
        row["team"]: sum(row[f"{state}_ms"] for state in ("busy", "idle", "unknown"))
        for row in client.get(BY_TEAM).json()["rows"]
    }
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT 'team-' || team_id, sum(busy_ms + idle_ms)::bigint FROM usage_day
               WHERE team_id > 0 AND billing_on >= '2026-10-01' AND billing_on < '2026-11-01'
               GROUP BY team_id"""
        )
        assert told == dict(cursor.fetchall()), (
            "usage by team is not the sum of its rows"
        )


def _asked(client: Client, at: str) -> Asked:
    found = Asked(at)
    client.get(at, headers=found.headers)  # warm
    seen: dict[str, tuple[float, Any]] = {}

    def note(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            took = (time.perf_counter() - began) * 1000
            found.statements += 1
            found.sql_ms += took
            found.slowest = max(found.slowest, (took, _short(sql)))
            seen[sql] = (took, params)

    with connection.execute_wrapper(note):
        answer: Any = client.get(at, headers=found.headers)
        found.status, found.size = answer.status_code, len(answer.getvalue())
    found.lines = max((len(sql.strip().splitlines()) for sql in seen), default=0)
    if at in EIGHT or at in CARDS:
        found.planning_ms = max(_planning(sql, one[1]) for sql, one in seen.items())
    started, passed = time.perf_counter(), 0.0
    while not found.ms or passed < (
        MOST_SECONDS if len(found.ms) < LEAST_ROUNDS else SECONDS
    ):
        began = time.perf_counter()
        client.get(at, headers=found.headers).getvalue()
        found.ms.append((time.perf_counter() - began) * 1000)
        passed = time.perf_counter() - started
        if len(found.ms) == MOST_ROUNDS:
            break
    return found


def _short(sql: str) -> str:
    tables = re.findall(r"\b(?:FROM|JOIN) \"?([a-z_]+)", sql)
    return " ".join(dict.fromkeys(tables))[:60]


def _planning(sql: str, params: Any) -> float:
    if not sql.lstrip().upper().startswith(("SELECT", "WITH")):
        return 0.0
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (SUMMARY, FORMAT JSON) {sql}", params)
        row = cursor.fetchone()
    assert row is not None
    return float(row[0][0]["Planning Time"])
