"""The end of a cluster: all presence and holds end there, and it can be taken back (N38).

Not here: the page and REST (tests/integration/usage, tests/integration/api), and what
data health says of a silent cluster (test_cluster_issues).
"""

import io
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from accounting.kit.audit import SYSTEM
from accounting.metering.models.cluster import Cluster, GpuPresence
from accounting.metering.models.ledger import (
    IngestWindow,
    PendingRetirement,
    RetiredHour,
)
from accounting.metering.tasks.facts import partitions, retention
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.retirement import apply_retirement, retire
from accounting.usage.tasks.rollup import roll_up_dirty_hours
from tests.builders import HOUR_ZERO, SETUP, Text, times
from tests.integration.metering.support import facts, report, run

pytestmark = pytest.mark.django_db(transaction=True)
HOUR_MS = 3_600_000
TEN = datetime(2026, 10, 1, 10, tzinfo=UTC)
SECONDS = 2 * 3600


def two_gpus(seconds: int = SECONDS) -> Text:
    """Node n1 with two GPUs from 10:00 on; `train` holds one of them all the time."""
    text = Text()
    at = times(HOUR_ZERO, HOUR_ZERO + seconds)
    text.node("n1", 2, at)
    text.pod("train", at, node="n1", bound=HOUR_ZERO)
    text.utilization("GPU-a", "n1", dict.fromkeys(at, 0.5), pod="train")
    text.utilization("GPU-b", "n1", dict.fromkeys(at, 0.0))
    return text


def configured(folder: Path, retired: str | None) -> str:
    """`configure` with the cluster's end; None leaves the key out."""
    path = folder / "setup.yaml"
    more = "" if retired is None else f", retired: {retired}"
    path.write_text(
        f"{SETUP}\nclusters:\n"
        f"  - {{name: north, sources: [{{kind: openmetrics}}]{more}}}\n"
    )
    return run("configure", path)


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    configured(tmp_path, None)
    run("import_metrics", "--cluster=north", two_gpus().write(tmp_path / "a.om"))
    return tmp_path


def broken() -> list[str]:
    """The invariants that `verify` finds broken."""
    said = io.StringIO()
    with suppress(SystemExit):
        call_command("verify", stdout=said)
    return [line for line in said.getvalue().splitlines() if line.startswith("FAIL")]


def ledger() -> dict[str, Any]:
    [row] = report("ledger", by="cluster") or [{"wall_ms": 0}]
    return row


def test_presence_and_holds_end_where_a_cluster_is_retired(imported: Path) -> None:
    said = configured(imported, "2026-10-01T11:00Z")
    assert "changed: cluster north is retired 2026-10-01T11:00:00Z" in said
    row = ledger()
    # two GPUs for one hour, one of them held and half busy; 2.10 an hour each
    assert row["wall_ms"] == 2 * HOUR_MS
    assert (row["busy_ms"], row["idle_ms"]) == (HOUR_MS // 2, HOUR_MS // 2)
    assert row["free_ms"] == HOUR_MS
    assert row["wall_charge"] == "4.200000"
    [usage] = report("usage", by="team")
    assert (usage["team"], usage["charge"]) == ("vision", "2.100000")
    [hold] = report("holds")
    assert hold["ended"] == "2026-10-01T11:00:00Z"
    assert hold["ended_by"] == "retired"
    assert broken() == []
    assert not PendingRetirement.objects.exists()


def test_configure_is_idempotent_and_leaves_what_it_does_not_name(
    imported: Path,
) -> None:
    configured(imported, "2026-10-01T11:00Z")
    before = facts()
    assert configured(imported, "2026-10-01T11:00Z") == "no changes\n"
    assert configured(imported, None) == "no changes\n"
    assert facts() == before


def test_an_end_inside_a_window_cuts_it_to_the_millisecond(imported: Path) -> None:
    configured(imported, "2026-10-01T11:32:10Z")
    expected = 92 * 60_000 + 10_000
    assert ledger()["wall_ms"] == 2 * expected
    assert report("holds")[0]["ended"] == "2026-10-01T11:32:10Z"
    assert broken() == []


def test_an_end_can_be_moved_and_taken_back(imported: Path) -> None:
    before, holds = facts(), report("holds")
    configured(imported, "2026-10-01T10:30Z")
    assert ledger()["wall_ms"] == HOUR_MS
    configured(imported, "2026-10-01T11:30Z")
    assert ledger()["wall_ms"] == 3 * HOUR_MS
    configured(imported, "2026-10-01T10:15Z")
    assert ledger()["wall_ms"] == HOUR_MS // 2
    said = configured(imported, "null")
    assert "changed: cluster north is in use" in said
    assert facts() == before
    assert report("holds") == holds
    assert ledger()["wall_ms"] == 4 * HOUR_MS
    assert broken() == []


def test_an_end_before_all_data_leaves_nothing(imported: Path) -> None:
    configured(imported, "2022-06-30")
    assert facts() == []
    assert report("holds") == []
    assert report("usage", by="team") == []
    assert broken() == []


def test_an_end_after_the_last_data_ends_what_is_open(imported: Path) -> None:
    """No window lies behind it: nothing is booked anew, and nothing stays open."""
    before, holds = facts(), report("holds")
    configured(imported, "2026-10-03T00:00Z")
    assert facts() == before
    [hold] = report("holds")
    assert (hold["ended"], hold["ended_by"]) == ("2026-10-03T00:00:00Z", "retired")
    assert not GpuPresence.objects.filter(end_ms=None).exists()
    configured(imported, "2026-10-05T00:00Z")
    assert report("holds")[0]["ended"] == "2026-10-05T00:00:00Z"
    configured(imported, "2026-10-02T00:00Z")
    assert report("holds")[0]["ended"] == "2026-10-02T00:00:00Z"
    run("import_metrics", "--cluster=north", imported / "a.om")
    assert report("holds")[0]["ended"] == "2026-10-02T00:00:00Z"
    configured(imported, "null")
    assert (facts(), report("holds")) == (before, holds)
    assert GpuPresence.objects.filter(end_ms=None).count() == 2
    assert broken() == []


def test_the_end_of_a_hold_long_silent_can_be_taken_back(tmp_path: Path) -> None:
    """kube-state fell silent half a day before the exporters: its hold is derived again too."""
    text = two_gpus(600)
    at = times(HOUR_ZERO, HOUR_ZERO + 12 * 3600, 60)
    text.utilization("GPU-a", "n1", dict.fromkeys(at[11:], 0.5))
    configured(tmp_path, None)
    run("import_metrics", "--cluster=north", text.write(tmp_path / "a.om"))
    holds = report("holds")
    for end in ("2026-10-01T20:00Z", "2026-10-02T00:00Z"):
        configured(tmp_path, end)
        assert report("holds")[0]["ended_by"] == "retired"
        configured(tmp_path, "null")
        assert report("holds") == holds
    assert broken() == []


def test_an_end_in_the_future_changes_nothing_yet(imported: Path) -> None:
    before, holds = facts(), report("holds")
    configured(imported, "2100-12-01")
    assert facts() == before
    assert report("holds") == holds
    # that time has come, and no data since: the next run of a worker ends it
    Cluster.objects.update(retired_at=TEN + timedelta(days=20))
    ingest_all(Cluster.objects.get())
    assert report("holds")[0]["ended"] == "2026-10-21T10:00:00Z"
    assert facts() == before


def test_what_is_imported_after_the_end_books_nothing(tmp_path: Path) -> None:
    configured(tmp_path, "2026-10-01T11:00Z")
    run("import_metrics", "--cluster=north", two_gpus().write(tmp_path / "a.om"))
    assert ledger()["wall_ms"] == 2 * HOUR_MS
    assert report("holds")[0]["ended_by"] == "retired"
    assert broken() == []


def test_the_order_of_import_and_end_makes_no_difference(imported: Path) -> None:
    configured(imported, "2026-10-01T11:02:30Z")
    before, holds = facts(), report("holds")
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE accounting_cluster, {partitions.TABLES} CASCADE")
    configured(imported, "2026-10-01T11:02:30Z")
    run("import_metrics", "--cluster=north", imported / "a.om")
    assert facts() == before
    assert report("holds") == holds


def test_a_hold_that_ended_before_is_as_it_was(tmp_path: Path) -> None:
    text = two_gpus()
    at = times(HOUR_ZERO, HOUR_ZERO + 1800)
    text.pod("short", at, node="n1", bound=HOUR_ZERO, completed=HOUR_ZERO + 1200)
    configured(tmp_path, None)
    run("import_metrics", "--cluster=north", text.write(tmp_path / "a.om"))
    before = {row["pod"]: row for row in report("holds")}
    configured(tmp_path, "2026-10-01T11:00Z")
    after = {row["pod"]: row for row in report("holds")}
    assert after["short"] == before["short"]
    assert after["short"]["ended_by"] == "Succeeded"
    assert after["train"]["ended_by"] == "retired"


def page_tables() -> list[dict[str, str]]:
    """The rows that docs/operations.md shows, before and after."""
    text = (Path(__file__).parents[4] / "docs" / "operations.md").read_text()
    found = []
    for block in re.findall(r"```retired-ledger\n(.*?)```", text, re.DOTALL):
        head, line = block.strip().splitlines()
        found.append(dict(zip(head.split(), line.split(), strict=True)))
    return found


def test_the_page_shows_what_retiring_changes(imported: Path) -> None:
    before, after = page_tables()
    shown = ledger()
    assert {name: str(shown[name]) for name in before} == before
    configured(imported, "2026-10-01T11:00Z")
    shown = ledger()
    assert {name: str(shown[name]) for name in after} == after


# --- years of it, bounded and resumable --------------------------------------------


def test_the_work_is_done_day_by_day_and_goes_on_where_it_was(imported: Path) -> None:
    later = Text()
    for day in (1, 2, 3):
        start = HOUR_ZERO + day * 86_400
        later.node("n1", 2, times(start, start + 600))
    run("import_metrics", "--cluster=north", later.write(imported / "b.om"))
    cluster = Cluster.objects.get()
    everything = ledger()["wall_ms"]
    assert retire(cluster, TEN + timedelta(hours=1), actor=SYSTEM, reason="a test")
    assert ledger()["wall_ms"] == everything  # nothing is done in the request
    for done in range(4):
        changed = apply_retirement(cluster, for_s=0)
        assert changed is not None
        assert changed.length_ms <= 86_400_000
        assert changed.start_ms // 86_400_000 == (HOUR_ZERO // 86_400) + 3 - done
        # whoever looks meanwhile sees a ledger that adds up
        roll_up_dirty_hours(cluster.pk)
        assert broken() == []
    assert apply_retirement(cluster) is None
    assert ledger()["wall_ms"] == 2 * HOUR_MS


def test_years_of_dark_time_are_emptied_without_asking_anybody(imported: Path) -> None:
    cluster = Cluster.objects.get()
    start = TEN - timedelta(days=3 * 365)
    first = IngestWindow.objects.create(
        cluster=cluster, window_start=start, state="done", content_hash=b"x"
    )
    fields = IngestWindow._meta.concrete_fields
    same = {one.column for one in fields} - {"id", "window_start"}
    columns = ", ".join(sorted(same))
    with connection.cursor() as cursor:
        cursor.execute(
            f"""INSERT INTO accounting_ingestwindow (window_start, {columns})
                SELECT window_start + n * interval '1 hour', {columns}
                FROM accounting_ingestwindow, generate_series(1, %s) n WHERE id = %s""",  # noqa: S608  # columns of the model
            [3 * 365 * 24 - 1, first.pk],
        )
    assert retire(cluster, start, actor=SYSTEM, reason="a test")
    apply_retirement(cluster)
    waiting = IngestWindow.objects.exclude(state="done").count()
    assert waiting == 0
    roll_up_dirty_hours(cluster.pk)
    assert facts() == []
    assert report("ledger", by="cluster") == []


# --- facts that have expired -------------------------------------------------------


@pytest.fixture
def expired(imported: Path) -> Path:
    """Facts and samples are gone, 40 days later: only hours are kept."""
    later = {"window_start": TEN + timedelta(days=40), "state": "done"}
    cluster = Cluster.objects.get()
    IngestWindow.objects.create(cluster=cluster, content_hash=b"x", **later)
    retention.enforce()
    assert facts() == []
    return imported


def october() -> dict[str, Any]:
    rows = report("ledger", by="day")
    [row] = [row for row in rows if row["day"] == "2026-10-01"] or [{"wall_ms": 0}]
    return row


def test_hours_of_expired_facts_end_on_an_hour(expired: Path) -> None:
    assert october()["wall_ms"] == 4 * HOUR_MS
    configured(expired, "2026-10-01T11:00Z")
    row = october()
    assert row["wall_ms"] == 2 * HOUR_MS
    assert row["wall_charge"] == "4.200000"
    assert broken() == []
    assert RetiredHour.objects.exists()


def test_hours_of_expired_facts_come_back_as_they_were(expired: Path) -> None:
    days, usage = report("ledger", by="day"), report("usage", by="team,day")
    by_gpu = report("usage", by="gpu,node,hour")
    hold = report("holds")
    assert by_gpu
    configured(expired, "2026-10-01T11:00Z")
    configured(expired, "null")
    assert report("ledger", by="day") == days
    assert report("usage", by="team,day") == usage
    assert report("usage", by="gpu,node,hour") == by_gpu
    assert report("holds") == hold
    assert not RetiredHour.objects.exists()
    assert broken() == []


def test_an_end_inside_an_hour_of_expired_facts_is_refused(expired: Path) -> None:
    before = october()
    said = io.StringIO()
    path = expired / "wrong.yaml"
    path.write_text("clusters: [{name: north, retired: 2026-10-01T11:30Z}]")
    with pytest.raises(SystemExit) as ended:
        call_command("configure", str(path), stderr=said)
    assert ended.value.code == 2
    assert "'retired' cannot be 2026-10-01T11:30:00Z" in said.getvalue()
    assert "must align to an hour: 2026-10-01T11:00Z" in said.getvalue()
    assert october() == before
    assert Cluster.objects.get().retired_at is None
