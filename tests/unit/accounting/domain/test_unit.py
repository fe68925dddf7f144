"""What one integer of a resource stands for (traps T11, T12; rules.md "units")."""

from fractions import Fraction

import pytest

from accounting.domain.unit import NodeFacts, gpu_count, kubernetes_resource, unit_share

GPU = "nvidia.com/gpu"


def facts(capacity: dict[str, int], **labels: str) -> NodeFacts:
    return NodeFacts(capacity, {f"label_nvidia_com_{k}": v for k, v in labels.items()})


@pytest.mark.parametrize(
    ("sanitised", "spelt"),
    [
        ("nvidia_com_gpu", GPU),
        ("nvidia_com_gpu_shared", "nvidia.com/gpu.shared"),
        ("nvidia_com_mig_1g_10gb", "nvidia.com/mig-1g.10gb"),
        ("nvidia_com_mig_1g_10gb_me", "nvidia.com/mig-1g.10gb.me"),
        ("amd_com_gpu", "amd.com/gpu"),
        ("cpu", None),
        ("ephemeral_storage", None),
    ],
)
def test_resources_are_spelt_as_kubernetes_does(
    sanitised: str, spelt: str | None
) -> None:
    assert kubernetes_resource(sanitised) == spelt


def test_single_strategy_counts_instances() -> None:
    """T11a: 56 instances are 8 GPUs; a request of 1 is a seventh."""
    node = facts(
        {GPU: 56},
        mig_strategy="single",
        gpu_product="NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
        gpu_count="56",
    )
    assert gpu_count(node) == 8
    assert unit_share(GPU, node) == Fraction(1, 7)


def test_time_slicing_counts_replicas() -> None:
    """T11b, c: 32 units are 8 GPUs; a request of 1 is a quarter."""
    node = facts({GPU: 32}, gpu_count="8", gpu_replicas="4")
    assert gpu_count(node) == 8
    assert unit_share(GPU, node) == Fraction(1, 4)
    renamed = facts(
        {"nvidia.com/gpu.shared": 32, GPU: 0}, gpu_count="8", gpu_replicas="4"
    )
    assert gpu_count(renamed) == 8


def test_replicas_written_as_a_total_are_divided() -> None:
    node = facts({GPU: 32}, gpu_count="8", gpu_replicas="32")
    assert unit_share(GPU, node) == Fraction(1, 4)


@pytest.mark.parametrize("replicas", ["0", ""])
def test_no_replicas_is_one(replicas: str) -> None:
    """T11d."""
    node = facts({GPU: 8}, gpu_count="8", gpu_replicas=replicas)
    assert gpu_count(node) == 8
    assert unit_share(GPU, node) == 1


def test_slices_depend_on_the_model() -> None:
    """T12: 1g of an A30 is a quarter, of an A100 a seventh."""
    assert unit_share(
        "nvidia.com/mig-1g.6gb", facts({}, gpu_product="NVIDIA-A30")
    ) == Fraction(1, 4)
    assert unit_share(
        "nvidia.com/mig-3g.40gb", facts({}, gpu_product="NVIDIA-A100")
    ) == Fraction(3, 7)


def test_mixed_strategy_says_its_count() -> None:
    node = facts(
        {"nvidia.com/mig-1g.10gb": 14, "nvidia.com/mig-3g.40gb": 2},
        mig_strategy="mixed",
        gpu_count="4",
    )
    assert gpu_count(node) == 4
