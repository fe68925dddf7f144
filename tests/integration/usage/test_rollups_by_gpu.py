"""Hours and days by GPU and node: what they add up to, and what reads them (rules.md N32)."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounting.access.models.people import OrganizationRole, Person
from accounting.access.reads.billing_settings import billing_day
from accounting.core.interval import HOUR_MS, Interval, to_ms
from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.cluster import Cluster, Gpu, GpuPresence, Node
from accounting.metering.models.ledger import DirtyHour, IngestWindow, PendingGpuHour
from accounting.metering.tasks.facts import partitions, retention
from accounting.months.reads.invariants.verify import verdicts
from tests.database_copies import connected_to
from tests.integration.conftest import WriteOnce
from tests.integration.metering.support import report
from tests.integration.prices.books import TEN, WINDOW_MS, Books
from tests.integration.usage.test_range import refusal

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
BY_GPU = ("usage_gpu_hour", "usage_gpu_day", "intensity_gpu_hour", "intensity_gpu_day")


def set_up(zone: str = "Europe/Berlin", rate: str = "12") -> str:
    return f"""
billing: {{currency: EUR, timezone: {zone}}}
teams: [{{slug: vision, name: Vision}}, {{slug: speech, name: Speech}}]
bindings: [{{namespace: vision, team: vision}}, {{namespace: speech, team: speech}}]
prices: [{{model: NVIDIA-L40S, rate_per_gpu_hour: "{rate}"}}]
"""


def instants(start: datetime, end: datetime) -> Iterator[datetime]:
    """Each half hour."""
    while start < end:
        yield start
        start += HOUR / 2


@pytest.fixture(scope="module")
def days_database(
    write_once: WriteOnce, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """Three days: GPU-1 of vision busy, GPU-2 of speech idle, a window in each half hour."""
    books = Books(tmp_path_factory.mktemp("days"))

    def write() -> None:
        filled(books, "Europe/Berlin")
        retention.enforce()  # tests that call it again find the partitions of the coming month

    return write_once("days", write)


@pytest.fixture
def in_days(days_database: str) -> Iterator[None]:
    """Before the transaction of the test begins."""
    with connected_to(days_database):
        yield


@pytest.fixture
def books_of_days(in_days: None, books: Books) -> Books:
    """The three days, for one test."""
    del in_days
    return books


def filled(books: Books, zone: str) -> Books:
    books.configure(set_up(zone))
    for n, (space, state) in enumerate((("vision", "busy"), ("speech", "idle")), 1):
        gpu, pod = books.gpu(f"GPU-{n}"), books.pod(space, space=space)
        starts = list(instants(TEN, TEN + 3 * DAY))
        books.write_all(gpu, starts, pod, energy_mj=1000, **{state: WINDOW_MS})
    books.settle()
    return books


def asked(start: datetime, end: datetime, **options: str) -> list[dict[str, Any]]:
    period = {"from": start.isoformat(), "to": end.isoformat()}
    found: list[dict[str, Any]] = report("usage", **period, **options)
    return found


RANGES = [
    (timedelta(0), 3 * DAY),  # on hours
    (timedelta(minutes=5), 3 * DAY - timedelta(minutes=25)),  # facts at both ends
    (timedelta(minutes=5), timedelta(minutes=35)),  # within an hour
    (timedelta(minutes=35), timedelta(minutes=95)),  # no whole hour, two of them
    (timedelta(minutes=30), HOUR),  # up to an hour
    (12 * HOUR, 36 * HOUR),  # a billing day: 00:00 in Berlin is 22:00 UTC
    (12 * HOUR - timedelta(minutes=5), 36 * HOUR + timedelta(minutes=5)),
    (8 * HOUR + timedelta(minutes=30), 32 * HOUR + timedelta(minutes=30)),  # Kolkata
    (8 * HOUR, 33 * HOUR),
    (8 * HOUR + timedelta(minutes=15), 8 * HOUR + timedelta(minutes=45)),
    (8 * HOUR + timedelta(minutes=30), 10 * HOUR),
]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Kolkata", "UTC"])
def test_any_range_has_each_fact_once(books: Books, zone: str) -> None:
    filled(books, zone)
    for low, high in RANGES:
        start, end = TEN + low, TEN + high
        count = sum(start <= at < end for at in instants(TEN, TEN + 3 * DAY))
        for by in ("gpu", "gpu,day", "gpu,hour", "node,team", "gpu,node,workload"):
            rows = asked(start, end, by=by)
            busy = sum(row["busy_ms"] for row in rows)
            idle = sum(row["idle_ms"] for row in rows)
            assert (busy, idle) == (count * WINDOW_MS,) * 2, (zone, low, high, by)
            charge = sum(Decimal(row["charge"]) for row in rows)
            assert charge == 2 * count  # five minutes at 12 an hour cost 1
            energy = sum(row["energy_joules"] or 0 for row in rows)
            assert energy == 2 * count, (zone, low, high, by)
    assert broken() == []


def test_rows_are_those_of_the_gpu_its_team_and_its_node(books_of_days: Books) -> None:
    by = "node,gpu,team"
    rows = asked(TEN + 12 * HOUR, TEN + 36 * HOUR, by=by)
    found = [(r["node"], r["gpu"], r["team"], r["busy_ms"], r["idle_ms"]) for r in rows]
    day = 48 * WINDOW_MS
    assert found == [
        ("node-of-GPU-1", "GPU-1", "vision", day, 0),
        ("node-of-GPU-2", "GPU-2", "speech", 0, day),
    ]
    for name, value in (
        ("gpu", "GPU-2"),
        ("node", "node-of-GPU-2"),
        ("team", "speech"),
    ):
        only = asked(TEN + 12 * HOUR, TEN + 36 * HOUR, by=by, **{name: value})
        assert only == rows[1:], name


@pytest.mark.parametrize("by", ["gpu", "node", "gpu,hour", "gpu,day", "team,gpu"])
def test_whole_hours_read_no_fact(books_of_days: Books, by: str) -> None:
    with CaptureQueriesContext(connection) as queries:
        rows = asked(TEN + HOUR, TEN + 3 * DAY - HOUR, by=by)
    assert sum(row["busy_ms"] for row in rows) == 140 * WINDOW_MS
    read = [query["sql"] for query in queries]
    assert not [text for text in read if "FROM usage_window u" in text]
    assert not [text for text in read if "FROM intensity_window u" in text]
    of_days = [text for text in read if "FROM usage_gpu_day WHERE" in text]
    assert bool(of_days) == (by != "gpu,hour")


def test_facts_are_read_at_the_ends_only(books_of_days: Books) -> None:
    start, end = TEN + timedelta(minutes=5), TEN + 3 * DAY - timedelta(minutes=25)
    before = asked(start, end, by="gpu")
    with connection.cursor() as cursor:
        for table in ("usage_window", "intensity_window"):
            cursor.execute(
                f"DELETE FROM {table} WHERE window_start >= %s AND window_start < %s",  # noqa: S608
                [TEN + HOUR, TEN + 3 * DAY - HOUR],
            )
    assert asked(start, end, by="gpu") == before
    assert [row["allocated_ms"] for row in before] == [143 * WINDOW_MS] * 2


def test_a_late_fact_changes_them(books_of_days: Books) -> None:
    late = TEN + DAY + timedelta(minutes=10)
    books_of_days.write(Gpu.objects.get(uuid="GPU-1"), late, None, free=7)
    books_of_days.settle()
    [row] = report(
        "ledger", by="gpu", gpu="GPU-1", **{"from": "2026-10-07", "to": "2026-10-08"}
    )
    assert (row["busy_ms"], row["free_ms"]) == (48 * WINDOW_MS, 7)
    assert broken() == []


def broken() -> list[str]:
    """The names of the checks that something breaks, of those about rollups."""
    period = Interval.of(TEN - 400 * DAY, TEN + 400 * DAY)
    return [
        one.check.name
        for one in verdicts(period)
        if not one.holds and ("hours" in one.check.name or "days" in one.check.name)
    ]


_SWAP = "UPDATE {} SET gpu_id = (SELECT sum(id) FROM accounting_gpu) - gpu_id"
HOURS_OF_FACTS = "hours by GPU match their five-minute facts"
DAYS_OF_HOURS = "days by GPU match their hours by GPU"
HOURS, SUMMED_DAYS = (
    "hours by GPU match the hours (I5)",
    "days by GPU match the days (I5)",
)
ACTIVITY = "GPU activity: "


@pytest.mark.parametrize(
    ("fault", "names"),
    [
        (
            "UPDATE usage_gpu_hour SET busy_ms = busy_ms + 1 WHERE busy_ms > 0",
            {HOURS_OF_FACTS, DAYS_OF_HOURS, HOURS},
        ),
        (_SWAP.format("usage_gpu_hour"), {HOURS_OF_FACTS, DAYS_OF_HOURS}),
        (_SWAP.format("usage_gpu_day"), {DAYS_OF_HOURS}),
        (
            _SWAP.format("intensity_gpu_hour"),
            {ACTIVITY + HOURS_OF_FACTS, ACTIVITY + DAYS_OF_HOURS},
        ),
        (_SWAP.format("intensity_gpu_day"), {ACTIVITY + DAYS_OF_HOURS}),
        (
            "UPDATE usage_gpu_hour SET node_id = node_id + 1",
            {HOURS_OF_FACTS, DAYS_OF_HOURS},
        ),
        (
            "DELETE FROM usage_gpu_hour WHERE hour_start = '2026-10-07 12:00Z'",
            {HOURS_OF_FACTS, DAYS_OF_HOURS},
        ),
        (
            "DELETE FROM usage_gpu_day WHERE billing_on = '2026-10-07'",
            {DAYS_OF_HOURS},
        ),
        (
            "DELETE FROM usage_gpu_day WHERE busy_ms > 0",
            {DAYS_OF_HOURS, SUMMED_DAYS},
        ),
        ("UPDATE usage_gpu_day SET price_id = 0", {SUMMED_DAYS}),
        (
            "UPDATE intensity_gpu_hour SET energy_mj = energy_mj + 1",
            {ACTIVITY + HOURS_OF_FACTS, ACTIVITY + DAYS_OF_HOURS},
        ),
        (
            "DELETE FROM intensity_gpu_day WHERE billing_on = '2026-10-07'",
            {ACTIVITY + DAYS_OF_HOURS},
        ),
    ],
)
def test_a_wrong_rollup_is_found(
    books_of_days: Books, fault: str, names: set[str]
) -> None:
    assert broken() == []
    with connection.cursor() as cursor:
        cursor.execute(fault)
    assert set(broken()) == names


def test_what_is_not_written_yet_is_read_from_finer_tables(
    books_of_days: Books,
) -> None:
    """An hour by GPU that changed is read from its facts, and its day from hours."""
    home = Cluster.objects.get(name="north")
    changed = datetime(2026, 10, 7, 12, tzinfo=UTC)
    before = {by: all_of(by) for by in ("gpu", "gpu,hour", "node,team", "gpu,day")}
    with connection.cursor() as cursor:  # what a reader must not see
        cursor.execute(
            "UPDATE usage_gpu_hour SET busy_ms = 1 WHERE hour_start = %s", [changed]
        )
        cursor.execute(
            "UPDATE usage_gpu_day SET busy_ms = 1 WHERE billing_on = '2026-10-07'"
        )
    assert all_of("gpu") != before["gpu"]
    PendingGpuHour.objects.create(
        cluster=home,
        hour_start=changed,
        billing_days=[billing_day(changed)],
        needs_hour=True,
    )
    assert {by: all_of(by) for by in before} == before
    assert broken() == []
    books_of_days.settle()
    assert not PendingGpuHour.objects.exists()
    assert {by: all_of(by) for by in before} == before
    assert broken() == []


def all_of(by: str) -> list[dict[str, Any]]:
    """Rows of all three days and of facts at their ends."""
    return asked(
        TEN + timedelta(minutes=5), TEN + 3 * DAY - timedelta(minutes=25), by=by
    )


def test_an_hour_that_goes_on_is_not_written_by_gpu(books: Books) -> None:
    """A running hour waits until it has ended; its day until that has."""
    now = database_now().replace(minute=0, second=0, microsecond=0)
    books.configure(set_up("UTC"))
    gpu, pod = books.gpu("GPU-1"), books.pod("vision", space="vision")
    for at in (now - HOUR, now):
        books.write(gpu, at, pod, busy=WINDOW_MS)
    books.settle()
    waiting = {(row.hour_start, row.needs_hour) for row in PendingGpuHour.objects.all()}
    assert (now, True) in waiting
    assert (now - HOUR, True) not in waiting
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT hour_start FROM usage_gpu_hour")
        assert cursor.fetchall() == [(now - HOUR,)]
    [row] = asked(now - HOUR, now + HOUR, by="gpu")
    assert row["busy_ms"] == 2 * WINDOW_MS


def expire(newest: datetime) -> None:
    """Let go what has expired once a window is the newest one."""
    IngestWindow.objects.update_or_create(
        cluster=Cluster.objects.get(name="north"), defaults={"window_start": newest}
    )
    retention.enforce()


def test_they_outlive_the_facts_and_days_outlive_hours(books_of_days: Books) -> None:
    start, end = TEN, TEN + 3 * DAY  # 12:00 in Berlin: no days
    day = {"from": "2026-10-07", "to": "2026-10-08"}
    hours, days = asked(start, end, by="gpu"), report("usage", by="gpu", **day)
    expire(TEN + 60 * DAY)
    assert asked(start, end, by="gpu") == hours
    assert report("usage", by="gpu", **day) == days
    assert "select whole hours" in refusal(
        "usage",
        by="gpu",
        **{"from": (TEN + timedelta(minutes=5)).isoformat(), "to": end.isoformat()},
    )
    expire(datetime(2026, 11, 1, tzinfo=UTC) + 91 * DAY)  # months go as a whole
    assert asked(start, end, by="gpu") == hours
    expire(datetime(2026, 11, 1, tzinfo=UTC) + 92 * DAY)
    said = refusal(
        "usage", by="gpu", **{"from": start.isoformat(), "to": end.isoformat()}
    )
    assert "hours by GPU before 2026-10-10 are not kept; select a later range" in said
    assert report("usage", by="gpu", **day) == days
    assert broken() == []
    expire(datetime(2026, 11, 1, tzinfo=UTC) + 397 * DAY)
    said = refusal("usage", by="gpu", **day)
    assert "days by GPU before 2026-10-08 are not kept; select a later range" in said
    [row] = report("usage", **day, team="vision")  # days without GPUs are kept for good
    assert row["busy_ms"] == 48 * WINDOW_MS


@pytest.mark.usefixtures("books_of_days")
def test_the_list_of_gpus_has_time_and_money_of_the_same_range(client: Client) -> None:
    """Without a range: of the days that facts are kept, although hours are kept for longer."""
    for gpu in Gpu.objects.all():
        node = Node.objects.get(name=f"node-of-{gpu.uuid}")
        GpuPresence.objects.create(gpu=gpu, node=node, start_ms=to_ms(TEN))
    expire(TEN + 37 * DAY)
    client.force_login(finance())
    rows = client.get("/api/v1/gpus").json()["rows"]
    stored = client.get("/api/v1/ledger?by=gpu").json()["rows"]
    assert [row["gpu"] for row in rows] == ["GPU-1", "GPU-2"]
    for row, ever in zip(rows, stored, strict=True):
        assert 0 < row["wall_ms"] < ever["wall_ms"]
        assert Decimal(row["capacity_cost"]) == Decimal(row["wall_ms"]) * 12 / HOUR_MS


def test_a_gpu_that_moved_has_time_and_money_of_the_selected_node(
    books: Books, client: Client
) -> None:
    books.configure(set_up())
    gpu, pod = books.gpu("GPU-1"), books.pod("vision", space="vision")
    later = TEN + timedelta(minutes=5)
    books.write(gpu, TEN, pod, busy=WINDOW_MS)
    old = Node.objects.get(name="node-of-GPU-1")
    Node.objects.filter(pk=old.pk).update(name="old")
    new = Node.objects.create(cluster=gpu.cluster, name="node-of-GPU-1")
    for n in range(2):
        books.write(gpu, later + n * timedelta(minutes=5), pod, idle=WINDOW_MS)
    books.settle()
    begin, moved = to_ms(TEN), to_ms(later)
    GpuPresence.objects.create(gpu=gpu, node=old, start_ms=begin, end_ms=moved)
    GpuPresence.objects.create(gpu=gpu, node=new, start_ms=moved)
    client.force_login(finance())
    for node, windows in (("old", 1), ("node-of-GPU-1", 2)):
        [row] = client.get(f"/api/v1/gpus?node={node}").json()["rows"]
        assert (row["node"], row["wall_ms"]) == (node, windows * WINDOW_MS)
        assert row["capacity_cost"] == f"{windows}.000000"  # 12 an hour


def test_hours_wait_for_a_day_that_is_being_computed(books_of_days: Books) -> None:
    DirtyHour.objects.create(
        cluster=Cluster.objects.get(name="north"), hour_start=TEN, reason="facts"
    )
    expire(datetime(2026, 11, 1, tzinfo=UTC) + 92 * DAY)
    assert counts()["usage_gpu_hour"] > 0


def counts() -> dict[str, int]:
    """Rows by table."""
    found = {}
    with connection.cursor() as cursor:
        for table in BY_GPU:
            cursor.execute(f"SELECT count(*) FROM {table}")  # noqa: S608
            found[table] = int(cursor.fetchone()[0])
    return found


def price(books: Books, since: str, rate: str) -> None:
    """A price from an instant on, as a set-up file gives it."""
    books.configure(
        set_up().replace(
            "prices: [",
            f"prices: [{{model: NVIDIA-L40S, rate_per_gpu_hour: '{rate}', "
            f"valid_from: '{since}'}}, ",
        )
    )
    books.settle()


def charges(start: str, end: str) -> list[str]:
    rows = report("usage", by="gpu", **{"from": start, "to": end})
    return [str(row["charge"]) for row in rows]


@pytest.mark.parametrize("newest", [TEN + 3 * DAY, TEN + 60 * DAY, TEN + 130 * DAY])
def test_a_back_dated_price_reaches_them(
    books_of_days: Books, newest: datetime
) -> None:
    """From facts, from hours by GPU, and from days by GPU alone."""
    expire(newest)
    price(books_of_days, "2026-10-07T00:00:00+02:00", "24")
    assert charges("2026-10-07", "2026-10-08") == ["96.000000"] * 2
    if newest < TEN + 92 * DAY:
        assert charges("2026-10-06", "2026-10-07") == ["24.000000"] * 2
    assert broken() == []


def test_a_price_within_a_day_of_which_no_hour_is_left(books_of_days: Books) -> None:
    """Its time cannot be divided by GPU any more: that day is refused, and no other."""
    expire(TEN + 130 * DAY)
    price(books_of_days, "2026-10-07T12:00:00+02:00", "24")
    assert "days by GPU before 2026-10-08 are not kept" in refusal(
        "usage", by="gpu", **{"from": "2026-10-07", "to": "2026-10-09"}
    )
    assert charges("2026-10-08", "2026-10-09") == ["96.000000"] * 2
    assert broken() == []


def test_partitions_of_all_of_them_are_made_ahead() -> None:
    names = {table.name for table in partitions.ALL}
    assert set(BY_GPU) <= names


def test_facts_answer_before_the_first_rollup_by_gpu(books_of_days: Books) -> None:
    """As after an upgrade: hours are there, and not by GPU yet."""
    start, end = TEN + HOUR, TEN + 2 * DAY
    before = asked(start, end, by="gpu")
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(BY_GPU)}")
    assert asked(start, end, by="gpu") == before
    home = Cluster.objects.get(name="north")
    for at in instants(start, end):  # what the migration does
        hour = at.replace(minute=0)
        PendingGpuHour.objects.get_or_create(
            cluster=home,
            hour_start=hour,
            defaults={"billing_days": [billing_day(hour)], "needs_hour": True},
        )
    books_of_days.settle()
    with CaptureQueriesContext(connection) as queries:
        assert asked(start, end, by="gpu") == before
    assert "FROM usage_window u" not in " ".join(query["sql"] for query in queries)


@pytest.mark.parametrize(
    ("by", "days", "rows"),
    [
        ("gpu,hour", 2, 48),  # 25,000 GPUs for each hour
        ("pod", 1, 288),  # and for each five-minute window
    ],
)
def test_a_request_that_reads_too_much_is_refused(
    books_of_days: Books, client: Client, by: str, days: int, rows: int
) -> None:
    home = Cluster.objects.get(name="north")
    Gpu.objects.bulk_create(
        Gpu(cluster=home, uuid=f"GPU-of-many-{n}") for n in range(24_998)
    )
    client.force_login(finance())
    period = f"from=2026-10-07&to={TEN.date() + (days + 1) * DAY}"
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(f"/api/v1/usage?{period}&by={by}")
    assert answer.status_code == 400
    said = answer.json()["detail"]
    assert f"reads about {25_000 * rows:,} rows by GPU; the limit is 1,000,000" in said
    assert "export it with 'manage.py report'" in said
    read = " ".join(query["sql"] for query in queries)
    assert "sum(" not in read  # it is counted, not tried
    for fine in ("by=gpu", f"by={by}&gpu=GPU-1", "by=team,hour"):
        rows_of = client.get(f"/api/v1/usage?{period}&{fine}")
        assert rows_of.status_code == 200, fine
    start, end = period.removeprefix("from=").split("&to=")
    assert report("usage", by=by, **{"from": start, "to": end})  # a command has time


def finance() -> User:
    """Somebody who sees every team."""
    user = User.objects.create_user("fin", "fin@example.com")
    Person.objects.update_or_create(
        user=user, defaults={"role": OrganizationRole.FINANCE}
    )
    return user
