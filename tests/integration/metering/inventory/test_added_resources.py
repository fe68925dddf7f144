"""Resources that an administrator names in `configure`: counted, divided, let go again."""

from pathlib import Path

import pytest

from accounting.metering.models.cluster import AddedResource
from accounting.metering.models.ledger import IngestWindow
from tests.builders import HOUR_ZERO
from tests.integration.metering.support import report, run

pytestmark = pytest.mark.django_db(transaction=True)
NODE = {"node": "n1"}
POD = {"namespace": "vision", "pod": "trainer", "uid": "uid-trainer"}
SCRAPES = range(HOUR_ZERO, HOUR_ZERO + 601, 60)


def exposition() -> str:
    """A node of two GPUs in halves, and a pod with three of them."""
    half = {"resource": "example_com_half", "unit": "integer"}
    shown = (
        ("kube_node_status_capacity", NODE | half, 4),
        ("kube_node_labels", NODE | {"label_nvidia_com_gpu_count": "2"}, 1),
        ("kube_pod_info", POD | NODE, 1),
        ("kube_pod_status_scheduled_time", POD, HOUR_ZERO),
        (
            "kube_pod_container_resource_requests",
            POD | NODE | half | {"container": "main"},
            3,
        ),
    )
    lines: list[str] = []
    for name, labels, value in shown:
        body = ",".join(f'{key}="{text}"' for key, text in labels.items())
        lines.extend(f"{name}{{{body}}} {value} {at * 1000}\n" for at in SCRAPES)
    return "".join(lines)


@pytest.fixture
def setup(tmp_path: Path) -> Path:
    """The file that `configure` reads."""
    return tmp_path / "setup.yaml"


def configure(setup: Path, resources: str) -> str:
    setup.write_text(f"resources: {resources}\n")
    return run("configure", setup)


def shown() -> tuple[list[tuple[str, int, str]], int]:
    """Holds as (resource, units, share), and how many GPUs the ledger has."""
    holds = [(r["resource"], r["units"], r["share"]) for r in report("holds")]
    return holds, len(report("ledger", by="gpu"))


def allocated() -> int:
    """Milliseconds over all pods."""
    return sum(int(row["allocated_ms"]) for row in report("usage", by="pod"))


def test_a_named_resource_is_counted_by_its_share(setup: Path) -> None:
    assert "1 added resources" in configure(setup, '{"example.com/half": 1/2}')
    path = setup.with_name("all.prom")
    path.write_text(exposition())
    run("import_metrics", "--cluster=north", path)
    assert shown() == ([("example.com/half", 3, "1/2")], 2)
    assert allocated() == pytest.approx(660_000 * 1.5, abs=60_000)
    assert "FAIL" not in run("verify")


def test_a_change_is_computed_from_what_was_read_before(setup: Path) -> None:
    path = setup.with_name("all.prom")
    path.write_text(exposition())
    run("import_metrics", "--cluster=north", path)
    assert shown() == ([], 0)

    configure(setup, '{"example.com/half": 0.5}')
    assert set(IngestWindow.objects.values_list("reason", flat=True)) == {"resources"}
    assert set(IngestWindow.objects.values_list("state", flat=True)) == {"pending"}
    run("ingest", "--cluster=north")
    halves = allocated()
    assert shown() == ([("example.com/half", 3, "1/2")], 2)

    configure(setup, '{"example.com/half": 1}')
    run("ingest", "--cluster=north")
    assert shown() == ([("example.com/half", 3, "1")], 4)
    assert allocated() == 2 * halves > 0

    configure(setup, "{}")
    assert not AddedResource.objects.exists()
    run("ingest", "--cluster=north")
    assert shown()[0] == []
    assert allocated() == 0
    assert "FAIL" not in run("verify")


def test_the_same_again_changes_nothing(setup: Path) -> None:
    configure(setup, '{"example.com/half": 1/2}')
    assert "no changes" in configure(setup, '{"example.com/half": 2/4}')
    setup.write_text("billing: {currency: USD}\n")
    run("configure", setup)
    assert AddedResource.objects.count() == 1
