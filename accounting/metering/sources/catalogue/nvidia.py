"""dcgm-exporter, 3.3 to 4.9.

Sources: its `etc/default-counters.csv` (3.3 to 4.8), its 4.9 release notes and metric
reference (base units), DCGM's field identifiers. The names of 4.9 are derived from both lists and
were not yet verified with a live 4.9.
"""

import re

from accounting.metering.sources.catalogue.metric import (
    BLANK,
    BLANK_32,
    MEBIBYTE,
    PRESENCE,
    Metric,
    Table,
)

OLD, NEW = "3.3-4.8", "4.9"


def _both(id_: str, unit: str, note: str = "") -> Metric:
    return Metric(id_, unit=unit, versions="3.3-4.9", note=note)


METRICS: Table = {
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": Metric(
        "engine_active", unit="0 to 1", versions=OLD, note="on MIG of the instance"
    ),
    "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO": Metric(
        "engine_active", unit="0 to 1", versions=NEW
    ),
    "DCGM_FI_DEV_GPU_UTIL": Metric(
        "gpu_util", 0.01, unit="%", versions=OLD, note="not on MIG"
    ),
    "DCGM_FI_DEV_GPU_UTIL_RATIO": Metric(
        "gpu_util",
        unit="0 to 1",
        versions=NEW,
        note="percent with a custom list on DCGM 4.6: declare `scales`",
    ),
    "DCGM_FI_PROF_SM_ACTIVE": Metric(
        "sm_active", unit="0 to 1", versions=OLD, note="off by default"
    ),
    "DCGM_FI_PROF_SM_UTIL_RATIO": Metric("sm_active", unit="0 to 1", versions=NEW),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": Metric(
        "tensor_active", unit="0 to 1", versions=OLD
    ),
    "DCGM_FI_PROF_TENSOR_UTIL_RATIO": Metric(
        "tensor_active", unit="0 to 1", versions=NEW
    ),
    "DCGM_FI_PROF_DRAM_ACTIVE": Metric("dram_active", unit="0 to 1", versions=OLD),
    "DCGM_FI_PROF_DRAM_UTIL_RATIO": Metric("dram_active", unit="0 to 1", versions=NEW),
    "DCGM_FI_DEV_FB_USED": Metric(
        "memory_used_bytes", MEBIBYTE, BLANK, unit="MiB", versions=OLD
    ),
    "DCGM_FI_DEV_FB_USED_BYTES": Metric(
        "memory_used_bytes", blank=BLANK, unit="bytes", versions=NEW
    ),
    "DCGM_FI_DEV_POWER_USAGE": Metric(
        "power_watts", blank=BLANK_32, unit="W", versions=OLD, note="of the whole GPU"
    ),
    "DCGM_FI_DEV_BOARD_POWER_WATTS": Metric(
        "power_watts", blank=BLANK_32, unit="W", versions=NEW, note="of the whole GPU"
    ),
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": Metric(
        "power_limit_watts",
        blank=BLANK_32,
        unit="W",
        versions="3.3-4.9",
        note="off by default",
    ),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": Metric(
        "energy_joules",
        0.001,
        BLANK,
        unit="mJ",
        versions=OLD,
        note="since the driver was loaded: resets",
    ),
    "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL": Metric(
        "energy_joules", blank=BLANK, unit="J", versions=NEW
    ),
    "DCGM_FI_DEV_GPU_TEMP": Metric(
        "temperature_celsius", blank=BLANK_32, unit="°C", versions=OLD
    ),
    "DCGM_FI_DEV_GPU_TEMP_CELSIUS": Metric(
        "temperature_celsius", blank=BLANK_32, unit="°C", versions=NEW
    ),
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL": Metric(
        "nvlink_bytes_per_second",
        1_024_000.0,
        BLANK,
        unit="KiB/s / 1000",
        versions=OLD,
        note="typed counter, is a rate: never rate()",
    ),
    "DCGM_FI_DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND": Metric(
        "nvlink_bytes_per_second", blank=BLANK, unit="bytes/s", versions=NEW
    ),
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": Metric(
        "throttle_reasons",
        blank=BLANK_32,
        unit="bits",
        versions=OLD,
        note="off by default",
    ),
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": Metric(
        "throttle_reasons",
        blank=BLANK_32,
        unit="bits",
        versions="4.0-4.9",
        note="off by default",
    ),
    "DCGM_FI_DEV_XID_ERRORS": Metric(
        "xid", blank=BLANK_32, unit="code", versions=OLD, note="the last one, stays"
    ),
    "DCGM_FI_DEV_XID_ERROR": Metric("xid", blank=BLANK_32, unit="code", versions=NEW),
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": Metric(
        "ecc_uncorrected",
        blank=BLANK_32,
        unit="count",
        versions="3.3-4.9",
        note="off by default",
    ),
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": Metric(
        "row_remap_failure", blank=BLANK_32, unit="0 or 1", versions=OLD
    ),
    "DCGM_FI_DEV_ROW_REMAP_FAILED": Metric(
        "row_remap_failure", blank=BLANK_32, unit="0 or 1", versions=NEW
    ),
}

# Known, not summed: each sample proves that its GPU was present (rules.md N14).
_KNOWN: dict[str, tuple[str, str]] = {
    "DCGM_FI_DEV_FB_FREE": ("MiB", OLD),
    "DCGM_FI_DEV_FB_FREE_BYTES": ("bytes", NEW),
    "DCGM_FI_DEV_FB_RESERVED": ("MiB", "4.3-4.8"),
    "DCGM_FI_DEV_FB_RESERVED_BYTES": ("bytes", NEW),
    "DCGM_FI_DEV_FB_CAPACITY_BYTES": ("bytes", NEW),
    "DCGM_FI_DEV_MEM_COPY_UTIL": ("% of the memory controller, not memory", OLD),
    "DCGM_FI_DEV_MEMORY_UTIL_RATIO": ("0 to 1", NEW),
    "DCGM_FI_DEV_ENC_UTIL": ("%", OLD),
    "DCGM_FI_DEV_ENC_UTIL_RATIO": ("0 to 1", NEW),
    "DCGM_FI_DEV_DEC_UTIL": ("%", OLD),
    "DCGM_FI_DEV_DEC_UTIL_RATIO": ("0 to 1", NEW),
    "DCGM_FI_DEV_SM_CLOCK": ("MHz", OLD),
    "DCGM_FI_DEV_SM_CLOCK_HERTZ": ("Hz", NEW),
    "DCGM_FI_DEV_MEM_CLOCK": ("MHz", OLD),
    "DCGM_FI_DEV_MEMORY_CLOCK_HERTZ": ("Hz", NEW),
    "DCGM_FI_DEV_MEMORY_TEMP": ("°C", OLD),
    "DCGM_FI_DEV_MEMORY_TEMP_CELSIUS": ("°C", NEW),
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": ("count", OLD),
    "DCGM_FI_DEV_PCIE_REPLAY_TOTAL": ("count", NEW),
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": ("count", OLD),
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": ("count", OLD),
    "DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL": ("count", NEW),
    "DCGM_FI_DEV_ROW_REMAP_CORRECTABLE_TOTAL": ("count", NEW),
    "DCGM_FI_DEV_VGPU_LICENSE_STATUS": ("0 or 1", "3.3-4.9"),
    "DCGM_FI_DEV_COUNT": ("count", "3.3"),
    "DCGM_FI_DEV_BRAND": ("text", "3.3-4.9"),
    "DCGM_FI_DEV_SERIAL": ("text", "3.3-4.9"),
    "DCGM_FI_PROF_SM_OCCUPANCY": ("0 to 1", OLD),
    "DCGM_FI_PROF_SM_OCCUPANCY_RATIO": ("0 to 1", NEW),
    "DCGM_FI_PROF_PCIE_TX_BYTES": ("bytes/s", "3.3-4.9"),
    "DCGM_FI_PROF_PCIE_RX_BYTES": ("bytes/s", "3.3-4.9"),
    "DCGM_FI_DRIVER_VERSION": ("label", OLD),
    "DCGM_FI_SYSTEM_DRIVER_VERSION": ("label", NEW),
}
KNOWN: Table = {
    name: Metric(PRESENCE, unit=unit, versions=versions)
    for name, (unit, versions) in _KNOWN.items()
}
PREFIXES = ("DCGM_FI_", "DCGM_EXP_")  # any other sample of the exporter proves presence
FAMILIES = re.compile(  # families of the exporter's lists that are never summed
    r"DCGM_EXP_"
    r"|DCGM_FI_DEV_(ECC_|RETIRED_|NVLINK_|.*_VIOLATION$|.*INFOROM|VBIOS|OEM)"
    r"|DCGM_FI_PROF_(PIPE_|NVLINK_|PCIE_|NV(DEC|JPG|OFA)|C2C_|INTEGER_)"
    r"|DCGM_FI_.*_VERSION$"
)
