"""T42: old producers, and collectors that rewrite the names of metrics."""

import re
from pathlib import Path
from typing import Any

import pytest

from accounting.metering.sources.catalogue import (
    EXPORTER_METRICS,
    exporter_names,
    is_kept,
    is_unknown_gpu_metric,
    known_name,
    resembled_name,
)
from tests.builders import SETUP
from tests.integration.metering.support import report, run
from tests.traps.scene import ENGINE, HOUR, HOUR_MS, START, UTIL, Pod, Scene, usage

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.integration]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (ENGINE.lower(), 0.5),
        (f"{ENGINE}_total", 0.5),
        (f"{UTIL.lower()}_total", 50),
        ("gpu_gfx_activity_total", 50),
        ("HABANALABS_UTILIZATION".lower() + "_total", 50),
    ],
)
def test_t42_a_name_that_was_rewritten_is_read(
    name: str, value: float, tmp_path: Path
) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("train"))
    told.gpu("GPU-1", value, metric=name)
    told.read(tmp_path)

    assert usage("pod")["train"]["busy_ms"] == HOUR_MS // 2
    assert report("issues") == []


def test_t42_a_counter_that_was_rewritten_is_read(tmp_path: Path) -> None:
    """OpenTelemetry adds `_total` to counters: 3,600,000 J in an hour are a kilowatt-hour."""
    told = Scene()
    told.node()
    told.pod(Pod("train"))
    told.gpu("GPU-1", 0.5)
    name = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total"
    told.gpu("GPU-1", lambda at: (at - START) * 1e6, metric=name)
    told.read(tmp_path)

    joules = usage("pod")["train"]["energy_joules"]
    assert float(joules) == pytest.approx(3_600_000, rel=0.02)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("DCGM_FI_DEV_FB_USED_mebibytes", "DCGM_FI_DEV_FB_USED"),
        ("dcgm_fi_dev_gpu_util_percent", "DCGM_FI_DEV_GPU_UTIL"),
        ("DCGM_FI_PROF_GR_ENGINE_ACTIV", ENGINE),
        ("gpu_power_usage_watts", "gpu_power_usage"),
        ("gpu_something_else", ""),
    ],
)
def test_t42_another_name_is_said_with_the_one_that_it_resembles(
    name: str, known: str, tmp_path: Path
) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("train"))
    told.gpu("GPU-1", 50, metric=name)
    told.read(tmp_path)

    [issue] = report("issues")
    assert (issue["code"], issue["subject"]) == ("unknown_metric", name)
    assert (f"It resembles {known}." in issue["message"]) == bool(known)
    assert issue["at_stake_charge"] == "2.100000"  # nothing else measures it


def test_t42_every_name_of_the_catalogue_stands_for_itself() -> None:
    """An alias is asked for, kept, and not unknown."""
    for name in EXPORTER_METRICS:
        assert known_name(name) == name
        more = [] if name.lower().endswith("_total") else [f"{name}_total"]
        for alias in (name.lower(), *more, *map(str.lower, more)):
            if alias not in EXPORTER_METRICS:
                assert known_name(alias) == name
                assert alias in exporter_names()
                assert is_kept(alias)
                assert not is_unknown_gpu_metric(alias)
    assert resembled_name("kueue_pending") == ""


# --- kube-state-metrics before 2.0 ---------------------------------------------------


def without_uid(told: Scene) -> str:
    """Only `kube_pod_info` has a uid, as in kube-state-metrics 1.9."""
    return "\n".join(
        line if line.startswith("kube_pod_info") else re.sub(r',uid="[^"]*"', "", line)
        for line in told.openmetrics().split("\n")
    )


def imported(text: str, folder: Path) -> list[dict[str, Any]]:
    (folder / "setup.yaml").write_text(SETUP)
    run("configure", folder / "setup.yaml")
    (folder / "a.om").write_text(text)
    run("import_metrics", "--cluster=north", folder / "a.om")
    assert "FAIL" not in run("verify")
    return [row for row in report("issues") if row["code"] == "pod_without_uid"]


@pytest.mark.parametrize("units", [1, 4])
def test_t42_pods_without_a_uid_are_said_with_their_money(
    units: int, tmp_path: Path
) -> None:
    told = Scene()
    told.node(units=units)
    told.pod(Pod("train", units=units))
    for number in range(units):
        told.gpu(f"GPU-{number}", 0.5)
    [issue] = imported(without_uid(told), tmp_path)

    assert usage("pod")["train"]["busy_ms"] == units * HOUR_MS // 2
    assert (issue["subject"], issue["severity"]) == ("kube-state-metrics", "warning")
    assert issue["at_stake_ms"] == units * (HOUR - 30) * 1000  # to its last sample
    assert "2.0 or newer" in issue["advice"]


def test_t42_with_a_uid_nothing_is_said(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("train"))
    told.gpu("GPU-1", 0.5)
    assert imported(told.openmetrics(), tmp_path) == []
