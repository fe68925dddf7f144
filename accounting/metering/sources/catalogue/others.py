"""AMD's device-metrics-exporter and Intel Gaudi's Prometheus exporter.

Sources: ROCm/device-metrics-exporter `docs/configuration/metricslist.md` (names are exposed in
lower case) and docs.habana.ai, Prometheus Metric Exporter. Gaudi's labels are not documented, so
its support is experimental.
"""

from accounting.metering.sources.catalogue.metric import PRESENCE, Metric, Table

_AMD = "device-metrics-exporter 1.x"
_FIRST = "only partition 0 shows it"
AMD: Table = {
    "gpu_gfx_activity": Metric(
        "engine_active", 0.01, unit="%", versions=_AMD, note=_FIRST
    ),
    "gpu_prof_sm_active": Metric("sm_active", 0.01, unit="%", versions=_AMD),
    "gpu_prof_tensor_active_percent": Metric(
        "tensor_active", 0.01, unit="%", versions=_AMD
    ),
    "gpu_used_vram": Metric("memory_used_bytes", 1_000_000.0, unit="MB", versions=_AMD),
    "gpu_package_power": Metric(
        "power_watts", unit="W", versions=f"{_AMD}, MI3xx", note=_FIRST
    ),
    "gpu_average_package_power": Metric(
        "power_watts", unit="W", versions=f"{_AMD}, MI2xx and Radeon"
    ),
    "gpu_power_usage": Metric("power_watts", unit="W", versions=_AMD),
    "gpu_energy_consumed": Metric(
        "energy_joules", 0.000_001, unit="µJ", versions=_AMD, note=_FIRST
    ),
    "gpu_junction_temperature": Metric("temperature_celsius", unit="°C", versions=_AMD),
    "gpu_ecc_uncorrect_total": Metric("ecc_uncorrected", unit="count", versions=_AMD),
}
AMD_KNOWN: Table = {
    name: Metric(PRESENCE, unit=unit, versions=_AMD)
    for name, unit in {
        "gpu_umc_activity": "% of the memory engine",
        "gpu_free_vram": "MB",
        "gpu_total_vram": "MB",
        "gpu_health": "flag",
        "gpu_gfx_busy_instantaneous": "% per core",
        "gpu_process_cu_occupancy": "%",
        "gpu_prof_occupancy_percent": "%",
        "gpu_prof_gui_util_percent": "%",
        "gpu_edge_temperature": "°C",
        "gpu_memory_temperature": "°C",
        "gpu_clock": "MHz",
        "gpu_nodes_total": "count",
    }.items()
}
# others report 0, which is not a measurement (trap T10)
AMD_OF_FIRST_PARTITION = frozenset(
    {
        *("gpu_gfx_activity", "gpu_package_power", "gpu_average_package_power"),
        *("gpu_power_usage", "gpu_energy_consumed", "gpu_clock"),
    }
)
AMD_DIVIDED = frozenset({"dpx", "tpx", "qpx", "cpx"})  # spx is the whole GPU

_GAUDI = "Gaudi exporter 1.x (experimental)"
GAUDI: Table = {
    "habanalabs_utilization": Metric("gpu_util", 0.01, unit="%", versions=_GAUDI),
    "habanalabs_memory_used_bytes": Metric(
        "memory_used_bytes", unit="bytes", versions=_GAUDI
    ),
    "habanalabs_power_mW": Metric("power_watts", 0.001, unit="mW", versions=_GAUDI),
    "habanalabs_temperature_onchip": Metric(
        "temperature_celsius", unit="°C", versions=_GAUDI
    ),
}
GAUDI_KNOWN: Table = {
    name: Metric(PRESENCE, unit=unit, versions=_GAUDI)
    for name, unit in {
        "habanalabs_memory_free_bytes": "bytes",
        "habanalabs_memory_total_bytes": "bytes",
        "habanalabs_energy": "not documented: not summed",
        "habanalabs_clock_soc_mhz": "MHz",
        "habanalabs_clock_soc_max_mhz": "MHz",
        "habanalabs_power_default_limit_mW": "mW",
        "habanalabs_temperature_onboard": "°C",
        "habanalabs_temperature_threshold_gpu": "°C",
        "habanalabs_temperature_threshold_memory": "°C",
        "habanalabs_temperature_threshold_shutdown": "°C",
        "habanalabs_temperature_threshold_slowdown": "°C",
        "habanalabs_ecc_feature_mode": "flag",
        "habanalabs_pending_rows_state": "flag",
        "habanalabs_pending_rows_with_single_bit_ecc_errors": "count",
        "habanalabs_pending_rows_with_double_bit_ecc_errors": "count",
        "habanalabs_nic_port_status": "flag",
        "habanalabs_pci_link_speed": "speed of the link",
        "habanalabs_pci_link_width": "lanes",
        "habanalabs_pcie_replay_count": "count",
        "habanalabs_pcie_rx": "not documented: not summed",
        "habanalabs_pcie_tx": "not documented: not summed",
        "habanalabs_pcie_receive_throughput": "not documented: not summed",
        "habanalabs_pcie_transmit_throughput": "not documented: not summed",
        "habanalabs_device_config": "labels",
        "habanalabs_kube_info": "labels",
    }.items()
}
