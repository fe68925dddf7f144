"""Nobody gets into a bill with invented GPUs (rules.md N40)."""

from pathlib import Path
from typing import Any

import pytest

from tests.builders import HOUR_ZERO, MODEL, SETUP, Text, times
from tests.integration.metering.support import clear, facts, report, run

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = 3600
HOUR_MS = 3_600_000
SECONDS = 2 * HOUR
SCRAPES = times(HOUR_ZERO, HOUR_ZERO + SECONDS)
KUBE = 'job="kube-state-metrics",instance="10.1.0.1:8080"'


def fleet() -> Text:
    """Two nodes with four GPUs each; vision holds two of n1, robotics four of n2."""
    text = Text()
    for node, held, namespace in (("n1", 2, "vision"), ("n2", 4, "robotics")):
        text.node(node, 4, SCRAPES)
        name = f"train-{node}"
        text.pod(
            name,
            SCRAPES,
            node=node,
            bound=HOUR_ZERO,
            namespace=namespace,
            units=held,
        )
        for n in range(4):
            pod = name if n < held else ""
            samples = dict.fromkeys(SCRAPES, 0.5 if pod else 0.0)
            text.utilization(
                f"GPU-{node}{n}", node, samples, pod=pod, namespace=namespace
            )
    return of_job(text, KUBE)


def of_job(text: Text, labels: str) -> Text:
    """The same, with these labels on every series of kube-state."""
    for name, lines in text.families.items():
        if name.startswith("kube_"):
            text.families[name] = [x.replace("{", f"{{{labels},", 1) for x in lines]
    return text


def imported(folder: Path, *texts: Text) -> None:
    """Set up, and import each text."""
    (folder / "setup.yaml").write_text(SETUP)
    run("configure", folder / "setup.yaml")
    for n, text in enumerate(texts):
        run("import_metrics", "--cluster=north", text.write(folder / f"{n}.om"))


def bill() -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """What everybody pays, the platform too, and who held what."""
    return report("usage", by="team"), report("ledger", by="gpu"), report("holds")


def issues(code: str, state: str = "open") -> list[dict[str, Any]]:
    return [row for row in report("issues", state=state) if row["code"] == code]


# --- GPUs --------------------------------------------------------------------------


def invented() -> Text:
    """One UUID on a known node, one on a node that nobody knows, both with a pod's label."""
    text = Text()
    for uuid, node in (("GPU-z-invented", "n1"), ("GPU-x-invented", "n99")):
        for at in SCRAPES:
            labels = {"UUID": uuid, "Hostname": node, "modelName": MODEL, "job": "x"}
            labels |= {"namespace": "vision", "pod": "train-n1"}
            text.add("DCGM_FI_PROF_GR_ENGINE_ACTIVE", labels, 1, at)
    return text


def test_invented_gpus_add_nothing_to_the_bill(tmp_path: Path) -> None:
    imported(tmp_path, fleet())
    before = bill()
    run("import_metrics", "--cluster=north", invented().write(tmp_path / "x.om"))
    assert bill() == before
    [beyond] = issues("gpu_beyond_capacity")
    [foreign] = issues("foreign_gpu")
    assert beyond["subject"] == "GPU-z-invented"
    assert foreign["subject"] == "GPU-x-invented"
    for issue in (beyond, foreign):
        assert issue["at_stake_ms"] >= SECONDS * 1000 - 30_000
        assert float(issue["at_stake_charge"]) == pytest.approx(4.20, abs=0.02)
    assert "FAIL" not in run("verify")


def test_the_order_of_files_makes_no_difference(tmp_path: Path) -> None:
    imported(tmp_path, fleet(), invented())
    whole = facts(), report("holds")
    clear()
    imported(tmp_path, invented(), fleet())
    assert (facts(), report("holds")) == whole


def test_a_larger_capacity_makes_a_gpu_real_from_its_first_sample(
    tmp_path: Path,
) -> None:
    imported(tmp_path, fleet(), invented())
    larger = Text()
    larger.node("n1", 5, times(HOUR_ZERO + SECONDS, HOUR_ZERO + SECONDS + 600))
    path = of_job(larger, KUBE).write(tmp_path / "larger.om")
    run("import_metrics", "--cluster=north", path)
    walls = {row["gpu"]: row["wall_ms"] for row in report("ledger", by="gpu")}
    assert walls["GPU-z-invented"] == (SECONDS + 600) * 1000
    assert "GPU-x-invented" not in walls
    assert "FAIL" not in run("verify")
