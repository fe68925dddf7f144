"""What one integer of a resource stands for (traps T11, T12; rules.md "Units")."""

from fractions import Fraction

import pytest

from accounting.metering.rules.units.gpu_units import (
    GpuUnit,
    NodeFacts,
    gpu_count,
    is_partition,
    part_of,
    share_of,
    unit_of,
)
from accounting.metering.rules.units.resources import kubernetes_resource

GPU = "nvidia.com/gpu"


def facts(capacity: dict[str, int], **labels: str) -> NodeFacts:
    return NodeFacts(capacity, {f"label_nvidia_com_{k}": v for k, v in labels.items()})


def unit_share(resource: str, node: NodeFacts) -> Fraction:
    """The fraction of one GPU that one unit represents; 0 if it is not possible."""
    unit = unit_of(resource, node)
    return Fraction(0) if unit is None else unit.share


@pytest.mark.parametrize(
    ("sanitised", "spelt"),
    [
        ("nvidia_com_gpu", GPU),
        ("nvidia_com_gpu_shared", "nvidia.com/gpu.shared"),
        ("nvidia_com_mig_1g_10gb", "nvidia.com/mig-1g.10gb"),
        ("nvidia_com_mig_1g_10gb_me", "nvidia.com/mig-1g.10gb.me"),
        ("nvidia_com_mig_1c_3g_40gb_shared", "nvidia.com/mig-1c.3g.40gb.shared"),
        ("amd_com_gpu", "amd.com/gpu"),
        ("amd_com_cpx_nps1", "amd.com/cpx_nps1"),
        ("amd_com_tpx_nps1", "amd.com/tpx_nps1"),
        ("habana_ai_gaudi", "habana.ai/gaudi"),
        ("gpu_intel_com_i915", "gpu.intel.com/i915"),
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


def test_a_partition_of_amd_is_an_eighth() -> None:
    node = NodeFacts(
        {"amd.com/gpu": 16},
        {
            "label_amd_com_gpu_product_name": "AMD_Instinct_MI300X_OAM",
            "label_amd_com_compute_memory_partition": "cpx_nps1",
        },
    )
    assert gpu_count(node) == 2
    unit = unit_of("amd.com/gpu", node)
    assert unit is not None
    assert (unit.kind, unit.share) == ("cpx", Fraction(1, 8))
    assert unit_of("amd.com/cpx_nps4", NodeFacts()) == unit
    whole = unit_of("amd.com/gpu", NodeFacts({"amd.com/gpu": 8}, {}))
    assert whole is not None
    assert whole.share == 1


def test_gke_names_partitions_and_clients_by_labels_of_its_own() -> None:
    labels = {
        "label_cloud_google_com_gke_accelerator": "nvidia-a100-80gb",
        "label_cloud_google_com_gke_gpu_partition_size": "1g.10gb",
        "label_cloud_google_com_gke_max_shared_clients_per_gpu": "2",
    }
    unit = unit_of(GPU, NodeFacts({GPU: 14}, labels))
    assert unit is not None
    assert (unit.kind, unit.share, unit.replicas) == ("1g.10gb", Fraction(1, 14), 2)
    assert gpu_count(NodeFacts({GPU: 14}, labels)) == 1


def test_a_replica_of_an_instance() -> None:
    """The label of the profile says how many hold one instance."""
    node = facts(
        {},
        gpu_product="NVIDIA-A100-SXM4-80GB",
        mig_strategy="mixed",
        mig_1g_10gb_replicas="3",
    )
    unit = unit_of("nvidia.com/mig-1g.10gb.shared", node)
    assert unit is not None
    assert unit.share == Fraction(1, 21)
    assert unit.is_shared
    alone = unit_of("nvidia.com/mig-1g.10gb", node)
    assert alone is not None
    assert not alone.is_shared


@pytest.mark.parametrize(
    ("capacity", "written", "replicas"),
    [
        ({"mig-1g.10gb": 28}, "4", 4),  # the factor
        ({"mig-1g.10gb": 28}, "28", 4),  # the total, of 7 instances
        ({"mig-1g.10gb": 7}, "1", 1),
        ({"mig-1g.10gb": 7}, "", 1),
        ({"mig-1g.10gb": 1, "mig-1g.10gb.shared": 24}, "4", 1),  # those are renamed
        ({"mig-1g.10gb": 28, "mig-1g.10gb.shared": 0}, "4", 4),  # a name of before
    ],
)
def test_replicas_of_an_instance_may_keep_its_name(
    capacity: dict[str, int], written: str, replicas: int
) -> None:
    """The device plugin renames them only if it is told to."""
    node = facts(
        {f"nvidia.com/{name}": units for name, units in capacity.items()},
        gpu_product="NVIDIA-A100-SXM4-80GB",
        mig_strategy="mixed",
        mig_1g_10gb_replicas=written,
        mig_1g_10gb_count="7",
    )
    unit = unit_of("nvidia.com/mig-1g.10gb", node)
    assert unit is not None
    assert unit.share == Fraction(1, 7 * replicas)
    assert unit.is_shared == (replicas > 1)


def test_what_is_more_than_a_gpu_is_no_unit() -> None:
    assert unit_of("nvidia.com/mig-9g.99gb", NodeFacts()) is None
    assert (
        unit_of("nvidia.com/mig-7g.24gb", facts({}, gpu_product="NVIDIA-A30")) is None
    )
    assert unit_share("nvidia.com/mig-9g.99gb", NodeFacts()) == 0


def test_a_resource_that_an_administrator_added() -> None:
    unit = unit_of(
        "example.com/half", NodeFacts(), {"example.com/half": Fraction(1, 2)}
    )
    assert unit is not None
    assert unit.share == Fraction(1, 2)
    assert kubernetes_resource("example_com_half") is None
    added = {"example_com_half": "example.com/half"}
    assert kubernetes_resource("example_com_half", added) == "example.com/half"


ONE = GpuUnit("", Fraction(1), Fraction(1))


@pytest.mark.parametrize(
    ("resource", "unit"),
    [
        ("habana.ai/gaudi", ONE),
        ("gpu.intel.com/i915", ONE),
        ("amd.com/gpu", ONE),
        ("amd.com/spx_nps1", ONE),
        ("amd.com/dpx", GpuUnit("dpx", Fraction(1, 2), Fraction(1, 2))),
        ("nvidia.com/gpu", GpuUnit("", Fraction(1, 4), Fraction(1, 4), 4)),
        ("nvidia.com/mig-1g.10gb", GpuUnit("1g.10gb", Fraction(1, 7), Fraction(1, 8))),
        ("example.com/npu", GpuUnit("", Fraction(1, 2), Fraction(1, 2))),
    ],
)
def test_a_unit_has_a_share_of_compute_and_of_memory(
    resource: str, unit: GpuUnit
) -> None:
    node = facts({}, gpu_replicas="4", gpu_product="NVIDIA-A100-SXM4-80GB")
    assert unit_of(resource, node, {"example.com/npu": Fraction(1, 2)}) == unit


def test_a_replica_of_an_instance_by_the_replicas_of_the_node() -> None:
    """Where no label names the profile's own."""
    node = facts({}, gpu_replicas="4", mig_strategy="mixed", gpu_product="A100-80GB")
    found = unit_of("nvidia.com/mig-1g.10gb.shared", node)
    assert found == GpuUnit("1g.10gb", Fraction(1, 28), Fraction(1, 32), 4)
    node = facts({}, gpu_replicas="4", gpu_product="A100-80GB")
    assert unit_of("nvidia.com/mig-1g.10gb.shared", node) == found


def test_added_units_count_as_gpus() -> None:
    node = facts({"example.com/npu": 8})
    assert gpu_count(node, {"example.com/npu": Fraction(1, 2)}) == 4


def test_shares_of_partitions() -> None:
    assert share_of("", "any") == (Fraction(1), Fraction(1))
    assert share_of("cpx", "AMD Instinct MI300X") == (Fraction(1, 8), Fraction(1, 8))
    assert share_of("cpx", "AMD Instinct MI300A") == (Fraction(1, 6), Fraction(1, 6))
    assert share_of("dpx", "AMD Instinct MI300A") == (Fraction(1, 2), Fraction(1, 2))
    assert is_partition("cpx")
    assert not is_partition("1g.10gb")


@pytest.mark.parametrize(
    ("label", "number"),
    [("7", 7), ("9999", 9999), ("10000", -1), ("", -1), ("x", -1), ("\u00b2", -1)],
)
def test_an_instance_is_a_small_number(label: str, number: int) -> None:
    """A superscript two is a digit, and no number."""
    assert part_of(label) == number


@pytest.mark.parametrize(
    ("label", "number"),
    [("999999999", 999_999_999), ("1000000000", 0), ("", 0), ("-1", 0), ("\u00b2", 0)],
)
def test_a_label_that_is_no_number_counts_nothing(label: str, number: int) -> None:
    assert facts({}, gpu_count=label).number("gpu_count") == number
