"""Live text: what the exporter of a node and kube-state-metrics say at one moment.

Prometheus text format 0.0.4, without sample times, as the real ones write it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from portal.demo.activity import STRAY_DUTY, duty, memory_mib, power_watts
from portal.demo.engine import Engine, Seat
from portal.demo.fleet import Flavour, Node
from portal.demo.labels import (
    Constant,
    gpu_labels,
    namespace_facts,
    node_facts,
    pod_completion,
    pod_facts,
    pod_owners,
    pod_phase,
    pod_place,
    series,
)
from portal.demo.organisation import NAMESPACES
from portal.demo.pod import Pod

MEBIBYTE = 1 << 20
HELP = {
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": "Ratio of time the graphics engine is active.",
    "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO": "Ratio of time the graphics engine is active.",
    "DCGM_FI_DEV_GPU_UTIL": "GPU utilization (in %).",
    "DCGM_FI_DEV_FB_USED": "Framebuffer memory used (in MiB).",
    "DCGM_FI_DEV_FB_USED_BYTES": "Framebuffer memory used (in bytes).",
    "DCGM_FI_DEV_POWER_USAGE": "Power draw (in W).",
    "DCGM_FI_DEV_BOARD_POWER_WATTS": "Power draw (in W).",
}


def holder_at(seat: Seat, at_s: int) -> Pod | None:
    """Who holds a GPU at a moment."""
    for pod in reversed(seat.pods):
        if pod.holds(at_s):
            return pod
        if pod.ended_s is not None and pod.ended_s <= at_s:
            return None
    return None


def duty_text(flavour: Flavour, busy: float) -> str:
    """A duty as an exporter of this flavour writes it."""
    return str(round(busy * 100)) if flavour.is_percent else f"{busy:.3f}"


def memory_text(flavour: Flavour, mebibytes: int) -> str:
    """Memory as an exporter of this flavour writes it."""
    return str(mebibytes if flavour.is_mebibytes else mebibytes * MEBIBYTE)


def node_text(engine: Engine, node: Node, at_s: int) -> str:
    """Everything that the exporter of a node says at a moment."""
    flavour, model = node.pool.flavour, node.pool.model
    now = np.array([at_s], np.int64)
    rows: dict[str, list[str]] = defaultdict(list)
    for seat in engine.seats[node.name]:
        pod = holder_at(seat, at_s)
        busy = np.zeros(1)
        if pod is not None:
            busy = duty(engine.story, pod, seat.slot, now)
        elif any(slot == seat.slot and s.contains(at_s) for slot, s in node.strays):
            busy = np.full(1, STRAY_DUTY)
        labels = gpu_labels(node, seat.slot, node.uuid(seat.slot, at_s), pod)
        memory = int(memory_mib(pod, model, now)[0])
        watts = float(power_watts(model, busy)[0])
        for name, value in (
            (flavour.duty, duty_text(flavour, float(busy[0]))),
            (flavour.memory, memory_text(flavour, memory)),
            (flavour.power, f"{watts:.1f}"),
        ):
            rows[name].append(f"{series(name, labels)} {value}\n")
    return "".join(_families(rows))


def kube_text(engine: Engine, at_s: int) -> str:
    """Everything that kube-state-metrics says at a moment, of what the ledger needs."""
    rows: dict[str, list[str]] = defaultdict(list)
    for fact in kube_facts(engine, at_s):
        rows[fact.name].append(f"{fact.head()} {fact.value}\n")
    return "".join(_families({name: dict.fromkeys(rows[name]) for name in rows}))


def kube_facts(engine: Engine, at_s: int) -> Iterator[Constant]:
    """Every series of kube-state-metrics at a moment; owners may repeat."""
    yield from namespaces()
    for node in engine.nodes_at(at_s):
        yield from node_facts(node)
    for pod in engine.pods_between(at_s, at_s + 1):
        yield from pod_facts(pod)
        yield from pod_owners(pod)
        yield from pod_place(pod, is_bound=pod.is_bound(at_s))
        yield pod_phase(pod, phase_at(pod, at_s))
        if pod.has_finished(at_s):
            yield pod_completion(pod)


def namespaces() -> Iterator[Constant]:
    """The namespaces of the organisation and their labels."""
    for namespace, department in NAMESPACES.items():
        yield namespace_facts(namespace, department)


def phase_at(pod: Pod, at_s: int) -> str:
    """Pending until a container runs, which takes a few seconds after the bind."""
    if pod.has_finished(at_s):
        return pod.phase
    started = pod.bound_s is not None and pod.bound_s + 20 <= at_s
    return "Running" if started else "Pending"


def _families(rows: Mapping[str, Iterable[str]]) -> Iterator[str]:
    for name, lines in rows.items():
        if name in HELP:
            yield f"# HELP {name} {HELP[name]}\n"
        yield f"# TYPE {name} gauge\n"
        yield from lines
