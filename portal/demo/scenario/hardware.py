"""GPU models and exporter flavors of the simulated cluster.

Power and memory are the vendors' data sheet values.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class GpuModel:
    """One kind of GPU, as exporters spell it."""

    name: str
    memory_mib: int
    idle_watts: float
    max_watts: float
    family: str

    @property
    def is_amd(self) -> bool:
        """True for a GPU with AMD's exporter and labels."""
        return self.name.startswith("AMD")


H100 = GpuModel("NVIDIA H100 80GB HBM3", 81_559, 70, 700, "hopper")
A100_80 = GpuModel("NVIDIA A100-SXM4-80GB", 81_920, 60, 400, "ampere")
A100_40 = GpuModel("NVIDIA A100-SXM4-40GB", 40_960, 55, 400, "ampere")
A10G = GpuModel("NVIDIA A10G", 23_028, 20, 300, "ampere")
L4 = GpuModel("NVIDIA L4", 23_034, 12, 72, "ada-lovelace")
T4 = GpuModel("Tesla T4", 15_360, 10, 70, "turing")
A6000 = GpuModel("NVIDIA RTX A6000", 49_140, 25, 300, "ampere")
MI300X = GpuModel("AMD Instinct MI300X OAM", 196_592, 140, 750, "cdna3")


@dataclass(frozen=True, slots=True)
class Flavour:
    """The names and scales of one version of an exporter.

    Attributes:
        energy_scale: counts of its energy counter per joule.
        intensities: ratio metrics and their subject: `sm`, `tensor` or `dram`.
    """

    version: str
    driver: str  # of the nodes that run it
    utilization: str
    is_percent: bool
    memory: str
    is_mebibytes: bool
    power: str
    host_label: str
    energy: str = ""
    energy_scale: float = 1.0
    intensities: tuple[tuple[str, str], ...] = ()


OLD = Flavour(
    version="3.3.5",
    driver="535.183.06",
    utilization="DCGM_FI_DEV_GPU_UTIL",
    is_percent=True,
    memory="DCGM_FI_DEV_FB_USED",
    is_mebibytes=True,
    power="DCGM_FI_DEV_POWER_USAGE",
    host_label="Hostname",
)
CURRENT = replace(
    OLD,
    version="4.5.3",
    driver="550.163.01",
    utilization="DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    is_percent=False,
    energy="DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    energy_scale=1000,
    intensities=(
        ("DCGM_FI_PROF_SM_ACTIVE", "sm"),
        ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "tensor"),
        ("DCGM_FI_PROF_DRAM_ACTIVE", "dram"),
    ),
)
NEWEST = Flavour(
    version="4.9.0",
    driver="580.95.05",
    utilization="DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO",
    is_percent=False,
    memory="DCGM_FI_DEV_FB_USED_BYTES",
    is_mebibytes=False,
    power="DCGM_FI_DEV_BOARD_POWER_WATTS",
    host_label="hostname",
    energy="DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL",
    intensities=(
        ("DCGM_FI_PROF_SM_UTIL_RATIO", "sm"),
        ("DCGM_FI_PROF_TENSOR_UTIL_RATIO", "tensor"),
        ("DCGM_FI_PROF_DRAM_UTIL_RATIO", "dram"),
    ),
)
AMD = Flavour(
    version="1.3.1",
    driver="6.14.14",
    utilization="gpu_gfx_activity",
    is_percent=True,
    memory="gpu_used_vram",
    is_mebibytes=True,
    power="gpu_package_power",
    host_label="hostname",
    energy="gpu_energy_consumed",
    energy_scale=1e6,
)
