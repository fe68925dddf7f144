"""T32: a capacity of replicas that no label explains, and of an earlier partitioning."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.builders import times
from tests.traps.scene import (
    GPU,
    HOUR,
    HOUR_MS,
    KUBE,
    START,
    Pod,
    Scene,
    gpus,
    issues,
    states,
    usage,
)

pytestmark = pytest.mark.django_db(transaction=True)

MIG, OTHER = "nvidia_com_mig_1g_10gb", "nvidia_com_mig_3g_40gb"
Units = Mapping[str, int]


def node(
    told: Scene, units: Units, usable: Units | None = None, **labels: object
) -> None:
    """A node with what is allocatable of its capacity; None where that is not scraped."""
    told.node("n1", units, labels)
    for resource, count in (usable or {}).items():
        what = {"node": "n1", "resource": resource, "unit": "integer"}
        told.add("kube_node_status_allocatable", count, KUBE | what)


STALE = {
    "allocatable is 0": ({GPU: 2, MIG: 14}, {GPU: 2, MIG: 0}, {}),
    "two old profiles": ({GPU: 2, MIG: 14, OTHER: 4}, {GPU: 2, MIG: 0, OTHER: 0}, {}),
    "strategy none": ({GPU: 2, MIG: 14}, None, {"mig_strategy": "none"}),
    "strategy none, one part broken": (
        {GPU: 2, MIG: 14},
        {GPU: 1, MIG: 14},
        {"mig_strategy": "none"},
    ),
    "strategy mixed": (
        {GPU: 2, MIG: 14},
        {GPU: 2, MIG: 0},
        {"mig_strategy": "mixed", "gpu_count": 2},
    ),
}


@pytest.mark.parametrize(("units", "usable", "labels"), STALE.values(), ids=STALE)
def test_t32_what_is_left_of_a_partitioning_is_not_a_gpu(
    units: Units, usable: Units | None, labels: Mapping[str, object], tmp_path: Path
) -> None:
    told = Scene()
    node(told, units, usable, **labels)
    told.pod(Pod("train-0"))
    told.gpu("GPU-a", 0.5, {"namespace": "vision", "pod": "train-0"})
    told.gpu("GPU-b", 0)

    told.read(tmp_path)

    assert set(gpus()) == {"GPU-a", "GPU-b"}
    assert sum(row["wall_ms"] for row in gpus().values()) == 2 * HOUR_MS
    assert usage("pod")["train-0"]["allocated_ms"] == HOUR_MS
    assert issues() == set()


def test_t32_whole_gpus_are_left_where_all_are_partitioned(tmp_path: Path) -> None:
    told = Scene()
    node(told, {GPU: 2, MIG: 14}, {GPU: 0, MIG: 14})
    told.pod(Pod("small", resource=MIG))

    told.read(tmp_path)

    assert set(gpus()) == {"n1/0", "n1/1"}


def test_t32_a_node_out_of_order_keeps_its_gpus(tmp_path: Path) -> None:
    told = Scene()
    node(told, {GPU: 2}, {GPU: 0})

    told.read(tmp_path)

    assert set(gpus()) == {"n1/0", "n1/1"}


@pytest.mark.parametrize("late", [0, 600], ids=["at once", "sampled later"])
@pytest.mark.parametrize("labels", [{"label_gpu": "on"}, {}], ids=["gpu=on", "pods"])
def test_t32_replicas_of_hami_are_those_of_the_cards_that_are_sampled(
    labels: Mapping[str, object], late: int, tmp_path: Path
) -> None:
    """Without GPU feature discovery, and in a second cut of the data without any pod."""
    told = Scene()
    told.node("n1", 20, labels)
    half = Pod("half", gone=START + HOUR / 2)
    told.pod(half)
    cores = {"container": "main", "node": "n1", "resource": "nvidia_com_gpucores"}
    there = [at for at in told.scrapes if at < START + HOUR / 2]
    told.add("kube_pod_container_resource_requests", 50, KUBE | half.key | cores, there)
    sampled = [at for at in told.scrapes if at >= START + late]
    told.gpu("GPU-a", 0.25, {"namespace": "vision", "pod": "half"}, at=sampled)
    told.gpu("GPU-b", 0, at=sampled)

    told.read(tmp_path)

    assert sum(row["wall_ms"] for row in gpus().values()) == 2 * HOUR_MS
    assert {"GPU-a", "GPU-b"} <= set(gpus()) <= {"GPU-a", "GPU-b", "n1/0", "n1/1"}
    assert usage("pod")["half"]["allocated_ms"] == HOUR_MS // 4
    assert "free" in states(gpus()["GPU-b"])


def test_t32_the_label_of_hami_alone_divides_nothing(tmp_path: Path) -> None:
    """`gpu=on` is what people write on plain nodes: 4 of 8 GPUs are not sampled."""
    told = Scene(2 * HOUR)
    told.node("n1", 8, {"label_gpu": "on"})
    told.pod(Pod("train-0", units=8))
    for number in range(4):
        told.gpu(f"GPU-{number}", 0.5, {"namespace": "vision", "pod": "train-0"})

    told.read(tmp_path)

    row = usage("pod")["train-0"]
    assert row["allocated_ms"] == 16 * HOUR_MS
    assert row["unknown_ms"] == 8 * HOUR_MS
    assert ("gpu_never_sampled", "n1") in issues()


def test_t32_cards_that_do_not_divide_the_capacity_are_never_silent(
    tmp_path: Path,
) -> None:
    """20 units and 3 of 4 cards sampled: nobody knows how many cards there are."""
    told = Scene(2 * HOUR)
    told.node("n1", 20, {"label_gpu": "on"})
    for number in range(3):
        told.gpu(f"GPU-{number}", 0)

    told.read(tmp_path)

    assert len(gpus()) == 20
    assert ("gpu_never_sampled", "n1") in issues()


@pytest.mark.parametrize("away", [2, 10], ids=["2 minutes", "10 minutes"])
def test_t32_the_cards_of_a_replaced_node_are_not_added(
    away: int, tmp_path: Path
) -> None:
    """The exporter of the old machine lingers beside that of the new one."""
    told = Scene(2 * HOUR)
    told.node("n0", 0)
    gone, back = START + 1800, START + 1800 + away * 60
    there = [at for at in told.scrapes if at < gone or at >= back]
    told.node("n1", 20, {"label_gpu": "on"}, at=there)
    told.pod(Pod("half", created=back, bound=back))
    for number in range(2):
        told.gpu(f"OLD-{number}", 0, at=times(START, back + 300))
        told.gpu(f"NEW-{number}", 0, at=times(back - 30, START + 2 * HOUR))

    told.read(tmp_path)

    assert set(gpus()) == {"OLD-0", "OLD-1", "NEW-0", "NEW-1"}
    held_ms = START * 1000 + 2 * HOUR_MS - back * 1000
    assert usage("pod")["half"]["allocated_ms"] == held_ms // 10


def test_t32_a_card_that_came_late_is_counted_after_a_silence(tmp_path: Path) -> None:
    """kube-state did not show the node for minutes, and nothing was replaced."""
    told = Scene(3 * HOUR)
    told.node("n0", 0)
    there = [at for at in told.scrapes if not 600 <= at - START < 720]
    told.node("n1", 20, {"label_gpu": "on"}, at=there)
    told.gpu("GPU-a", 0)
    told.gpu("GPU-b", 0, at=times(START + 1200, START + 3 * HOUR))

    told.read(tmp_path)

    assert {"GPU-a", "GPU-b"} <= set(gpus()) <= {"GPU-a", "GPU-b", "n1/0", "n1/1"}
