"""T11: one integer of `nvidia.com/gpu` is not always one GPU."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.traps.scene import GPU, HOUR_MS, Pod, Scene, gpus, holds, usage

pytestmark = pytest.mark.django_db(transaction=True)

A100_40 = "NVIDIA-A100-SXM4-40GB"
SHARING = {"gpu_sharing_strategy": "time-slicing"}
CASES = {
    "a MIG single": (
        {GPU: 56},
        f"{A100_40}-MIG-1g.5gb",
        {"gpu_count": 56, "mig_strategy": "single"},
        "1/7",
    ),
    "b time-slicing": (
        {GPU: 32},
        f"{A100_40}-SHARED",
        {"gpu_count": 8, "gpu_replicas": 4} | SHARING,
        "1/4",
    ),
    "c renamed": (
        {f"{GPU}_shared": 32, GPU: 0},
        A100_40,
        {"gpu_count": 8, "gpu_replicas": 4} | SHARING,
        "1/4",
    ),
    "d replicas 0": ({GPU: 8}, A100_40, {"gpu_count": 8, "gpu_replicas": 0}, "1"),
    "d no replicas": ({GPU: 8}, A100_40, {"gpu_count": 8}, "1"),
}


@pytest.mark.parametrize(
    ("capacity", "product", "labels", "share"), CASES.values(), ids=CASES
)
def test_t11_eight_gpus_whatever_the_units(
    capacity: Mapping[str, int],
    product: str,
    labels: Mapping[str, object],
    share: str,
    tmp_path: Path,
) -> None:
    told = Scene()
    told.node("n1", capacity, labels, product)
    resource = next(name for name, units in capacity.items() if units)
    told.pod(Pod("train-0", resource=resource))

    told.read(tmp_path)

    assert len(gpus()) == 8  # naive: 56, 32, 0 and 8
    assert sum(row["wall_ms"] for row in gpus().values()) == 8 * HOUR_MS
    assert holds()["uid-train-0"]["share"] == share
    part = eval_share(share)
    assert usage("pod")["train-0"]["allocated_ms"] == pytest.approx(
        HOUR_MS * part, abs=6
    )


def eval_share(share: str) -> float:
    """A share as a number."""
    above, _, below = share.partition("/")
    return int(above) / int(below or 1)
