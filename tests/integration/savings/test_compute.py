"""From facts to stored findings: amounts, days, repeats, changes and kills.

The rules are in `tests/unit/savings`; pages and REST in `test_pages.py`.
"""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection

from accounting.core.interval import to_ms
from accounting.kit import failpoints
from accounting.kit.failpoints import WASTE_NAMES, FailpointError
from accounting.metering.models.cluster import Gpu, GpuPresence, Node, NodeFact
from accounting.metering.models.ledger import DirtyHour, IngestWindow, WindowState
from accounting.metering.models.pod import PodAttribution, PodHold
from accounting.prices.models.price import UnitPrice
from accounting.prices.rules.charge import charge_of
from scheduler_view.savings.models import HeldDay, WasteDay, WasteFinding
from scheduler_view.savings.reads.due_days import due_days
from scheduler_view.savings.tasks.compute import compute_due
from tests.integration.savings.fleet import HOUR, MODEL, START, Fleet, make_fleet

pytestmark = pytest.mark.django_db
DAY = date(2026, 11, 3)
LATER = START + 100 * HOUR
Shown = list[tuple[date, str, str, int, Decimal]]


@pytest.fixture
def fleet() -> Fleet:
    """Data end at 06:00 of the second day."""
    return make_fleet(START + 30 * HOUR)


def stored() -> Shown:
    """Day, rule, team, GPU-ms, money of each row."""
    rows = WasteFinding.objects.select_related("team").order_by("day", "rule", "pk")
    return [
        (
            row.day,
            row.rule,
            row.team.slug if row.team else "",
            row.gpu_ms,
            charge_of(row.raw),
        )
        for row in rows
    ]


def test_findings_have_the_time_and_price_of_the_facts(fleet: Fleet) -> None:
    # never busy: 2 GPUs x 1 h at 2.50; tail: 20 min of 1 GPU
    fleet.hold("idle-pair", "i" * 12, "i" * 12)
    fleet.hold("with-tail", "bbbbbbiiii", team="search")
    fleet.hold("busy", "b" * 12)
    fleet.roll_up()
    assert compute_due(fleet.cluster) == 1
    assert stored() == [
        (DAY, "never_busy", "vision", 7_200_000, Decimal("5.000000")),
        (DAY, "tail", "search", 1_200_000, Decimal("0.833333")),
    ]
    assert HeldDay.objects.count() == 3


@pytest.mark.parametrize("state", [WindowState.PENDING, WindowState.CLAIMED])
def test_a_past_day_is_due_when_its_windows_are_computed(
    fleet: Fleet, state: WindowState
) -> None:
    fleet.hold("idle", "i" * 12)
    fleet.roll_up()
    window = IngestWindow.objects.create(
        cluster=fleet.cluster, window_start=START + 5 * HOUR, state=state
    )
    assert compute_due(fleet.cluster) == 0
    window.state = WindowState.FAILED  # its source may never answer
    window.save()
    hour = DirtyHour.objects.create(
        cluster=fleet.cluster, hour_start=START + 5 * HOUR, reason="late"
    )
    assert compute_due(fleet.cluster) == 0
    hour.delete()
    assert compute_due(fleet.cluster) == 1


def test_a_finding_over_midnight_has_a_row_for_each_day(fleet: Fleet) -> None:
    # idle 23:00 to 02:00, after busy time; the hold goes on: 1 h and 2 h
    at = START + 22 * HOUR
    fleet.hold("night", "b" * 12 + "i" * 36 + "b" * 12, at=at, is_open=True)
    fleet.roll_up()
    assert compute_due(fleet.cluster) == 2
    assert stored() == [
        (DAY, "idle", "vision", 3_600_000, Decimal("2.500000")),
        (DAY + timedelta(days=1), "idle", "vision", 7_200_000, Decimal("5.000000")),
    ]
    assert len(set(WasteFinding.objects.values_list("start_ms", "end_ms"))) == 1


def test_running_again_changes_nothing(fleet: Fleet) -> None:
    fleet.hold("idle", "i" * 12)
    fleet.roll_up()
    compute_due(fleet.cluster)
    before = list(WasteFinding.objects.values())
    assert compute_due(fleet.cluster) == 0
    assert list(WasteFinding.objects.values()) == before


def test_a_change_of_another_day_turns_a_finding_into_another_one(fleet: Fleet) -> None:
    # idle at the end of the first day: an episode while it runs; a tail once it ended the next day
    at = START + 22 * HOUR
    pod = fleet.hold("night", "b" * 12 + "i" * 12, at=at, is_open=True)
    fleet.roll_up()
    compute_due(fleet.cluster)
    assert [row[1] for row in stored()] == ["idle"]
    fleet.write(pod, "i" * 6, at=START + 24 * HOUR)
    PodHold.objects.update(
        ended_ms=PodHold.objects.get().bound_ms + 30 * 300_000, ended_by="Failed"
    )
    fleet.roll_up()
    compute_due(fleet.cluster)
    assert [(row[0], row[1], row[3]) for row in stored()] == [
        (DAY, "tail", 3_600_000),
        (DAY + timedelta(days=1), "tail", 1_800_000),
    ]


def test_a_day_is_due_again_after_a_new_price_or_team(fleet: Fleet) -> None:
    pod = fleet.hold("idle", "i" * 12)
    fleet.roll_up()
    compute_due(fleet.cluster)
    UnitPrice.objects.update(rate_per_gpu_hour=Decimal("4.00"))
    fleet.roll_up()
    assert compute_due(fleet.cluster) == 1
    assert stored()[0][4] == Decimal("4.000000")
    PodAttribution.objects.filter(pod=pod).update(team=fleet.teams["search"])
    fleet.roll_up()
    assert compute_due(fleet.cluster) == 1
    assert stored()[0][2] == "search"


def test_a_window_that_moves_inside_an_hour_is_seen(fleet: Fleet) -> None:
    fleet.hold("idle", "i" * 12)
    fleet.roll_up()
    compute_due(fleet.cluster)

    def due(now: datetime = LATER) -> list[date]:
        return [one.day for one in due_days(fleet.cluster, now)]

    assert due() == []
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO accounting_ingestwindow (cluster_id, shard, window_start, state,
               fence, attempts, last_error, reason, rows, samples_expected, samples_seen,
               read_ms, content_hash, worker_host)
               VALUES (%s, 0, %s, 'done', 1, 0, '', '', 1, 1, 1, 1, 'x', '')""",
            [fleet.cluster.pk, START],
        )
    assert due() == [DAY]
    WasteDay.objects.update(computed_at=START + 20 * HOUR)
    assert due(START + 20.5 * HOUR) == [], "the running day, half an hour ago"
    assert due(START + 21 * HOUR) == [DAY]


def test_a_busy_time_without_a_price_is_not_priced(fleet: Fleet) -> None:
    UnitPrice.objects.all().delete()
    fleet.hold("idle", "i" * 12)
    fleet.roll_up()
    compute_due(fleet.cluster)
    row = WasteFinding.objects.get()
    assert (row.gpu_ms, row.unpriced_ms) == (3_600_000, 3_600_000)
    assert not row.raw
    assert row.currency == ""


def test_an_indexed_job_is_a_gang(fleet: Fleet) -> None:
    # two pods of a Job by index: the first waits 30 min for the second one
    label = {"label_batch_kubernetes_io_job_completion_index": "0"}
    fleet.hold("a-0", "b" * 12, workload="a", labels=label)
    late = fleet.hold("a-1", "b" * 6, workload="a", labels=label, at=START + HOUR / 2)
    late.record = late.record | {"created_ms": to_ms(START)}
    late.save()
    fleet.roll_up()
    compute_due(fleet.cluster)
    assert [row[1:4] for row in stored()] == [("gang_incomplete", "vision", 1_800_000)]


@pytest.mark.parametrize(("product", "rules"), [(MODEL, ["spread"]), ("shared", [])])
def test_only_nodes_of_its_product_could_have_held_a_gang(
    fleet: Fleet, product: str, rules: list[str]
) -> None:
    # two pods on nodes of one GPU each; a third node has 32 units of the same resource
    nodes = [fleet.node]
    label = "label_nvidia_com_gpu_product"
    for name, units, of in (("n2", 1, MODEL), ("n3", 32, product)):
        node = Node.objects.create(cluster=fleet.cluster, name=name)
        capacity = {"nvidia.com/gpu": units}
        NodeFact.objects.create(
            node=node,
            valid_from=START,
            model=MODEL,
            capacity=capacity,
            labels={label: of},
        )
        nodes.append(node)
    NodeFact.objects.filter(node=fleet.node).update(
        capacity={"nvidia.com/gpu": 1}, labels={label: MODEL}
    )
    for n, node in enumerate(nodes):
        gpu = Gpu.objects.create(cluster=fleet.cluster, uuid=f"GPU-n{n}", model=MODEL)
        GpuPresence.objects.create(gpu=gpu, node=node, start_ms=to_ms(START))
    index = {"label_batch_kubernetes_io_job_completion_index": "0"}
    fleet.hold("a-0", "b" * 12, workload="a", labels=index)
    other = fleet.hold("a-1", "b" * 12, workload="a", labels=index)
    PodHold.objects.filter(pod=other).update(node=nodes[1])
    fleet.roll_up()
    compute_due(fleet.cluster)
    assert sorted({row[1] for row in stored()}) == rules


def test_a_label_limits_a_hold(fleet: Fleet) -> None:
    fleet.hold("long", "b" * 24, labels={"label_max_duration": "1h"})
    fleet.roll_up()
    compute_due(fleet.cluster)
    assert [row[1:4] for row in stored()] == [("too_long", "vision", 3_600_000)]


def test_free_parts_that_usual_pods_cannot_use_are_found_by_node(fleet: Fleet) -> None:
    # pods of 2 GPUs only; one GPU is free for 1 h: nobody can use it
    fleet.hold("pair", "b" * 12, "b" * 12)
    fleet.free(12)
    fleet.roll_up()
    compute_due(fleet.cluster)
    assert stored() == [(DAY, "fragmented", "", 3_600_000, Decimal("2.500000"))]
    assert WasteFinding.objects.get().node == fleet.node


@pytest.mark.parametrize("name", WASTE_NAMES)
def test_an_interrupted_run_is_continued(
    fleet: Fleet, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet.hold("night", "b" * 12 + "i" * 36, at=START + 22 * HOUR)
    fleet.roll_up()
    monkeypatch.setattr(failpoints, "_ARMED", f"{name}:raise")
    with pytest.raises(FailpointError):
        compute_due(fleet.cluster)
    assert WasteDay.objects.count() == (name == "waste_day_computed")
    monkeypatch.setattr(failpoints, "_ARMED", "")
    compute_due(fleet.cluster)
    assert [row[1:4] for row in stored()] == [
        ("tail", "vision", 3_600_000),
        ("tail", "vision", 7_200_000),
    ]
    assert WasteDay.objects.count() == 2
