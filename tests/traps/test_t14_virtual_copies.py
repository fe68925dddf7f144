"""T14: copies of one device value under virtual GPU mode."""

from pathlib import Path

import pytest

from tests.traps.scene import ENGINE, HOUR_MS, START, Pod, Scene, gpus, hours, usage
from tests.traps.shapes import shared_node

pytestmark = pytest.mark.django_db(transaction=True)


def test_t14_copies_are_one_value(tmp_path: Path) -> None:
    told = Scene()
    shared_node(told, 1, 4)
    holders = {"a": "vision", "b": "vision", "c": "robotics"}
    for n, (pod, namespace) in enumerate(holders.items()):
        told.pod(Pod(pod, namespace=namespace))
        told.gpu("GPU-a", 0.6, {"namespace": namespace, "pod": pod, "vgpu": n})
    naive = sum(s.value for s in told.samples if s.name == ENGINE and s.at == START)
    assert naive == pytest.approx(1.8)

    told.read(tmp_path)

    device = gpus()["GPU-a"]
    assert hours(device["busy_ms"]) == 0.6
    assert hours(device["free_ms"]) == 0.25
    rows = usage("pod")
    assert {pod: hours(row["busy_ms"]) for pod, row in rows.items()} == {
        "a": 0.2,
        "b": 0.2,
        "c": 0.2,
    }
    assert {row["allocated_ms"] for row in rows.values()} == {HOUR_MS // 4}
    assert all(row["estimated"] for row in rows.values())
    teams = usage("team")
    assert hours(teams["vision"]["busy_ms"]) == 0.4
    assert hours(teams["robotics"]["busy_ms"]) == 0.2
