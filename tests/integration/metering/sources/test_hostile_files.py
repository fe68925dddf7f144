"""Files with text, times and values that nobody should write: the rest still counts.

A label that can be no name of anything is left out with an issue, any other is taken as it
stands; the good part of the file keeps its numbers. Not here: files that are no exposition
text at all (test_import), single lines (the parser's unit tests).
"""

from pathlib import Path
from typing import Any

import pytest

from tests.builders import HOUR_ZERO, MODEL, Text, times
from tests.integration.metering.support import clear, facts, report, run

pytestmark = pytest.mark.django_db(transaction=True)

END = HOUR_ZERO + 600
LONG = "x" * 65_536
TEXTS = {
    "64 KiB": LONG,
    "control characters": "a\x01\x08\x1b[31m\x7f\x9f",
    "right to left": "\u202eelif\u202c עברית",
    "line ends": "a\nb\rc\u2028d\x85",
    "quotes": "'; DROP TABLE accounting_pod; --\"\\",
    "markup": "<script>alert(1)</script>&amp;",
    "blanks": "  ",
    "byte order mark": "\ufeffn9",
    "braces": '} 1 # {a="b"} {{7*7}} %s {0}',
    "beyond the first plane": "😀" * 60,
    "300 letters": "y" * 300,
}
EXPORTER_LABELS = (
    "UUID",
    "Hostname",
    "modelName",
    "GPU_I_ID",
    "GPU_I_PROFILE",
    "vgpu",
    "exported_pod",
    "exported_namespace",
    "exported_pod_uid",
    "job",
    "instance",
    "replica",
)
KUBE_LABELS = (
    "node",
    "pod",
    "namespace",
    "uid",
    "resource",
    "container",
    "owner_kind",
    "owner_name",
    "label_nvidia_com_gpu_product",
    "label_team",
    "created_by_kind",
)


def good() -> Text:
    """Ten minutes of the node `n1` with a pod."""
    text = Text()
    scrapes = times(HOUR_ZERO, END)
    text.node("n1", 1, scrapes)
    text.pod("train", scrapes[2:], node="n1", bound=HOUR_ZERO + 45)
    text.utilization("GPU-1", "n1", dict.fromkeys(scrapes, 0.5), pod="train")
    return text


def escaped(value: str) -> str:
    """A label value as exporters write it."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def add_exporter(text: Text, label: str, value: str) -> None:
    """A GPU of another node whose samples carry an odd label."""
    labels = (
        {
            "UUID": f"GPU-{label}",
            "Hostname": "n9",
            "modelName": MODEL,
            "job": "odd",  # a scraper of its own: exported labels change what its plain ones mean
            "exported_pod": "odd",
            "exported_namespace": "odd",
        }
        | {label: escaped(value)}
    )
    for at in times(HOUR_ZERO, END):
        text.add("DCGM_FI_PROF_GR_ENGINE_ACTIVE", labels, 0.25, at)


def add_kube(text: Text, label: str, value: str) -> None:
    """A node with a pod whose series carry an odd label."""
    node = {"node": f"n-{label}"}
    pod = {"namespace": "odd", "pod": f"odd-{label}", "uid": f"uid-{label}"}
    resource = {"resource": "nvidia_com_gpu", "unit": "integer"}
    owner = {"owner_kind": "Job", "owner_name": "odd", "owner_is_controller": "true"}
    product = {"label_nvidia_com_gpu_product": "A100", "label_nvidia_com_gpu_count": 1}
    odd = {label: escaped(value)}
    for at in times(HOUR_ZERO, END):
        for name, labels, number in (
            ("kube_node_status_capacity", node | resource, 1),
            ("kube_node_labels", node | product, 1),
            ("kube_pod_info", pod | node, 1),
            ("kube_pod_status_scheduled_time", pod, HOUR_ZERO + 15),
            (
                "kube_pod_container_resource_requests",
                pod | node | resource | {"container": "main"},
                1,
            ),
            ("kube_pod_owner", pod | owner, 1),
            ("kube_pod_labels", pod, 1),
        ):
            text.add(name, labels | odd, number, at)


def numbers(node: str) -> list[tuple[Any, ...]]:
    """The facts of a node."""
    return [row for row in facts() if row[4] == node]


@pytest.fixture(scope="module")
def known() -> list[tuple[Any, ...]]:
    """What the first test finds, for the others."""
    return []


@pytest.fixture
def expected(tmp_path: Path, known: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The facts of the good node when it is alone."""
    if not known:
        run("import_metrics", "--cluster=north", good().write(tmp_path / "good.om"))
        known += numbers("n1")
        assert known
        clear()
    return known


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("kind", ["exporter", "kube"])
def test_odd_label_harms_nobody_else(
    kind: str, name: str, expected: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    add, labels = {
        "exporter": (add_exporter, EXPORTER_LABELS),
        "kube": (add_kube, KUBE_LABELS),
    }[kind]
    text = good()
    for label in labels:
        add(text, label, TEXTS[name])
    run("import_metrics", "--cluster=north", text.write(tmp_path / "odd.om"))
    assert numbers("n1") == expected
    assert "FAIL" not in run("verify")


def test_label_that_is_too_long_is_said(tmp_path: Path) -> None:
    text = good()
    add_exporter(text, "UUID", LONG)
    add_kube(text, "pod", LONG)
    run("import_metrics", "--cluster=north", text.write(tmp_path / "odd.om"))
    said = {
        row["subject"] for row in report("issues") if row["code"] == "label_too_long"
    }
    assert "DCGM_FI_PROF_GR_ENGINE_ACTIVE: UUID" in said
    assert "kube_pod_info: pod" in said
    assert {row["pod"] for row in report("holds")} == {"train"}


def test_long_label_of_no_importance_is_kept(tmp_path: Path) -> None:
    text = good()
    add_exporter(text, "device", "x" * 500)
    run("import_metrics", "--cluster=north", text.write(tmp_path / "odd.om"))
    assert numbers("n9")


def test_gpu_that_two_nodes_show_at_once_is_one_gpu(tmp_path: Path) -> None:
    text = good()
    for node in ("n8", "n9"):
        text.utilization("GPU-9", node, dict.fromkeys(times(HOUR_ZERO, END), 0.5))
    run("import_metrics", "--cluster=north", text.write(tmp_path / "odd.om"))
    [row] = [row for row in report("ledger", by="gpu") if row["gpu"] == "GPU-9"]
    assert row["wall_ms"] == 600_000


def test_name_that_no_catalogue_knows_is_said(tmp_path: Path) -> None:
    text = good()
    names = {"nvidia_gpu_duty_cycle", "DCGM_CUSTOM", "gpu_made_up_by_us"}
    for name in names:
        text.add(name, {"UUID": "GPU-1", "Hostname": "n1"}, 1, HOUR_ZERO)
    text.add("node_load1", {}, 1, HOUR_ZERO)
    printed = run("import_metrics", "--cluster=north", text.write(tmp_path / "x.om"))
    said = {row["subject"]: row for row in report("issues")}
    assert names <= set(said)
    assert "node_load1" not in said
    for name in names:
        assert said[name]["code"] == "unknown_metric"
        assert said[name]["advice"]
        assert name in printed
