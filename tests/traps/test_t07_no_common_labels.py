"""T7: joining kube-state and the exporter without common labels."""

from pathlib import Path

import pytest

from tests.traps.scene import GPU, HOUR, START, UTIL, Pod, Scene, holds, hours, usage
from tests.traps.shapes import mig_node, part

pytestmark = pytest.mark.django_db(transaction=True)


def naive_idle(told: Scene) -> list[str]:
    """`requests > 0 unless avg_over_time(util[30m]) > 5`: compares all labels."""
    busy = [s.labels for s in told.samples if s.name == UTIL and s.value > 5]
    requests = {
        s.labels["pod"]: s.labels
        for s in told.samples
        if s.name == "kube_pod_container_resource_requests"
        and s.labels["resource"] == GPU
    }
    return [pod for pod, labels in requests.items() if labels not in busy]


def test_t7_ten_busy_pods_are_ten_busy_holders(tmp_path: Path) -> None:
    told = Scene()
    for n in range(10):
        told.node(f"n{n}")
        told.pod(Pod(f"train-{n}", f"n{n}"))
        labels = {"namespace": "vision", "pod": f"train-{n}"}
        told.gpu(f"GPU-{n}", 90, labels, f"n{n}", UTIL)
    assert len(naive_idle(told)) == 10

    told.read(tmp_path)

    rows = usage("pod")
    assert len(rows) == 10
    assert [pod for pod, row in rows.items() if row["efficiency"] < 0.05] == []
    assert {row["efficiency"] for row in rows.values()} == {0.9}


def test_t7_a_young_pod_is_known_as_young(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("fresh", created=START + HOUR - 400, bound=START + HOUR - 360))
    told.gpu("GPU-1", 0, {"namespace": "vision", "pod": "fresh"}, metric=UTIL)
    assert naive_idle(told) == ["fresh"]

    told.read(tmp_path)

    row = usage("pod")["fresh"]
    # six minutes, still held: what the list of idle holders leaves out
    assert row["idle_ms"] == row["allocated_ms"] == 360_000
    assert holds()["uid-fresh"]["ended"] is None


def test_t7_a_mig_pod_without_gpu_util_is_busy(tmp_path: Path) -> None:
    told = Scene()
    mig_node(told, {"1g.10gb": 7})
    told.pod(Pod("slice", resource="nvidia_com_mig_1g_10gb"))
    for n in range(7, 14):
        mine = {"namespace": "vision", "pod": "slice"} if n == 7 else {}
        told.gpu("GPU-1", 0.9 if n == 7 else 0, part("1g.10gb", n) | mine)
    told.read(tmp_path)

    # windows are rounded to milliseconds (N23)
    assert usage("pod")["slice"]["efficiency"] == pytest.approx(0.9, abs=1e-5)
    assert hours(usage("pod")["slice"]["busy_ms"]) == pytest.approx(0.9 / 7, abs=1e-5)
