"""Lives of nodes and GPUs through the importer: swapped, seen twice, upgraded, replaced, gone."""

from pathlib import Path
from typing import Any

import pytest

from accounting.access.scope import EVERYTHING
from accounting.fleet.reads.gpu_events import gpu_events
from accounting.kit.reads.selection import Selection
from accounting.metering.models.cluster import NodeFact
from tests.builders import HOUR_ZERO, SETUP, Text, times
from tests.integration.metering.support import clear, report, run

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
    text.utilization("GPU-a", "n1", dict.fromkeys(ALL, 0.5))
    text.utilization("GPU-a", "n2", {t + 5: 0.5 for t in SECOND})
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
    text.utilization("GPU-a", "n1", dict.fromkeys(FIRST, 0.5))
    text.utilization("GPU-a", "n2", dict.fromkeys(SECOND, 0.5))
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
    text.utilization("GPU-old", "n1", {t: 0.5 for t in there if t < gone.start})
    text.utilization("GPU-new", "n1", {t: 0.5 for t in there if t >= gone.stop})
    imported(text, tmp_path)
    found = walls("gpu")
    assert found["GPU-old"] == 1200 * 1000
    assert found["GPU-new"] == 1200 * 1000


def test_a_uuid_that_no_node_reported_reaches_no_bill(tmp_path: Path) -> None:
    text = Text()
    text.node("n1", 1, ALL)
    text.pod("train", ALL, node="n1", bound=HOUR_ZERO)
    text.utilization("GPU-a", "n1", dict.fromkeys(ALL, 0.5), pod="train")
    text.utilization("GPU-x", "localhost", dict.fromkeys(ALL, 1), pod="train")
    imported(text, tmp_path)
    assert {row["gpu"] for row in report("usage", by="gpu")} == {"GPU-a"}
    [issue] = [row for row in report("issues") if row["code"] == "foreign_gpu"]
    assert issue["subject"] == "GPU-x"
    assert "localhost" in issue["message"]
    assert issue["at_stake_ms"] > 3_500_000


def test_the_life_of_a_gpu_is_listed(tmp_path: Path) -> None:
    text = Text()
    for node in ("n1", "n2"):
        for half, driver in ((FIRST, "550.54.15"), (SECOND, "570.86.10")):
            for at in half:
                resource = {"node": node, "resource": "nvidia_com_gpu"}
                text.add("kube_node_status_capacity", resource, 2, at)
                labels = {
                    "node": node,
                    "label_nvidia_com_cuda_driver_version_full": driver,
                    "label_nvidia_com_gpu_count": 2,
                }
                text.add("kube_node_labels", labels, 1, at)
                cordoned = int(half is SECOND and at < HOUR_ZERO + 2700)
                text.add("kube_node_spec_unschedulable", {"node": node}, cordoned, at)
    late = HOUR_ZERO + 3000
    text.utilization("GPU-a", "n1", {t: 0.5 for t in ALL if t < late})
    text.utilization("GPU-a", "n2", {t: 0.5 for t in ALL if t >= late})
    labels = {"UUID": "GPU-a", "Hostname": "n1"}
    text.add("DCGM_FI_DEV_XID_ERRORS", labels, 79, HOUR_ZERO + 600)
    imported(text, tmp_path)
    found = [
        (event.at.strftime("%H:%M"), event.title, event.detail)
        for event in gpu_events(Selection(EVERYTHING), "GPU-a")
    ]
    assert ("10:50", "Moved", "from n1 to n2") in found
    assert ("10:30", "Driver changed", "550.54.15 → 570.86.10") in found
    assert ("10:30", "Node cordoned", "No new pods are scheduled on it") in found
    assert ("10:45", "Node schedulable again", "") in found
    assert (
        "10:10",
        "GPU error (XID)",
        "XID 79: the GPU has fallen off the bus.",
    ) in found
    assert found[-1] == ("10:00", "First seen", "on n1")
    assert len(found) == 7  # and "Gone from n1"


def test_a_cordon_is_seen_in_whatever_pieces_it_is_read(tmp_path: Path) -> None:
    def facts() -> list[tuple[Any, ...]]:
        rows = NodeFact.objects.order_by("valid_from")
        return list(rows.values_list("valid_from", "labels"))

    def part(low: float, high: float) -> Text:
        text = Text()
        text.node("n1", 1, [t for t in ALL if low <= t < high])
        for at in ALL:
            if low <= at < high:
                cordoned = int(HOUR_ZERO + 900 <= at < HOUR_ZERO + 2000)
                text.add("kube_node_spec_unschedulable", {"node": "n1"}, cordoned, at)
        return text

    imported(part(HOUR_ZERO, END), tmp_path)
    whole = facts()
    assert [("unschedulable" in labels) for _, labels in whole] == [False, True, False]
    clear()
    for low in (HOUR_ZERO + 1800, HOUR_ZERO):
        imported(part(low, low + 1800), tmp_path)
    assert facts() == whole
