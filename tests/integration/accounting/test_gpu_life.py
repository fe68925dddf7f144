"""Lives of nodes and GPUs through the importer: swapped, seen twice, upgraded, replaced, gone."""

from pathlib import Path
from typing import Any

import pytest

from tests.builders import HOUR_ZERO, SETUP, Text, times
from tests.integration.accounting.support import report, run

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = 3600
END = HOUR_ZERO + HOUR
ALL = times(HOUR_ZERO, END)
FIRST = [t for t in ALL if t < HOUR_ZERO + 1800]
SECOND = [t for t in ALL if t >= HOUR_ZERO + 1800]


def imported(text: Text, folder: Path) -> None:
    setup = folder / "setup.yaml"
    setup.write_text(SETUP)
    run("configure", setup)
    run("import_metrics", "--cluster=north", text.write(folder / "x.om"))
    said = run("verify")
    assert "FAIL" not in said, said


def walls(by: str) -> dict[str, int]:
    rows: list[dict[str, Any]] = report("ledger", by=by)
    return {"/".join(row[k] for k in by.split(",")): row["wall_ms"] for row in rows}


def issues() -> dict[str, str]:
    return {row["code"]: row["subject"] for row in report("issues")}


def test_a_uuid_that_two_nodes_show_is_in_one_place(tmp_path: Path) -> None:
    text = Text()
    for node in ("n1", "n2"):
        text.node(node, 1, ALL)
    text.duty("GPU-a", "n1", dict.fromkeys(ALL, 0.5))
    text.duty("GPU-a", "n2", {t + 5: 0.5 for t in SECOND})
    imported(text, tmp_path)
    assert walls("gpu")["GPU-a"] == (HOUR + 5) * 1000  # to the end of the data
    assert walls("gpu,node")["GPU-a/n1"] == (1800 + 5) * 1000
    assert issues()["gpu_in_two_places"] == "GPU-a"
    [row] = [r for r in report("issues") if r["code"] == "gpu_in_two_places"]
    assert "n1, n2" in row["message"]


def test_a_gpu_that_is_swapped_takes_its_time_along(tmp_path: Path) -> None:
    text = Text()
    for node in ("n1", "n2"):
        text.node(node, 1, ALL)
    text.duty("GPU-a", "n1", dict.fromkeys(FIRST, 0.5))
    text.duty("GPU-a", "n2", dict.fromkeys(SECOND, 0.5))
    text.pod("early", FIRST, node="n1", bound=HOUR_ZERO, completed=FIRST[-1])
    text.pod("late", SECOND, node="n2", bound=SECOND[0])
    imported(text, tmp_path)
    assert walls("gpu,node")["GPU-a/n1"] == 1800 * 1000
    assert walls("gpu,node")["GPU-a/n2"] == 1800 * 1000
    assert "gpu_in_two_places" not in issues()
    by_gpu = {r["pod"]: r["gpu"] for r in report("usage", by="pod,gpu")}
    assert by_gpu["late"] == "GPU-a"


def test_a_driver_upgrade_makes_no_second_gpu(tmp_path: Path) -> None:
    """Labels change with the driver, the exporter and its names (trap T8)."""
    text = Text()
    text.node("n1", 1, ALL)
    text.pod("train", ALL, node="n1", bound=HOUR_ZERO)
    old = {"UUID": "GPU-a", "Hostname": "n1", "DCGM_FI_DRIVER_VERSION": "550"}
    new = {"UUID": "GPU-a", "hostname": "n1", "DCGM_FI_SYSTEM_DRIVER_VERSION": "570"}
    for at in FIRST:
        text.add("DCGM_FI_PROF_GR_ENGINE_ACTIVE", old, 0.5, at)
    for at in SECOND:
        text.add("DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", new, 0.5, at)
    imported(text, tmp_path)
    assert walls("gpu") == {"GPU-a": HOUR * 1000}
    [row] = report("usage", by="pod")
    assert (row["efficiency"], row["coverage"]) == (0.5, 1.0)


def test_a_node_that_is_replaced_under_its_name_has_new_gpus(tmp_path: Path) -> None:
    text = Text()
    gone = range(HOUR_ZERO + 1200, HOUR_ZERO + 2400)
    there = [t for t in ALL if int(t) not in gone]
    text.node("n1", 1, there)
    text.node("n2", 1, ALL)  # kube-state is read all the time
    text.duty("GPU-old", "n1", {t: 0.5 for t in there if t < gone.start})
    text.duty("GPU-new", "n1", {t: 0.5 for t in there if t >= gone.stop})
    imported(text, tmp_path)
    found = walls("gpu")
    assert found["GPU-old"] == 1200 * 1000
    assert found["GPU-new"] == 1200 * 1000


def test_a_uuid_that_no_node_reported_reaches_no_bill(tmp_path: Path) -> None:
    text = Text()
    text.node("n1", 1, ALL)
    text.pod("train", ALL, node="n1", bound=HOUR_ZERO)
    text.duty("GPU-a", "n1", dict.fromkeys(ALL, 0.5), pod="train")
    text.duty("GPU-x", "localhost", dict.fromkeys(ALL, 1), pod="train")
    imported(text, tmp_path)
    assert {row["gpu"] for row in report("usage", by="gpu")} == {"GPU-a"}
    [issue] = [row for row in report("issues") if row["code"] == "foreign_gpu"]
    assert issue["subject"] == "GPU-x"
    assert "localhost" in issue["message"]
    assert issue["at_stake_ms"] > 3_500_000
