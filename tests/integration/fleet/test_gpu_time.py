"""What the pages and the API of GPUs say, against facts that came through the importer."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pytest_django import DjangoAssertNumQueries

from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING, Scope
from accounting.core.ledger_line import STATES
from accounting.fleet.reads.fleet import PricedGpu, gpu_money, gpu_rows
from accounting.fleet.reads.steps import STEPS, GpuStep, gpu_steps
from accounting.fleet.reads.timeline import held_stretches, presences
from accounting.kit.reads.hidden import HiddenError
from accounting.kit.reads.selection import Selection, SelectionError
from accounting.kit.serializers.declared import serializer_of
from accounting.usage.reads.intensity import with_intensity
from accounting.usage.reads.usage import usage_stream
from accounting.usage.serializers import UsageRowSerializer
from tests.builders import HOUR_ZERO, SETUP, Text, times
from tests.euros import eur, number
from tests.integration.metering.support import report, run

pytestmark = pytest.mark.django_db(transaction=True)
END = HOUR_ZERO + 3600
ALL = times(HOUR_ZERO, END)
RATE = Decimal("2.10")
HALF = HOUR_ZERO + 1800


def at(minutes: int) -> datetime:
    return datetime.fromtimestamp(HOUR_ZERO + 60 * minutes, UTC)


@pytest.fixture
def fleet(tmp_path: Path) -> None:
    """GPU-a: `train` of vision for half an hour, then `serve` of robotics; GPU-b: nobody."""
    text = Text()
    for scrape in ALL:
        resource = {"node": "n1", "resource": "nvidia_com_gpu", "unit": "integer"}
        text.add("kube_node_status_capacity", resource, 2, scrape)
        labels = {
            "node": "n1",
            "label_nvidia_com_gpu_product": "NVIDIA-A100-SXM4-80GB",
            "label_nvidia_com_gpu_count": 2,
            "label_nvidia_com_cuda_driver_version_full": "550.54.15",
        }
        text.add("kube_node_labels", labels, 1, scrape)
    early = [t for t in ALL if t < HALF]
    late = [t for t in ALL if t >= HALF]
    text.pod("train", early, node="n1", bound=HOUR_ZERO, completed=HALF)
    text.pod("serve", late, node="n1", bound=HALF, namespace="robot-x")
    text.utilization("GPU-a", "n1", dict.fromkeys(early, 0.5), pod="train")
    text.utilization(
        "GPU-a", "n1", dict.fromkeys(late, 0.9), pod="serve", namespace="robot-x"
    )
    text.utilization("GPU-b", "n1", dict.fromkeys(ALL, 0.0))
    for when in ALL:
        power = 300 if when < HALF else 500
        measured = {"UUID": "GPU-a", "Hostname": "n1"}
        text.add("DCGM_FI_DEV_POWER_USAGE", measured, power, when)
    where = {"UUID": "GPU-a", "Hostname": "n1"}
    text.add("DCGM_FI_DEV_XID_ERRORS", where, 79, HOUR_ZERO + 600)
    setup = tmp_path / "setup.yaml"
    setup.write_text(SETUP)
    run("configure", setup)
    run("import_metrics", "--cluster=north", text.write(tmp_path / "x.om"))


@pytest.mark.usefixtures("fleet")
def test_a_gpu_says_driver_errors_and_what_it_earned() -> None:
    one, other = gpu_rows(Selection(EVERYTHING))
    assert [one.uuid, other.uuid] == ["GPU-a", "GPU-b"]
    assert one.driver == other.driver == "550.54.15"
    assert (one.errors, other.errors) == (("XID 79",), ())
    money = gpu_money(Selection(EVERYTHING), ["GPU-a", "GPU-b"])
    charged = {row["gpu"]: Decimal(row["charge"]) for row in report("usage", by="gpu")}
    assert number(money["GPU-a"].earned) == charged["GPU-a"] > 0
    assert money["GPU-b"].earned == eur(0)
    for row in (one, other):
        assert row.ledger is not None
        expected = RATE * row.ledger.wall_ms / 3_600_000
        capacity = money[row.uuid].capacity
        assert capacity is not None
        assert abs(capacity.amount - expected) < Decimal("0.00001")
    assert one.busy_share == pytest.approx(0.7, abs=0.01)
    assert other.allocated_share == 0
    fields = serializer_of(PricedGpu).one(PricedGpu(row=one, money=money["GPU-a"]))
    assert fields["charge"] == f"{charged['GPU-a']:.6f}"
    assert fields["holders"] == ["robot-x/serve"]
    assert fields["allocated_ms"] == fields["busy_ms"] + fields["idle_ms"]
    assert gpu_money(Selection(EVERYTHING), []) == {}


@pytest.mark.usefixtures("fleet")
def test_a_stream_has_read_all_before_its_first_row(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """A file that has begun cannot end with an error of the database."""
    selection, by = Selection(EVERYTHING), ("gpu",)
    rows = with_intensity(usage_stream(selection, by), selection, by)
    with django_assert_num_queries(0):
        [row] = rows
    [same] = report("usage", by="gpu")
    assert UsageRowSerializer.one(row) == same


@pytest.mark.usefixtures("fleet")
def test_stretches_are_the_facts_of_each_pod() -> None:
    found = held_stretches(Selection(EVERYTHING))
    assert [(s.gpu, s.team, s.pod, s.start, s.end) for s in found] == [
        ("GPU-a", "vision", "train", at(0), at(30)),
        ("GPU-a", "robotics", "serve", at(30), at(60)),
    ]
    rows = {row["pod"]: row for row in report("usage", by="gpu,pod")}
    for one in found:
        row = rows[one.pod]
        assert one.allocated_ms == row["allocated_ms"]
        assert one.busy_ms == row["busy_ms"]
        assert one.efficiency == row["efficiency"]
    there = presences(Selection(EVERYTHING, None, {"gpu": ("GPU-a", "GPU-b")}))
    assert [(p.gpu, p.start, p.end, p.is_dark) for p in there] == [
        ("GPU-a", at(0), at(60), False),
        ("GPU-b", at(0), at(60), False),
    ]


@pytest.mark.usefixtures("fleet")
def test_a_team_sees_its_own_stretches_and_no_fleet() -> None:
    vision = Team.objects.get(slug="vision")
    member = Selection(Scope(frozenset({vision.pk})))
    assert [one.pod for one in held_stretches(member)] == ["train"]
    for refused in (gpu_rows, presences):
        with pytest.raises(HiddenError):
            refused(member)


@pytest.mark.usefixtures("fleet")
def test_filters_that_rows_do_not_have_are_refused() -> None:
    chosen = {"namespace": ("robot-x",), "gpu": ("GPU-a",)}
    assert [s.pod for s in held_stretches(Selection(EVERYTHING, None, chosen))] == [
        "serve"
    ]
    with pytest.raises(SelectionError, match="cannot be filtered by namespace"):
        gpu_rows(Selection(EVERYTHING, None, chosen))
    with pytest.raises(SelectionError, match="cannot be filtered by tier"):
        held_stretches(Selection(EVERYTHING, None, {"tier": ("batch",)}))


@pytest.mark.usefixtures("fleet")
def test_steps_of_a_gpu_sum_to_its_ledger() -> None:
    selection = Selection(EVERYTHING, None, {"gpu": ("GPU-a",)})
    [row] = [row for row in report("ledger", by="gpu") if row["gpu"] == "GPU-a"]
    for step, count in (("window", 12), ("hour", 1)):
        steps = gpu_steps(selection, STEPS[step])
        assert len(steps) == count
        for state in STATES:
            total = sum(one.milliseconds[state] for one in steps)
            assert total == row[f"{state}_ms"]
    first, *_, last = gpu_steps(selection, STEPS["window"])
    assert (first.held.efficiency, last.held.efficiency) == (0.5, 0.9)
    watts = [one.hard.power_watts for one in gpu_steps(selection, STEPS["window"])]
    assert watts == [300.0] * 6 + [500.0] * 6
    assert serializer_of(GpuStep).one(first)["power_watts"] == 300.0
    with pytest.raises(SelectionError, match="specify one GPU"):
        gpu_steps(Selection(EVERYTHING), STEPS["hour"])
