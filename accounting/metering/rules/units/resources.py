"""Names of GPU resources: in Kubernetes' spelling, and as kube-state writes them.

kube-state writes every special character as `_` (`internal/store/utils.go`); reports, quotas and
bills use Kubernetes' spelling.
"""

import re
from collections.abc import Container, Mapping

_EXACT = {
    "nvidia_com_gpu": "nvidia.com/gpu",
    "nvidia_com_gpu_shared": "nvidia.com/gpu.shared",
    "amd_com_gpu": "amd.com/gpu",
    "habana_ai_gaudi": "habana.ai/gaudi",
    "gpu_intel_com_i915": "gpu.intel.com/i915",
    "gpu_intel_com_xe": "gpu.intel.com/xe",
}
_MIG = re.compile(
    r"nvidia_com_mig_(?:(?P<ci>\d+)c_)?(?P<gi>\d+)g_(?P<gb>\d+)gb"
    r"(?P<attribute>_me_all|_me|_gfx)?(?P<shared>_shared)?"
)
_AMD_PARTITION = re.compile(
    r"amd_com_(?P<compute>spx|dpx|tpx|qpx|cpx)_(?P<memory>nps\d)"
)
CORES, MEMORY = "nvidia.com/gpucores", "nvidia.com/gpumem"  # HAMi: parts of each GPU
MEMORY_PERCENT = "nvidia.com/gpumem-percentage"
PART_RESOURCES = frozenset({CORES, MEMORY, MEMORY_PERCENT})
_PARTS_OF_UNITS = {
    "nvidia_com_gpucores": CORES,
    "nvidia_com_gpumem": MEMORY,
    "nvidia_com_gpumem_percentage": MEMORY_PERCENT,
}


def sanitised(resource: str) -> str:
    """A resource as kube-state spells it."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", resource)


def kubernetes_resource(
    name: str, added: Mapping[str, str] | None = None
) -> str | None:
    """Kubernetes' spelling of a GPU resource as kube-state writes it; None for others.

    Args:
        name: as kube-state spells it.
        added: names that an administrator added, by kube-state's spelling.
    """
    if name in _EXACT:
        return _EXACT[name]
    found = _MIG.fullmatch(name)
    if found is not None:
        compute = f"{found['ci']}c." if found["ci"] else ""
        attribute = (found["attribute"] or "").replace("_", ".")
        shared = ".shared" if found["shared"] else ""
        size = f"{found['gi']}g.{found['gb']}gb"
        return f"nvidia.com/mig-{compute}{size}{attribute}{shared}"
    partition = _AMD_PARTITION.fullmatch(name)
    if partition is not None:
        return f"amd.com/{partition['compute']}_{partition['memory']}"
    return (added or {}).get(name)


def is_counted(resource: str, added: Container[str]) -> bool:
    """True for a resource of GPUs or parts of them, in Kubernetes' spelling."""
    name = sanitised(resource)
    known = (kubernetes_resource(name), part_resource(name))
    return resource in known or resource in added


def part_resource(name: str) -> str | None:
    """HAMi's resources, which limit how much of each requested GPU a pod may use."""
    return _PARTS_OF_UNITS.get(name)
