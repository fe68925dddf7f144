"""How hard GPUs worked, from exporter text through the importer to the report."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from accounting.core.interval import Interval
from accounting.months.reads.invariants.verify import verdicts
from tests.builders import HOUR_ZERO, MODEL, SETUP, Text, times
from tests.integration.metering.support import report, run

pytestmark = pytest.mark.django_db(transaction=True)
END = HOUR_ZERO + 3600
BOUND = HOUR_ZERO + 1200


def labels(uuid: str, **more: str) -> dict[str, object]:
    return {"UUID": uuid, "Hostname": "n1", "modelName": MODEL, **more}


def an_hour() -> Text:
    """GPU-a is held from 10:20 on; GPU-b by nobody; both draw 300 W all the time."""
    text = Text()
    scrapes = times(HOUR_ZERO, END + 60)
    text.node("n1", 2, scrapes)
    text.pod("train", [t for t in scrapes if t > BOUND], node="n1", bound=BOUND)
    for uuid in ("GPU-a", "GPU-b"):
        for at in scrapes:
            held = uuid == "GPU-a" and at >= BOUND
            who = {"namespace": "vision", "pod": "train"} if held else {}
            key = labels(uuid, **who)
            text.add("DCGM_FI_PROF_GR_ENGINE_ACTIVE", key, 0.9 if held else 0, at)
            text.add("DCGM_FI_PROF_SM_ACTIVE", key, 0.6 if held else 0, at)
            text.add("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", key, 0.25 if held else 0, at)
            text.add("DCGM_FI_DEV_FB_USED", key, 40960 if held else 5, at)
            spent = round((at - HOUR_ZERO) * 300_000)
            text.add("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", key, spent, at)
    return text


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    setup = tmp_path / "setup.yaml"
    setup.write_text(SETUP)
    run("configure", setup)
    file = an_hour().write(tmp_path / "hour.om")
    run("import_metrics", "--cluster=north", file)
    return file


def second(row: dict[str, Any]) -> list[Any]:
    names = ("energy_joules", "peak_memory_bytes", "sm_active", "tensor_active")
    return [row[name] for name in (*names, "dram_active")]


@pytest.mark.parametrize("by", ["team", "workload", "pod", "gpu", "hour", "day", ""])
def test_every_grouping_has_the_second_column(imported: Path, by: str) -> None:
    span = {"from": "2026-10-01T10:00:00Z", "to": "2026-10-01T11:00:00Z"}
    if by == "day":
        span = {}
    [row] = [r for r in report("usage", by=by, **span) if r["allocated_ms"]]
    energy = (2400 if span else 2400 + 30) * 300  # its last sample is at 11:00:30
    assert second(row) == [energy, 42_949_672_960, 0.6, 0.25, None]


def test_the_energy_of_nobody_is_the_platforms(imported: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT pod_id <> 0, sum(energy_mj) FROM intensity_window
               WHERE window_start < '2026-10-01T11:00:00Z' GROUP BY 1 ORDER BY 1"""
        )
        assert cursor.fetchall() == [
            (False, (3600 + 1200) * 300_000),
            (True, 2400 * 300_000),
        ]


def test_reading_again_writes_nothing_and_changes_nothing(imported: Path) -> None:
    def stored() -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT ctid, * FROM intensity_window ORDER BY 2, 3, 4, 5, 6"
            )
            return list(cursor.fetchall())

    before = stored()
    assert before
    run("import_metrics", "--cluster=north", imported)
    assert stored() == before


def test_rollups_are_their_facts(imported: Path) -> None:
    for verdict in verdicts(Interval(0, 4_000_000_000_000)):
        assert verdict.holds, verdict
    with connection.cursor() as cursor:
        cursor.execute("UPDATE intensity_hour SET energy_mj = energy_mj + 1")
    broken = [
        v.check.name for v in verdicts(Interval(0, 4_000_000_000_000)) if not v.holds
    ]
    assert broken == [
        "GPU activity: hours match their windows",
        "GPU activity: days match their hours",
    ]


def test_what_was_not_observed_is_null(tmp_path: Path) -> None:
    text = Text()
    scrapes = times(HOUR_ZERO, HOUR_ZERO + 1800)
    text.node("n1", 1, scrapes)
    text.pod("train", scrapes, node="n1", bound=HOUR_ZERO)
    text.utilization("GPU-a", "n1", dict.fromkeys(scrapes, 0.5), pod="train")
    run("import_metrics", "--cluster=north", text.write(tmp_path / "few.om"))
    [row] = report("usage", by="pod")
    assert second(row) == [None] * 5


def test_instances_have_their_own_activity_and_part_of_the_energy(
    tmp_path: Path,
) -> None:
    """Trap T10 for all measures: what each instance repeats is taken once."""
    text = Text()
    scrapes = times(HOUR_ZERO, HOUR_ZERO + 1800)
    for at in scrapes:
        resource = {"node": "n1", "resource": "nvidia_com_mig_1g_10gb"}
        text.add("kube_node_status_capacity", resource, 7, at)
        shown = {
            "node": "n1",
            "label_nvidia_com_gpu_product": MODEL.replace(" ", "-"),
            "label_nvidia_com_gpu_count": 1,
            "label_nvidia_com_mig_strategy": "mixed",
        }
        text.add("kube_node_labels", shown, 1, at)
        for n, (pod, tensor) in enumerate((("a", 0.8), ("b", 0.1)), start=7):
            name = {"namespace": "vision", "pod": pod, "uid": f"uid-{pod}"}
            text.add("kube_pod_info", name | {"node": "n1"}, 1, at)
            request = {"container": "x", "node": "n1", "resource": resource["resource"]}
            text.add("kube_pod_container_resource_requests", name | request, 1, at)
            text.add("kube_pod_status_scheduled_time", name, HOUR_ZERO, at)
            part = {"GPU_I_ID": n, "GPU_I_PROFILE": "1g.10gb"}
            key = labels("GPU-a") | part | {"namespace": "vision", "pod": pod}
            text.add("DCGM_FI_PROF_GR_ENGINE_ACTIVE", key, 0.9, at)
            text.add("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", key, tensor, at)
            text.add("DCGM_FI_DEV_FB_USED", key, 1024 * n, at)
            text.add("DCGM_FI_DEV_POWER_USAGE", key, 350, at)
            spent = round((at - HOUR_ZERO) * 350_000)
            text.add("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", key, spent, at)
    run("import_metrics", "--cluster=north", text.write(tmp_path / "mig.om"))
    rows = {row["pod"]: row for row in report("usage", by="pod")}
    assert rows["a"]["tensor_active"] == pytest.approx(0.8)
    assert rows["b"]["tensor_active"] == pytest.approx(0.1)
    assert rows["a"]["peak_memory_bytes"] == 7 << 30
    assert rows["b"]["peak_memory_bytes"] == 8 << 30
    total = 350 * 1770  # to the last sample
    for row in rows.values():
        assert row["energy_joules"] == pytest.approx(total / 7, rel=1e-6)
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(energy_mj) FROM intensity_window")
        assert cursor.fetchone()[0] == total * 1000
