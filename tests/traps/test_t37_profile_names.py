"""T37: MIG profiles whose names are rounded, lack in the table, or stay under sharing."""

from pathlib import Path
from typing import Any

import pytest

from tests.builders import SETUP
from tests.integration.metering.support import report
from tests.traps.scene import HOUR_MS, PRODUCT, Pod, Scene, gpus, holds, states, usage
from tests.traps.shapes import mig_node, part

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.integration]
NVL, H20 = "NVIDIA H100 NVL", "NVIDIA H20"


def sampled(
    told: Scene, profile: str, model: str, number: int = 1, pod: str = "slice"
) -> None:
    """An instance of GPU-1 that is half busy."""
    labels = {"modelName": model, "namespace": "vision", "pod": pod}
    told.gpu("GPU-1", 0.5, part(profile, number) | labels)


def unknown() -> list[dict[str, Any]]:
    return [row for row in report("issues") if row["code"] == "unknown_profile"]


@pytest.mark.parametrize(
    ("shown", "resource", "model"),
    [
        ("7g.79gb", "7g.80gb", "NVIDIA A100 80GB PCIe"),
        ("7g.93gb", "7g.94gb", NVL),
        ("4g.23gb", "4g.24gb", "NVIDIA A30"),
        ("7g.178gb", "7g.180gb", "NVIDIA B200"),
        ("7g.80gb", "7g.79gb", "NVIDIA A100 80GB PCIe"),  # the resource is odd
    ],
)
def test_t37_gigabytes_that_are_rounded_are_one_name(
    shown: str, resource: str, model: str, tmp_path: Path
) -> None:
    told = Scene()
    mig_node(told, {resource: 1}, product=model.replace(" ", "-"))
    told.pod(Pod("slice", resource=f"nvidia_com_mig_{resource.replace('.', '_')}"))
    sampled(told, shown, model)
    told.read(tmp_path)

    assert states(gpus()["GPU-1"]) == {"busy": HOUR_MS // 2, "idle": HOUR_MS // 2}
    assert usage("pod")["slice"]["allocated_ms"] == HOUR_MS
    assert unknown() == []


def test_t37_the_single_strategy_names_the_profile_in_the_product(
    tmp_path: Path,
) -> None:
    told = Scene()
    labels = {"gpu_count": 7, "mig_strategy": "single"}
    told.node(units=7, labels=labels, product="NVIDIA-H100-NVL-MIG-1g.12gb")
    told.pod(Pod("slice"))
    for number in range(7, 14):
        sampled(told, "1g.11gb", NVL, number, "slice" if number == 9 else "")
    told.read(tmp_path)

    found = states(gpus()["GPU-1"])
    assert set(found) == {
        "busy",
        "idle",
        "free",
        "stray",
    }  # others are busy without a pod
    assert usage("pod")["slice"]["allocated_ms"] == pytest.approx(HOUR_MS / 7, abs=12)
    assert unknown() == []


def test_t37_an_unknown_name_of_a_known_model_is_read_by_its_slices(
    tmp_path: Path,
) -> None:
    """An H20 of 141 GB calls a seventh 1g.18gb; the table has that of 96 GB."""
    told = Scene()
    mig_node(told, {"1g.18gb": 7}, product="NVIDIA-H20")
    told.pod(Pod("slice", resource="nvidia_com_mig_1g_18gb"))
    sampled(told, "1g.18gb", H20)
    price = "  - {model: NVIDIA H20, rate_per_gpu_hour: '2.10', valid_from: 2026-01-01}"
    told.read(tmp_path, SETUP.replace("prices:", f"prices:\n{price}"))

    assert holds()["uid-slice"]["share"] == "1/7"
    row = usage("pod")["slice"]
    assert row["allocated_ms"] == pytest.approx(HOUR_MS / 7, abs=12)
    [issue] = unknown()
    assert (issue["subject"], issue["severity"]) == ("GPU-1 1g.18gb", "warning")
    assert issue["at_stake_ms"] == pytest.approx(HOUR_MS / 7, abs=12)
    assert issue["at_stake_charge"] == "0.300000"


def test_t37_what_no_gpu_can_be_is_stranded_with_its_money(tmp_path: Path) -> None:
    told = Scene()
    mig_node(told, {"9g.99gb": 1})
    sampled(told, "9g.99gb", "NVIDIA A100-SXM4-80GB", pod="")
    told.read(tmp_path)

    assert states(gpus()["GPU-1"]) == {"stranded": HOUR_MS}
    [issue] = unknown()
    assert (issue["severity"], issue["at_stake_charge"]) == ("error", "2.100000")


def test_t37_replicas_of_an_instance_may_keep_the_name(tmp_path: Path) -> None:
    """Four pods share each instance, and the resource is not called `.shared`."""
    told = Scene()
    labels = {
        "gpu_count": 1,
        "mig_strategy": "mixed",
        "mig_7g_80gb_count": 1,
        "mig_7g_80gb_replicas": 4,
    }
    told.node(units={"nvidia_com_mig_7g_80gb": 4}, labels=labels, product=PRODUCT)
    told.pod(*(Pod(f"p{n}", resource="nvidia_com_mig_7g_80gb") for n in range(2)))
    told.gpu("GPU-1", 0.25, part("7g.80gb", 0))
    told.read(tmp_path)

    assert {row["share"] for row in holds().values()} == {"1/4"}
    assert {row["allocated_ms"] for row in usage("pod").values()} == {HOUR_MS // 4}
    assert states(gpus()["GPU-1"])["free"] == HOUR_MS // 2
