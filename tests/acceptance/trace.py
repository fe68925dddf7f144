"""A day of a serving cluster (public-genai-2026a), as its exporter and kube-state showed it.

80 pods with one GPU each on a node of its own, one sample every 57 s, as the trace's notes
say. One of the pods is away for ten hours and comes back.
"""

from collections import defaultdict
from pathlib import Path

from tests.acceptance.given import rows_of

STEP_S = 57
AWAY = "53843228"  # how the uid of the pod begins that comes back

Utilization = dict[str, dict[int, float]]  # percent, by pod and time in seconds


def utilization_of(folder: Path) -> Utilization:
    """The samples of the trace."""
    samples: Utilization = defaultdict(dict)
    for row in rows_of(folder / "pod_gpu_duty_cycle.csv.gz"):
        samples[row["container_ip"]][int(row["timestamp_anon"])] = float(row["value"])
    return samples


def write_trace(path: Path, samples: Utilization) -> Path:
    """OpenMetrics text of the trace: a pod is shown when its GPU is sampled."""
    families: dict[str, list[str]] = defaultdict(list)
    first = min(min(times) for times in samples.values())
    last = max(max(times) for times in samples.values())
    for i, (pod, utilization) in enumerate(samples.items()):
        key = f'namespace="serving",pod="{pod}",uid="{pod}"'
        for at in range(first, last + STEP_S, STEP_S):
            node = f'node="n{i}",resource="nvidia_com_gpu",unit="integer"'
            families["kube_node_status_capacity"].append(f"{{{node}}} 1 {at}")
        for at in sorted(utilization):
            families["kube_pod_info"].append(f'{{{key},node="n{i}"}} 1 {at}')
            request = f'{key},container="c",node="n{i}",resource="nvidia_com_gpu"'
            families["kube_pod_container_resource_requests"].append(
                f"{{{request}}} 1 {at}"
            )
            bound = f"{{{key}}} {min(utilization)} {at}"
            families["kube_pod_status_scheduled_time"].append(bound)
            gpu = f'UUID="GPU-{i}",Hostname="n{i}",namespace="serving",pod="{pod}"'
            families["DCGM_FI_DEV_GPU_UTIL"].append(f"{{{gpu}}} {utilization[at]} {at}")
    with path.open("w") as file:
        for name, lines in families.items():
            file.write(f"# TYPE {name} gauge\n")
            file.writelines(f"{name}{line}\n" for line in lines)
        file.write("# EOF\n")
    return path
