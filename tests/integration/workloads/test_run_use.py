"""The time of one run by GPU, against the ledger; its holds, and its page."""

from collections.abc import Iterable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from accounting.access.models.people import (
    Membership,
    OrganizationRole,
    Person,
    TeamRole,
)
from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING, Scope
from accounting.core.efficiency import StateTimes, sum_times
from accounting.core.interval import HOUR_MS, Interval, to_ms
from accounting.kit.reads.selection import Selection
from accounting.kit.run_address import run_url
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import PendingGpuHour
from accounting.metering.models.pod import PodHold
from accounting.usage.reads.usage import usage_rows
from scheduler_view.waits.models import WaitRecord
from scheduler_view.workloads import reads
from scheduler_view.workloads.reads import (
    GpuUse,
    RunKey,
    gpus_of_nodes,
    hours_of_life,
    run_holds,
    run_use,
)
from tests.integration.prices.books import TEN, WINDOW_MS
from tests.integration.workloads.conftest import ENDED

pytestmark = pytest.mark.usefixtures("run")
KEY = RunKey("vision", "vision", "Job", "train-7f3")
CRON = KEY._replace(kind="CronJob")
LIFE = Interval(to_ms(TEN), to_ms(TEN) + ENDED * WINDOW_MS)
DAY = timedelta(days=1)


def selection(period: Interval, key: RunKey = KEY) -> Selection:
    names = {"team": key.team, "namespace": key.namespace, "workload": key.name}
    return Selection(EVERYTHING, period, {k: (v,) for k, v in names.items()}, 1_000_000)


def of_ledger(period: Interval, key: RunKey = KEY) -> dict[str, StateTimes]:
    """As reports by GPU have it."""
    return {
        row.key["gpu"]: StateTimes(row.busy_ms, row.idle_ms, row.unknown_ms)
        for row in usage_rows(selection(period, key), ("workload", "gpu"))
        if row.key["workload_kind"] == key.kind
    }


def by_gpu(uses: Iterable[GpuUse], names: dict[int, str]) -> dict[str, StateTimes]:
    found: dict[str, list[StateTimes]] = {}
    for gpu, step in uses:
        found.setdefault(names[gpu], []).append(step.times)
    return {name: sum_times(times) for name, times in found.items()}


def read(period: Interval, key: RunKey = KEY) -> tuple[str, dict[str, StateTimes]]:
    held = run_holds(EVERYTHING, key)
    assert held is not None
    gpus = gpus_of_nodes(held.nodes)
    use = run_use(selection(period, key), key, held, gpus)
    return use.step, by_gpu(use.uses, {gpu.id: gpu.uuid for gpu in gpus})


BILLING = Interval(
    to_ms(TEN.replace(hour=18, minute=30) - DAY),
    to_ms(TEN.replace(hour=18, minute=30) + DAY),
)
"""Two billing days of Kolkata: midnight there divides an hour."""
ONE_DAY = Interval(BILLING.end_ms - 24 * HOUR_MS, BILLING.end_ms)


@pytest.mark.parametrize("period", [BILLING, ONE_DAY])
@pytest.mark.parametrize("key", [KEY, CRON])
def test_windows_hours_and_days_are_those_of_the_ledger(
    period: Interval, key: RunKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = of_ledger(period, key)
    if key == CRON and period == ONE_DAY:
        assert read(period, key)[1] == expected == {}
        return
    assert read(period, key) == ("window", expected)
    assert len(expected) == (2 if key == KEY else 1)
    monkeypatch.setattr(reads, "MOST_WINDOWS", 1)
    assert read(period, key) == ("hour", expected)
    monkeypatch.setattr(reads, "HOURLY_MS", HOUR_MS // 4)
    assert read(period, key) == ("day", expected)


def test_hours_that_are_not_written_by_gpu_are_read_from_facts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = of_ledger(BILLING)
    monkeypatch.setattr(reads, "MOST_WINDOWS", 1)
    with connection.cursor() as cursor:
        cursor.execute(
            """DELETE FROM usage_gpu_hour WHERE extract(hour FROM hour_start) IN (11, 18)
               RETURNING cluster_id, hour_start, billing_on"""
        )
        gone = {(cluster, at): day for cluster, at, day in cursor.fetchall()}
    for (cluster, at), day in gone.items():
        PendingGpuHour.objects.create(
            cluster_id=cluster, hour_start=at, billing_days=[day], needs_hour=True
        )
    assert len(gone) > 1
    assert read(BILLING) == ("hour", expected)


def test_hours_remain_when_facts_have_expired() -> None:
    before = of_ledger(BILLING)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM usage_window")
    assert read(BILLING) == ("hour", of_ledger(BILLING))
    assert of_ledger(BILLING) == before


def test_its_hours_together_are_its_total() -> None:
    [row] = [
        row
        for row in usage_rows(selection(BILLING), ("workload",))
        if row.key["workload_kind"] == "Job"
    ]
    held = run_holds(EVERYTHING, KEY)
    assert held is not None
    total = sum_times(step.times for step in hours_of_life(KEY, held, LIFE))
    assert total == StateTimes(row.busy_ms, row.idle_ms, row.unknown_ms)
    assert total.allocated_ms == 2 * ENDED * WINDOW_MS


def test_its_holds_say_when_it_began_and_ended() -> None:
    held = run_holds(EVERYTHING, KEY)
    assert held is not None
    assert (held.began_ms, held.ended_ms) == (LIFE.start_ms, LIFE.end_ms)
    assert (held.pod_count, held.created_ms) == (2, LIFE.start_ms - 90_000)
    assert held.last_end == "Succeeded"


def test_only_people_of_its_team_read_its_holds() -> None:
    vision, speech = (Team.objects.get(slug=slug).pk for slug in ("vision", "speech"))
    assert run_holds(Scope(frozenset({vision})), KEY) is not None
    assert run_holds(Scope(frozenset({speech})), KEY) is None
    assert run_holds(EVERYTHING, KEY._replace(team="speech")) is None


def client(slug: str = "") -> Client:
    user = User.objects.create(username=slug or "ana")
    if slug:
        team = Team.objects.get(slug=slug)
        Membership.objects.create(user=user, team=team, role=TeamRole.LEAD)
    else:
        Person.objects.create(user=user, role=OrganizationRole.ADMIN)
    found = Client()
    found.force_login(user)
    return found


def test_its_page_has_its_whole_life_and_the_figures_of_the_ledger() -> None:
    url = run_url(*KEY)
    page = client().get(url)
    assert page.status_code == 200
    [row] = [
        row
        for row in usage_rows(selection(BILLING), ("workload",))
        if row.key["workload_kind"] == "Job"
    ]
    total = page.context["total"]
    assert (total.busy_ms, total.idle_ms, total.unknown_ms) == (
        *(row.busy_ms, row.idle_ms, row.unknown_ms),
    )
    assert total.charge
    assert row.charge
    assert round(total.charge.amount, 2) == round(row.charge.amount, 2) == 100
    assert page.context["lanes_ms"] == total.allocated_ms
    lengths = {part.name: part.length_ms for part in page.context["life"].parts}
    assert lengths == {
        "Waiting": 90_000,
        "Start-up and warm-up": 20 * 60_000,
        "Busy": (120 - 4) * WINDOW_MS,
        "Idle at the end": 120 * WINDOW_MS,
    }
    text = " ".join(page.content.decode().split())
    assert "<strong>2 <span" in text
    assert "cost <strong>€100.00</strong>" in text


def test_a_range_in_the_address_cuts_it() -> None:
    page = client().get(f"{run_url(*KEY)}?from=2026-10-07&to=2026-10-08")
    assert page.context["total"].allocated_ms == sum(
        times.allocated_ms for times in of_ledger(ONE_DAY).values()
    )
    lengths = {part.name: part.length_ms for part in page.context["life"].parts}
    assert lengths["Idle at the end"] == 120 * WINDOW_MS
    assert page.context["life_by"] == "window"


def test_a_life_that_is_read_by_hour_is_right_where_it_was_first_and_last_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, mine = run_url(*KEY), client()
    whole = mine.get(url).context["life"]
    monkeypatch.setattr(reads, "HOURLY_MS", HOUR_MS // 4)
    monkeypatch.setattr(reads, "MOST_WINDOWS", 4 * 24 * 2)
    by_day = mine.get(url).context
    assert (by_day["step"], by_day["life_by"]) == ("day", "window")
    assert by_day["life"] == whole
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM usage_window")
    by_hour = mine.get(url).context
    assert by_hour["life_by"] == "hour"
    lengths = {part.name: part.length_ms for part in by_hour["life"].parts}
    assert lengths == {
        "Waiting": 90_000,
        "Start-up and warm-up": None,
        "Busy": 10 * HOUR_MS,
        "Idle at the end": 10 * HOUR_MS,
    }


def test_others_learn_nothing_of_it() -> None:
    assert client("speech").get(run_url(*KEY)).status_code == 404
    mine = client("vision")
    assert mine.get(run_url(*KEY)).status_code == 200
    for wrong in (
        KEY._replace(team="speech"),
        KEY._replace(kind="Deployment"),
        KEY._replace(name="train-7f4"),
        KEY._replace(namespace="speech"),
    ):
        assert mine.get(run_url(*wrong)).status_code == 404


def test_a_repeated_run_has_no_life_of_its_own() -> None:
    page = client().get(run_url(*CRON))
    assert page.status_code == 200
    assert "life" not in page.context


def test_a_run_that_held_nothing_has_a_page_with_its_wait() -> None:
    PodHold.objects.filter(pod__workload__name="other").delete()
    for table in ("usage_hour", "usage_day", "usage_gpu_hour", "usage_gpu_day"):
        with connection.cursor() as cursor:
            cursor.execute(
                f"""DELETE FROM {table} WHERE workload_id = (
                    SELECT id FROM accounting_workload WHERE name = 'other' AND kind = 'Job')"""  # noqa: S608
            )
    wait = WaitRecord.objects.create(
        cluster=Cluster.objects.get(),
        kind="Job",
        namespace="vision",
        name="other",
        stage="unschedulable",
        cause="no_free_gpu",
        created_at=TEN,
    )
    mine = client("vision")
    page = mine.get(run_url(*KEY._replace(name="other")))
    assert page.status_code == 200
    text = " ".join(page.content.decode().split())
    assert "held no GPU in" in text
    assert f"/queues/{wait.pk}" in text
    unit = mine.get(f"/queues/{wait.pk}").content.decode()
    assert run_url(*KEY._replace(name="other")) in unit


def test_the_wait_of_its_first_pod_is_part_of_its_life() -> None:
    minute = timedelta(minutes=1)
    WaitRecord.objects.create(
        cluster=Cluster.objects.get(),
        kind="Job",
        namespace="vision",
        name="train-7f3",
        created_at=TEN - 30 * minute,
        admitted_at=TEN - 10 * minute,
        bound_at=TEN,
        started_at=TEN + minute,
    )
    page = client().get(run_url(*KEY))
    lengths = {part.name: part.length_ms for part in page.context["life"].parts}
    assert (lengths["Admission"], lengths["Scheduling"]) == (20 * 60_000, 10 * 60_000)
    [line] = page.context["waits"]
    assert (line.wait_ms, line.parts.startup_ms) == (30 * 60_000, 60_000)
    assert (lengths["Start-up"], lengths["Warm-up"]) == (60_000, 19 * 60_000)
    assert line.parts.warmup_ms is None


def test_waits_of_other_clusters_are_not_its_own() -> None:
    """A namespace of the same name there may be of a team that this person may not read."""
    wait = WaitRecord.objects.create(
        cluster=Cluster.objects.create(name="secret-cluster"),
        kind=KEY.kind,
        namespace=KEY.namespace,
        name=KEY.name,
        created_at=TEN - timedelta(hours=9),
        admitted_at=TEN - timedelta(hours=2),
    )
    page = client("vision").get(run_url(*KEY))
    assert page.context["waits"] == []
    assert f"/queues/{wait.pk}" not in page.content.decode()
