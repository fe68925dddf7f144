"""T1: framebuffer read as bytes."""

from pathlib import Path

import pytest

from tests.traps.scene import Pod, Scene, usage

pytestmark = pytest.mark.django_db(transaction=True)

MEBIBYTE = 1_048_576
VALUES = {"FREE": 40506, "USED": 40960, "RESERVED": 454}


def test_t1_framebuffer_is_in_mebibytes(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("train-0"))
    told.gpu("GPU-1", 0.5)
    for name, value in VALUES.items():
        told.gpu("GPU-1", value, metric=f"DCGM_FI_DEV_FB_{name}")
    assert VALUES["USED"] / (VALUES["USED"] + VALUES["FREE"]) == pytest.approx(
        0.503, abs=5e-4
    )

    told.read(tmp_path)

    peak = usage("pod")["train-0"]["peak_memory_bytes"]
    assert peak == 42_949_672_960 == 40 * 2**30  # naive: 40,960 bytes
    assert peak / (sum(VALUES.values()) * MEBIBYTE) == 0.5
