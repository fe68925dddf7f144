"""Findings that overlap others, from the database to rows and recommendations.

Covered: S21, S22, S30, S31, S33, limits by activeDeadlineSeconds, tiers and teams (S23). The rules
are in `tests/unit/savings/test_overlapping_by_hand.py`.
"""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from accounting.access.models.teams import Binding
from accounting.access.scope import EVERYTHING
from accounting.core.billing_calendar import DayRange
from accounting.metering.models.cluster import NodeFact
from accounting.metering.models.pod import Pod, PodAttribution, PodHold
from accounting.prices.models.price import UnitPrice
from accounting.prices.rules.charge import charge_of
from scheduler_view.clusters.models import ObservationRun, Preemption
from scheduler_view.queues.models.memory import WaitStretch
from scheduler_view.quotas.models import Tier
from scheduler_view.savings.models import WasteFinding
from scheduler_view.savings.reads.recommendations import recommendation_rows
from scheduler_view.savings.reads.row import WasteRow
from scheduler_view.savings.reads.rows import waste_report
from scheduler_view.savings.reads.setting_limits import LimitsOfDays, limits_of_days
from scheduler_view.savings.rules.evidence_wording import evidence_text
from scheduler_view.savings.tasks.compute import compute_due
from scheduler_view.waits.models import WaitRecord
from tests.integration.savings.fleet import HOUR, MODEL, START, Fleet, make_fleet
from tests.integration.savings.test_compute import DAY

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture
def fleet() -> Fleet:
    """Data of one day; the namespace `lab` is of vision."""
    fleet = make_fleet(START + 24 * HOUR)
    Binding.objects.create(
        team=fleet.teams["vision"],
        kind="namespace",
        glob="lab",
        position=1,
        valid_from=START - 24 * HOUR,
    )
    return fleet


def computed(fleet: Fleet, rule: str) -> list[WasteFinding]:
    fleet.roll_up()
    compute_due(fleet.cluster)
    assert compute_due(fleet.cluster) == 0, "nothing changed since"
    return list(WasteFinding.objects.filter(rule=rule).order_by("pk"))


def rows(rule: str) -> list[WasteRow]:
    report = waste_report(EVERYTHING, DayRange(DAY, DAY + timedelta(days=1)), 2)
    return [row for row in report.rows if row.rule == rule]


def record(fleet: Fleet, name: str, created: datetime, **more: Any) -> WaitRecord:
    values = {"resource": "nvidia.com/gpu", "model": MODEL, "priority": 10}
    return WaitRecord.objects.create(
        cluster=fleet.cluster,
        kind=more.pop("kind", "Job"),
        namespace="lab",
        name=name,
        created_at=created,
        **values | {"pod_units": 2, "tier": "batch"} | more,
    )


def test_a_unit_that_waited_behind_lower_priority_is_a_finding(fleet: Fleet) -> None:
    # "low" holds 8 GPUs from 0:00 to 4:00. "high" waits from 1:00 to 3:00 for 2:
    # 2 x 7,200,000 ms = 4 GPU-hours x 2.50 = 10.
    low = fleet.hold("low", *["b" * 48] * 8, team="search")
    wait = record(fleet, "high", START + HOUR, priority=50_000)
    WaitStretch.objects.create(
        wait=wait,
        since=START + HOUR + MINUTE,
        until=START + 3 * HOUR,
        stage="unschedulable",
        cause="no_free_gpu",
        priority=50_000,
        units=2,
        lower_units=8,
        lower_since=START,
        lower_pods=[low.uid],
    )
    # a later, shorter wait behind the same pods, whose first minutes nothing held up
    other = record(fleet, "later", START + 3 * HOUR, priority=50_000)
    behind = {"stage": "unschedulable", "cause": "no_free_gpu", "priority": 50_000}
    begin = START + 3 * HOUR + MINUTE
    for since, lower in ((begin, None), (begin + 4 * MINUTE, 8)):
        WaitStretch.objects.create(
            wait=other,
            since=since,
            until=since + 4 * MINUTE,
            units=2,
            lower_units=lower,
            lower_since=START,
            lower_pods=[low.uid],
            **behind,
        )
    found, short = computed(fleet, "inversion")
    assert (short.unit, short.gpu_ms) == ("Job/lab/later", 2 * 4 * 60_000)
    assert (found.gpu_ms, charge_of(found.raw)) == (14_400_000, Decimal("10.000000"))
    assert found.team == fleet.teams["vision"], "of the team that waited"
    row, _ = rows("inversion")
    assert (row.kind, row.namespace, row.workload) == ("Job", "lab", "high")
    assert (row.subject, row.is_in_totals, row.amount) == (
        "high",
        False,
        Decimal(10),
    )


def test_a_starved_unit_is_named_with_what_overtook_it(fleet: Fleet) -> None:
    ObservationRun.objects.create(
        cluster=fleet.cluster,
        kind="UnitWait",
        tried_at=START + 20 * HOUR,
        seen_at=START + 20 * HOUR,
    )
    fleet.hold("busy", "b" * 12)
    record(fleet, "old", START - 30 * HOUR)
    record(fleet, "next", START - 10 * HOUR, bound_at=START - 9 * HOUR)
    record(fleet, "small", START - 10 * HOUR, bound_at=START - 9 * HOUR, pod_units=1)
    [found] = computed(fleet, "starvation")
    assert (found.unit, found.gpu_ms) == ("Job/lab/old", 0)
    assert not found.raw
    assert found.evidence == {
        "overtaken": 1,
        "waited_ms": 50 * 3_600_000,
        "usual_ms": 86_400_000,
    }
    [row] = rows("starvation")
    assert (row.workload, row.amount, row.team) == ("old", None, "vision")


def preempted(fleet: Fleet, pod: Pod, at: datetime) -> None:
    Preemption.objects.create(
        cluster=fleet.cluster, pod_uid=pod.uid, namespace="lab", pod=pod.name, at=at
    )


def test_a_preempted_pod_lost_at_most_its_busy_time(fleet: Fleet) -> None:
    # two hours of 2 GPUs: 4 GPU-hours x 2.50; with a checkpoint every half hour 1 GPU-hour
    plain = fleet.hold("plain", "b" * 24, "b" * 24)
    safe = fleet.hold(
        "safe", "b" * 24, "b" * 24, labels={"label_checkpoint_interval": "30m"}
    )
    for pod in (plain, safe):
        preempted(fleet, pod, START + 2 * HOUR)
    found = computed(fleet, "preemption_loss")
    assert [(one.pod, one.gpu_ms, charge_of(one.raw)) for one in found] == [
        (plain, 14_400_000, Decimal("10.000000")),
        (safe, 3_600_000, Decimal("2.500000")),
    ]
    assert {one.raw_low for one in found} == {0}
    assert {one.evidence["lifecycle"] for one in found} == {"spot"}
    assert [(row.amount, row.amount_low) for row in rows("preemption_loss")] == [
        (Decimal(10), Decimal(0)),
        (Decimal("2.50"), Decimal(0)),
    ]


def test_a_day_is_due_again_when_a_preemption_becomes_known(fleet: Fleet) -> None:
    pod = fleet.hold("plain", "b" * 24)
    assert computed(fleet, "preemption_loss") == []
    preempted(fleet, pod, START + 2 * HOUR)
    assert len(computed(fleet, "preemption_loss")) == 1


def training(fleet: Fleet, name: str, *letters: str, **more: Any) -> Pod:
    pod = fleet.hold(name, *letters, **more)
    PodAttribution.objects.filter(pod=pod).update(workload_type="training")
    return pod


def test_training_on_on_demand_nodes_could_run_on_spot(fleet: Fleet) -> None:
    # 2 GPU-hours at 2.50, on spot 1.00: 3; nothing runs on spot, so at least 0
    NodeFact.objects.update(lifecycle="on-demand")
    UnitPrice.objects.create(
        model=MODEL,
        kind="rate",
        lifecycle="spot",
        rate_per_gpu_hour=Decimal("1.00"),
        currency="USD",
        valid_from=START - 24 * HOUR,
    )
    training(fleet, "train", "b" * 24)
    training(fleet, "no-retries", "b" * 24)
    training(fleet, "unknown", "b" * 24)
    training(fleet, "wide", *["b" * 12] * 5, workload="wide")
    record(fleet, "train", START, backoff_limit=6)
    record(fleet, "no-retries", START, backoff_limit=0)
    [found] = computed(fleet, "spot_eligible")
    assert found.workload is not None
    assert found.workload.name == "train"
    assert (found.gpu_ms, charge_of(found.raw), found.raw_low) == (
        7_200_000,
        Decimal("3.000000"),
        Decimal(0),
    )
    assert evidence_text(found.evidence) == (
        "its longest hold lasted 2 h, the limit is 24 h; 1 pod at the same time, "
        "the limit is 4"
    )
    PodHold.objects.filter(pod__workload=found.workload).update(ended_ms=None)
    [advice] = [
        one
        for one in recommendation_rows(EVERYTHING, 2)
        if one.row.rule == "spot_eligible"
    ]
    assert (advice.low, advice.high) == (Decimal(0), Decimal(90)), (
        "of a month of 30 such days"
    )


def test_other_limits_of_spot_change_what_was_found(
    fleet: Fleet, settings: Settings
) -> None:
    # SPOT_HOURS: a hold of 2 hours is below 24, and not below 2; then the day is due again.
    NodeFact.objects.update(lifecycle="on-demand")
    UnitPrice.objects.create(
        model=MODEL,
        kind="rate",
        lifecycle="spot",
        rate_per_gpu_hour=Decimal("1.00"),
        currency="USD",
        valid_from=START - 24 * HOUR,
    )
    training(fleet, "train", "b" * 24)
    record(fleet, "train", START, backoff_limit=6)
    assert len(computed(fleet, "spot_eligible")) == 1
    assert compute_due(fleet.cluster) == 0, "nothing changed"
    settings.SPOT_HOURS = 2
    assert compute_due(fleet.cluster) == 1
    assert not WasteFinding.objects.filter(rule="spot_eligible").exists()


def test_losses_on_spot_lower_what_spot_saves(fleet: Fleet) -> None:
    # On spot 2 GPU-hours, both lost: each hour is computed twice. The on-demand node: 2 GPU-hours
    # at 2.50 less 2 at 1.00: 3; less 2 at 1.00 again: at least 1.
    UnitPrice.objects.create(
        model=MODEL,
        kind="rate",
        lifecycle="spot",
        rate_per_gpu_hour=Decimal("1.00"),
        currency="USD",
        valid_from=START - 24 * HOUR,
    )
    lost = training(fleet, "lost", "b" * 24)
    preempted(fleet, lost, START + 2 * HOUR)
    fleet.use_node("n2", lifecycle="on-demand")
    training(fleet, "train", "b" * 24)
    record(fleet, "train", START, backoff_limit=6)
    [found] = computed(fleet, "spot_eligible")
    low = None if found.raw_low is None else charge_of(found.raw_low)
    assert (charge_of(found.raw), low) == (Decimal("3.000000"), Decimal("1.000000"))


def remember(pod: Pod, peak_bytes: int) -> None:
    """A peak of memory in each window of a pod."""
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO intensity_window (cluster_id, window_start, gpu_id, pod_id, node_id,
               memory_seen_us, memory_peak_bytes)
               SELECT cluster_id, window_start, gpu_id, pod_id, node_id, 300000000, %s
               FROM usage_window WHERE pod_id = %s""",
            [peak_bytes, pod.pk],
        )


def test_a_workload_that_a_smaller_profile_would_hold(fleet: Fleet) -> None:
    # 7 % busy in each window: one slice; 1.1 x 8 GB: 1g.10gb, 1/7. 7 GPU-hours at 2.50: 6/7 of
    # 17.5 = 15. Windows at 7 % are never idle, so no other rule explains them.
    pod = fleet.hold("small", "m" * 84)
    remember(pod, 8_000_000_000)
    fleet.hold("unknown", "m" * 84)
    [found] = computed(fleet, "right_size")
    assert found.workload == pod.workload
    assert (found.gpu_ms, charge_of(found.raw)) == (21_600_000, Decimal("15.000000"))
    assert found.evidence == {
        "held_size": "1 GPU",
        "size": "1g.10gb",
        "safe_size": "1g.10gb",
    }


def test_gpus_that_were_never_needed_together(fleet: Fleet) -> None:
    # Two GPUs in turns of ten minutes: one is enough. 2 x 2 h at 2.50: half of 10 is 5.
    fleet.hold("turns", "bbii" * 6, "iibb" * 6)
    [found] = computed(fleet, "right_size")
    assert (found.gpu_ms, charge_of(found.raw)) == (7_200_000, Decimal("5.000000"))
    assert found.evidence["size"] == "1 GPU"


def test_idle_work_is_released_and_not_made_smaller(fleet: Fleet) -> None:
    idle = fleet.hold("idle", "i" * 84)
    remember(idle, 1_000_000)
    assert computed(fleet, "right_size") == []
    assert {row.rule for row in WasteFinding.objects.all()} == {"never_busy"}


def test_a_deadline_limits_a_hold_and_a_label_comes_first(fleet: Fleet) -> None:
    fleet.hold("job", "b" * 24)
    fleet.hold("other", "b" * 24, labels={"label_max_duration": "90m"})
    for name in ("job", "other"):
        record(fleet, name, START, deadline_s=3_600)
    found = computed(fleet, "too_long")
    assert [one.gpu_ms for one in found] == [3_600_000, 1_800_000]
    assert [evidence_text(one.evidence) for one in found] == [
        "held 2 h, limit 1 h (its activeDeadlineSeconds)",
        "held 2 h, limit 1 h 30 min (its label max-duration)",
    ]


def test_limits_of_tiers_and_teams_come_before_those_of_pods(
    fleet: Fleet, settings: Settings
) -> None:
    # Each holds 2 GPUs for 2 hours, at 2.50. Tier batch: after 30 min, 2 x 5,400,000 ms = 7.50.
    # Team search: after 1 h, 2 x 3,600,000 = 5.00; its pod of tier batch after 30 min.
    # Without a limit of either: the label, after 90 min: 2 x 1,800,000 = 2.50.
    settings.MAX_DURATIONS = ["tier:batch=30m", "team:search=1h"]
    Tier.objects.create(
        cluster=fleet.cluster,
        name="batch",
        value=10,
        class_name="batch-v2",
        old_classes=["batch-v1"],
        version=1,
    )
    label = {"label_max_duration": "90m"}
    for name, team, tier in (
        ("tier", "vision", "batch-v1"),
        ("team", "search", "other"),
        ("both", "search", "batch-v2"),
        ("none", "vision", "other"),
    ):
        pod = fleet.hold(name, "b" * 24, "b" * 24, team=team, labels=label)
        Pod.objects.filter(pk=pod.pk).update(priority_class=tier)
    found = {
        one.workload.name: (one.gpu_ms, charge_of(one.raw), one.evidence["limit_from"])
        for one in computed(fleet, "too_long")
        if one.workload
    }
    half = 1_800_000
    assert found == {
        "tier": (6 * half, Decimal("7.500000"), "MAX_DURATIONS, tier batch"),
        "team": (4 * half, Decimal("5.000000"), "MAX_DURATIONS, team search"),
        "both": (6 * half, Decimal("7.500000"), "MAX_DURATIONS, tier batch"),
        "none": (2 * half, Decimal("2.500000"), "its label max-duration"),
    }
    assert compute_due(fleet.cluster) == 0, "nothing changed"
    settings.MAX_DURATIONS = []
    day = DayRange(date(2026, 11, 3), date(2026, 11, 4))
    [limits] = limits_of_days(day)
    assert limits.text == (
        "work for spot has at most 4 pods; each held for less than 24 hours; longest holds: "
        "team search 1h, tier batch 30m"
    ), "as computed, not as set now"
    assert compute_due(fleet.cluster) == 1
    assert limits_of_days(day, [fleet.cluster.name]) == [
        LimitsOfDays(
            day,
            "work for spot has at most 4 pods; each held for less than 24 hours; "
            "longest holds: not limited",
        )
    ]
    rows = WasteFinding.objects.filter(rule="too_long").values_list("gpu_ms", flat=True)
    assert [*rows] == [2 * half] * 4
