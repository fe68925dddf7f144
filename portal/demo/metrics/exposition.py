"""Live text: the output of a node's exporter and of kube-state-metrics at one moment.

Prometheus text format 0.0.4, without sample times, as the real ones write it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from portal.demo.metrics.exporter import rows
from portal.demo.metrics.labels import (
    Constant,
    namespace_facts,
    node_cordon,
    node_facts,
    pod_completion,
    pod_facts,
    pod_owners,
    pod_phase,
    pod_place,
    series,
)
from portal.demo.scenario.engine import Engine
from portal.demo.scenario.fleet import NodeObject
from portal.demo.scenario.organization import NAMESPACES
from portal.demo.scenario.pod import SimulatedPod

HELP = {
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": "Ratio of time the graphics engine is active.",
    "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO": "Ratio of time the graphics engine is active.",
    "DCGM_FI_DEV_GPU_UTIL": "GPU utilization (in %).",
    "DCGM_FI_DEV_FB_USED": "Framebuffer memory used (in MiB).",
    "DCGM_FI_DEV_FB_USED_BYTES": "Framebuffer memory used (in bytes).",
    "DCGM_FI_DEV_POWER_USAGE": "Power draw (in W).",
    "DCGM_FI_DEV_BOARD_POWER_WATTS": "Power draw (in W).",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": "Total energy since boot (in mJ).",
    "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL": "Total energy since boot (in J).",
    "gpu_gfx_activity": "Graphics engine usage (in %).",
    "gpu_used_vram": "VRAM in use (in MB).",
    "gpu_package_power": "Package power (in W).",
    "gpu_energy_consumed": "Energy consumed (in uJ).",
}
START_S = 20  # from the bind until a container runs
COUNTERS = {
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL",
}


def node_text(engine: Engine, node: NodeObject, at_s: int) -> str:
    """The output of a node's exporter at a moment."""
    text: dict[str, list[str]] = defaultdict(list)
    for row in rows(engine, node, np.array([at_s], np.int64)):
        for name, values in row.values.items():
            text[name].append(f"{series(name, row.labels)} {values[0]}\n")
    return "".join(_families(text))


def kube_text(engine: Engine, at_s: int) -> str:
    """The output of kube-state-metrics at a moment, limited to what the ledger needs."""
    text: dict[str, list[str]] = defaultdict(list)
    for fact in kube_facts(engine, at_s):
        text[fact.name].append(f"{fact.head()} {fact.value}\n")
    return "".join(_families({name: dict.fromkeys(text[name]) for name in text}))


def kube_facts(engine: Engine, at_s: int) -> Iterator[Constant]:
    """Every series of kube-state-metrics at a moment; owners may repeat."""
    yield from namespaces()
    for node in engine.nodes_at(at_s):
        yield from node_facts(node)
        yield from node_cordon(node, is_cordoned=node.is_cordoned(at_s))
    for pod in engine.pods_between(at_s, at_s + 1):
        yield from pod_facts(pod)
        yield from pod_owners(pod)
        yield from pod_place(pod, is_bound=pod.is_bound(at_s))
        yield pod_phase(pod, phase_at(pod, at_s))
        if pod.has_finished(at_s):
            yield pod_completion(pod)


def namespaces() -> Iterator[Constant]:
    """The namespaces of the organization and their labels."""
    for namespace, department in NAMESPACES.items():
        yield namespace_facts(namespace, department)


def phase_at(pod: SimulatedPod, at_s: int) -> str:
    """Pending until a container runs, a few seconds after the bind."""
    if pod.has_finished(at_s):
        return pod.phase
    started = pod.bound_s is not None and pod.bound_s + START_S <= at_s
    started = started and not pod.request.image
    return "Running" if started else "Pending"


def _families(text: Mapping[str, Iterable[str]]) -> Iterator[str]:
    for name, lines in text.items():
        if name in HELP:
            yield f"# HELP {name} {HELP[name]}\n"
        yield f"# TYPE {name} {'counter' if name in COUNTERS else 'gauge'}\n"
        yield from lines
