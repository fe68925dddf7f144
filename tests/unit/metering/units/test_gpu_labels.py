"""What a unit of a GPU depends on are labels that are stored separately (migration 0020)."""

import re
from importlib import import_module

import pytest

from accounting.metering.rules.units.gpu_units import NodeFacts, unit_of

KEYS = import_module("accounting.migrations.0020_gpu_labels").KEYS
STRATEGIES = ("", "none", "single", "mixed")
RESOURCES = (
    *("nvidia.com/gpu", "nvidia.com/gpu.shared", "amd.com/gpu", "amd.com/cpx_nps4"),
    *("nvidia.com/mig-3g.40gb", "nvidia.com/mig-3g.40gb.shared", "habana.ai/gaudi"),
)


class Recorded(dict[str, str]):
    """Labels that remember which of them were read."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def get(self, key: str, default: str = "") -> str:  # type: ignore[override]
        """The value, as of a dict."""
        self.asked.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> str:
        self.asked.add(key)
        return super().__getitem__(key)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_a_unit_depends_on_is_stored_separately(strategy: str) -> None:
    labels = Recorded(
        {"label_nvidia_com_mig_strategy": strategy, "label_gpu": "on"}
        if strategy
        else {}
    )
    for resource in RESOURCES:
        unit_of(resource, NodeFacts({resource: 8}, labels))
    assert len(labels.asked) > 8
    assert [key for key in sorted(labels.asked) if not re.search(KEYS, key)] == []


@pytest.mark.parametrize(
    "key",
    [
        "label_kubernetes_io_hostname",
        "label_nvidia_com_gfd_timestamp",
        "label_nvidia_com_cuda_driver_version_full",
        "label_topology_kubernetes_io_zone",
    ],
)
def test_what_only_names_a_node_is_not(key: str) -> None:
    assert not re.search(KEYS, key)
