"""T12: a profile table keyed by the name only."""

from fractions import Fraction
from pathlib import Path

import pytest

from accounting.metering.rules.units.mig_profiles import Policy, shape_of, weights
from tests.traps.scene import Pod, Scene, holds
from tests.traps.shapes import mig_node

pytestmark = pytest.mark.django_db(transaction=True)

CASES = [  # product, profile, compute share, most per GPU
    ("NVIDIA-A100-SXM4-80GB", "1g.10gb", "1/7", 7),
    ("NVIDIA-A100-SXM4-40GB", "1g.10gb", "1/7", 4),
    ("NVIDIA-H100-NVL", "1g.24gb", "1/7", 4),
    ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "1g.24gb", "1/4", 4),
    ("NVIDIA-A30", "1g.6gb", "1/4", 4),
]


@pytest.mark.parametrize(("product", "profile", "share", "most"), CASES)
def test_t12_the_model_decides_what_a_profile_is(
    product: str, profile: str, share: str, most: int, tmp_path: Path
) -> None:
    told = Scene()
    mig_node(told, {profile: most}, product=product)
    resource = "nvidia_com_mig_" + profile.replace(".", "_")
    told.pod(Pod("slice", resource=resource))

    told.read(tmp_path)

    assert holds()["uid-slice"]["share"] == share


def test_t12_memory_and_dominant_share_differ_by_card() -> None:
    found = {}
    for model in ("NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-SXM4-40GB"):
        shape = shape_of("1g.10gb", model)
        assert shape is not None
        [dominant] = weights([shape], Policy.DOMINANT)
        found[model] = (shape.compute, shape.memory, shape.most, dominant)
    assert found == {
        "NVIDIA-A100-SXM4-80GB": (Fraction(1, 7), Fraction(1, 8), 7, Fraction(1, 7)),
        "NVIDIA-A100-SXM4-40GB": (Fraction(1, 7), Fraction(1, 4), 4, Fraction(1, 4)),
    }
