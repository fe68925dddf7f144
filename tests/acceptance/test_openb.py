"""A production cluster's trace with fractional requests: OpenB, 6,212 GPUs, 8,152 pods.

The trace says what pods asked for and when they ran, not where: the tests put them on nodes
by size. A fraction is told as KAI tells it, by the annotation `gpu-fraction`.
"""

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.holds.hold import Hold
from tests.acceptance.given import data, expected_of, rows_of
from tests.builders import HOUR_ZERO
from tests.held_time import held_ms_by
from tests.integration.metering.support import report, run
from tests.traps.scene import KUBE, Shown

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.integration]

Row = dict[str, str]
SCRAPES = (HOUR_ZERO, HOUR_ZERO + 30, HOUR_ZERO + 60)
RESOURCE = {"resource": "nvidia_com_gpu", "unit": "integer"}


def units_of(pod: Row) -> tuple[int, Fraction]:
    """Units and the share of each; a fraction counts where one GPU is asked for."""
    units = int(pod["num_gpu"])
    return units, Fraction(int(pod["gpu_milli"]), 1000) if units == 1 else Fraction(1)


def size_of(gpus: Fraction) -> str:
    """The trace's size class."""
    return "(0,1)" if 0 < gpus < 1 else str(gpus)


def test_openb_hours_sum_to_their_classes_of_service() -> None:
    folder = data("public-openb-2023")
    expected = expected_of(folder)["default"]
    holds: list[tuple[str, Hold]] = []
    for row in rows_of(folder / "openb_pod_list_default.csv.gz"):
        units, share = units_of(row)
        if not row["scheduled_time"] or not units:
            continue
        start, end = (
            1000 * int(row[name]) for name in ("scheduled_time", "deletion_time")
        )
        hold = Hold(
            uid=row["name"],
            namespace=row["qos"],
            pod=row["name"],
            node="",
            resource="nvidia.com/gpu",
            units=units,
            share=share,
            created_ms=1000 * int(row["creation_time"]),
            bound_ms=start,
            ended_ms=end,
            booked_until_ms=end,
        )
        holds.append((row["qos"], hold))

    sums = held_ms_by(holds, Interval(0, 2**45))

    def hours(milliseconds: int) -> Decimal:
        return round(Decimal(milliseconds) / 3_600_000, 3)

    assert hours(sum(sums.values())) == Decimal(str(expected["alloc_gpu_hours"]))
    for qos, known in expected["alloc_gpu_hours_by_qos"].items():
        assert hours(sums[qos]) == Decimal(str(known)), qos


# --- through the importer ----------------------------------------------------------


def placed(nodes: list[Row], pods: list[Row]) -> Iterator[tuple[Row, str]]:
    """Each pod that asks for GPUs with a node that has room: the largest first."""
    room: list[list[Any]] = [[row["sn"], 1000 * int(row["gpu"])] for row in nodes]
    room.sort(key=lambda pair: (pair[1], pair[0]))
    for pod in sorted(pods, key=lambda row: (-asked(row), row["name"])):
        if wanted := asked(pod):
            found = next(pair for pair in room if pair[1] >= wanted)
            found[1] -= wanted
            yield pod, found[0]


def asked(pod: Row) -> int:
    """Thousandths of a GPU that a pod asks for."""
    units, share = units_of(pod)
    return int(units * share * 1000)


def told(nodes: list[Row], pods: list[Row]) -> Iterator[Shown]:
    """All nodes and pods at one time, as kube-state shows them."""
    everyone = list(placed(nodes, pods))
    for at in SCRAPES:
        for node in nodes:
            key = KUBE | {"node": node["sn"]}
            count = float(node["gpu"])
            yield Shown("kube_node_status_capacity", key | RESOURCE, count, at)
            facts = {
                "label_nvidia_com_gpu_product": node["model"],
                "label_nvidia_com_gpu_count": node["gpu"],
            }
            yield Shown("kube_node_labels", key | facts, 1, at)
        for pod, where in everyone:
            key = KUBE | {"namespace": "openb", "pod": pod["name"], "uid": pod["name"]}
            yield Shown("kube_pod_info", key | {"node": where}, 1, at)
            yield Shown("kube_pod_status_scheduled_time", key, HOUR_ZERO, at)
            units, share = units_of(pod)
            if share == 1:
                labels = {"container": "main", "node": where} | RESOURCE
                name = "kube_pod_container_resource_requests"
                yield Shown(name, key | labels, units, at)
            else:
                fraction = {"annotation_gpu_fraction": str(float(share))}
                yield Shown("kube_pod_annotations", key | fraction, 1, at)


def written(samples: Iterator[Shown], path: Path) -> Path:
    """Samples as OpenMetrics text."""
    families: dict[str, list[str]] = defaultdict(list)
    for name, labels, value, at in samples:
        body = ",".join(f'{key}="{text}"' for key, text in labels.items())
        families[name].append(f"{name}{{{body}}} {value:.0f} {at:.0f}")
    with path.open("w") as file:
        for name, lines in families.items():
            file.write("\n".join([f"# TYPE {name} gauge", *lines, ""]))
        file.write("# EOF\n")
    return path


@pytest.mark.timeout(300)
def test_openb_requests_become_holds(tmp_path: Path) -> None:
    folder = data("public-openb-2023")
    expected = expected_of(folder)
    rows = rows_of(folder / "openb_node_list_all_node.csv.gz")
    nodes = [row for row in rows if int(row["gpu"])]
    pods = list(rows_of(folder / "openb_pod_list_default.csv.gz"))

    path = written(told(nodes, pods), tmp_path / "openb.om")
    run("import_metrics", "--cluster=openb", path)

    by_size: dict[str, list[Fraction]] = defaultdict(list)
    for row in report("holds"):
        gpus = row["units"] * Fraction(row["share"])
        by_size[size_of(gpus)].append(gpus)
    known = {s: row for s, row in expected["default"]["by_size"].items() if s != "0"}
    assert {size: len(gpus) for size, gpus in by_size.items()} == {
        size: row["pods"] for size, row in known.items()
    }
    for size, row in known.items():
        assert float(sum(by_size[size])) == row["gpu"], size
    models: dict[str, int] = defaultdict(int)
    wanted = {row["sn"]: row["model"] for row in nodes}
    for row in report("ledger", by="gpu"):
        models[wanted[row["gpu"].partition("/")[0]]] += 1
    assert models == expected["gpus_by_model"]
    allocated = {
        row["model"]: row["allocated_ms"] for row in report("usage", by="model")
    }
    assert set(allocated) == set(expected["gpus_by_model"])
    held_ms = int(1000 * (SCRAPES[-1] + 30 - SCRAPES[0]))
    total = Fraction(str(expected["default"]["gpu_request_total"]))
    assert sum(allocated.values()) == pytest.approx(float(total * held_ms), abs=9000)
    assert "FAIL" not in run("verify")
