"""T2: renamed and rescaled metrics (4.9), and one name with two scales."""

from pathlib import Path

import pytest

from tests.builders import SETUP
from tests.traps.scene import (
    ENGINE,
    HOUR_MS,
    START,
    UTIL,
    Pod,
    Scene,
    gpus,
    hours,
    issues,
    states,
    usage,
)

pytestmark = pytest.mark.django_db(transaction=True)

RATIO = "DCGM_FI_DEV_GPU_UTIL_RATIO"
DECLARED = """
clusters:
  - name: north
    sources:
      - {kind: openmetrics, scales: {DCGM_FI_DEV_GPU_UTIL_RATIO: percent}}
"""


def two_versions() -> Scene:
    """Node A has exporter 4.8, node B 4.9."""
    told = Scene()
    for node in ("a", "b"):
        told.node(node)
        told.pod(Pod(f"on-{node}", node))
    told.gpu("GPU-a", 85, node="a", metric=UTIL)
    told.gpu("GPU-a", 40960, node="a", metric="DCGM_FI_DEV_FB_USED")
    new = {"hostname": "b", "Hostname": ""}
    told.gpu("GPU-b", 0.85, new, "b", metric=RATIO)
    told.gpu("GPU-b", 42949672960, new, "b", metric="DCGM_FI_DEV_FB_USED_BYTES")
    return told


def test_t2a_both_versions_have_one_utilization(tmp_path: Path) -> None:
    told = two_versions()
    values = [s.value for s in told.samples if s.name in {UTIL, RATIO}]
    assert sum(values) / len(values) == pytest.approx(42.9, abs=0.03)

    told.read(tmp_path)

    rows = usage("pod")
    assert {pod: row["efficiency"] for pod, row in rows.items()} == {
        "on-a": 0.85,
        "on-b": 0.85,
    }
    assert usage("cluster")["north"]["efficiency"] == 0.85
    assert len(gpus()) == 2


def test_t2a_both_versions_have_one_memory(tmp_path: Path) -> None:
    two_versions().read(tmp_path)

    found = {row["peak_memory_bytes"] for row in usage("pod").values()}
    assert found == {42_949_672_960}


def percentages() -> Scene:
    """Twenty minutes each of 0, 1 and 85 under a name that ends in `_RATIO`."""
    told = Scene()
    told.node()
    told.pod(Pod("train-0"))
    told.gpu("GPU-1", lambda at: (0, 1, 85)[int(at - START) // 1200], metric=RATIO)
    return told


def test_t2b_the_scale_is_that_of_the_source(tmp_path: Path) -> None:
    told = percentages()
    naive = {
        s.value if s.value <= 1 else s.value / 100
        for s in told.samples
        if s.name == RATIO
    }
    assert naive == {0, 1.0, 0.85}

    told.read(tmp_path, SETUP + DECLARED)

    row = usage("pod")["train-0"]
    assert hours(row["busy_ms"]) == pytest.approx((0 + 0.01 + 0.85) / 3)
    late = usage(
        "pod", **{"from": "2026-10-01T10:20:00Z", "to": "2026-10-01T10:40:00Z"}
    )
    assert late["train-0"]["efficiency"] == 0.01


def test_t2b_an_undeclared_scale_is_no_utilization_and_an_issue(tmp_path: Path) -> None:
    percentages().read(tmp_path)

    late = usage(
        "pod", **{"from": "2026-10-01T10:45:00Z", "to": "2026-10-01T11:00:00Z"}
    )
    assert late["train-0"]["unknown_ms"] == late["train-0"]["allocated_ms"]
    assert any(code == "utilization_scale" for code, _ in issues())


def test_t2c_both_names_at_once_count_once(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("train-0"))
    told.gpu("GPU-1", 0.5, metric=ENGINE)
    told.gpu("GPU-1", 0.5, metric="DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO")
    naive = sum(s.value for s in told.samples if s.labels.get("UUID") and s.at == START)
    assert naive == 1.0

    told.read(tmp_path)

    assert states(gpus()["GPU-1"]) == {"busy": HOUR_MS // 2, "idle": HOUR_MS // 2}
    assert usage("pod")["train-0"]["coverage"] == 1
