"""T15: device and per-pod series together; zeros without hostPID; a copy per container."""

from pathlib import Path

import pytest

from tests.traps.scene import HOUR_MS, START, UTIL, Pod, Scene, gpus, hours, usage
from tests.traps.shapes import shared_node

pytestmark = pytest.mark.django_db(transaction=True)

MEMORY = "DCGM_FI_DEV_FB_USED"


def told_of(a: float, b: float, containers: tuple[str, ...] = ("main",)) -> Scene:
    """Device utilisation 60 beside per-process values of two pods."""
    told = Scene()
    shared_node(told, 1, 2)
    told.gpu("GPU-a", 60, metric=UTIL)
    for n, (pod, value) in enumerate({"a": a, "b": b}.items()):
        told.pod(Pod(pod))
        for container in containers if pod == "a" else ("main",):
            labels = {"namespace": "vision", "pod": pod, "container": container}
            told.gpu("GPU-a", value, labels | {"vgpu": str(n)}, metric=UTIL)
    return told


def naive(told: Scene) -> float:
    """The sum of all series of the device."""
    return sum(s.value for s in told.samples if s.name == UTIL and s.at == START) / 100


CASES = {
    "a values of each pod": (45, 15, ("main",), 1.2, {"a": 0.45, "b": 0.15}),
    "b zeros of all pods": (0, 0, ("main",), 0.6, {"a": 0.3, "b": 0.3}),
    "c two containers": (45, 15, ("c1", "c2"), 1.65, {"a": 0.45, "b": 0.15}),
}


@pytest.mark.parametrize(
    ("a", "b", "containers", "wrong", "right"), CASES.values(), ids=CASES
)
def test_t15_the_device_is_counted_once(
    a: float,
    b: float,
    containers: tuple[str, ...],
    wrong: float,
    right: dict[str, float],
    tmp_path: Path,
) -> None:
    told = told_of(a, b, containers)
    assert naive(told) == pytest.approx(wrong)

    told.read(tmp_path)

    device = gpus()["GPU-a"]
    assert hours(device["busy_ms"]) == 0.6
    assert device["stray_ms"] == 0
    rows = usage("pod")
    assert {pod: hours(row["busy_ms"]) for pod, row in rows.items()} == right
    assert {row["allocated_ms"] for row in rows.values()} == {HOUR_MS // 2}
    # a division by measured values is no estimate (N19)
    assert {row["estimated"] for row in rows.values()} == {a == b}


def test_t15_memory_of_a_shared_gpu_is_the_gpus(tmp_path: Path) -> None:
    """What each process used is not added to it, and is nobody's own peak."""
    told = told_of(45, 15)
    told.gpu("GPU-a", 40_960, metric=MEMORY)
    for n, (pod, value) in enumerate({"a": 30_720, "b": 10_240}.items()):
        labels = {"namespace": "vision", "pod": pod, "vgpu": str(n)}
        told.gpu("GPU-a", value, labels, metric=MEMORY)
    shown = [s.value for s in told.samples if s.name == MEMORY and s.at == START]
    assert sum(shown) == 81_920

    told.read(tmp_path)

    rows = usage("pod")
    assert {pod: row["peak_memory_bytes"] for pod, row in rows.items()} == {
        "a": 40_960 * 2**20,
        "b": 40_960 * 2**20,
    }
