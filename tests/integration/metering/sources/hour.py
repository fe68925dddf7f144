"""An hour of a small cluster as its exporters and kube-state show it, scrape by scrape.

Four targets, read every 30 s on the second. `page` is what a target answers at a time, and
`stored` what a Prometheus that scraped the same pages keeps; made from one another by the
rules of Prometheus, without the product. Times are seconds since 1970 and have at most
eighths of a second, which promtool reads without rounding.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.builders import HOUR_ZERO, MODEL, STEP

START, END = HOUR_ZERO, HOUR_ZERO + 3600
LATE = 11.25  # seconds by which the exporter of n2 says its samples are older
ROUNDS = [START + i * STEP for i in range((END - START) // STEP)]
JOBS = {  # by name of the target
    "kube": "kube-state-metrics",
    "n1": "dcgm-exporter",
    "n1-again": "gpu-metrics",
    "n2": "dcgm-exporter",
    "n3": "dcgm-exporter",
}
ODD = 'a "b" \\ c,d={e} # {f="g"}\nh é \u202eעברית\u202c 😀'


@dataclass(frozen=True)
class Sample:
    """One line of a page; `at` is None where the exporter gives no time of its own."""

    name: str
    labels: Mapping[str, str]
    value: object
    at: float | None = None


@dataclass(frozen=True)
class PodStory:
    """A pod of the hour; times are seconds after START, `gone` its first missing scrape."""

    name: str
    namespace: str
    node: str
    units: int
    bound: int
    gone: int
    completed: int | None = None
    init_units: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)


PODS = (
    PodStory("train-0", "vision", "n1", 2, 125, 1800, completed=1510),
    PodStory("train-1", "vision", "n2", 2, 1540, 9999, labels={"label_note": ODD}),
    PodStory("batch", "robotics", "n1", 1, 1600, 2700, init_units=1),
    PodStory("probe", "robotics", "n3", 1, 615, 2400),
)
GPUS = {"n1": ("GPU-1a", "GPU-1b"), "n2": ("GPU-2a", "GPU-2b"), "n3": ("GPU-3a",)}
THERE = {"n1": (0, 3600), "n2": (0, 3600), "n3": (600, 2400)}  # node objects
SILENT = {"n2": (1800, 2400), "n1-again": (300, 900), "kube": (2760, 2850)}


def page(target: str, at: int) -> str | None:
    """The text that a target answers at a time; None where it answers with an error."""
    samples = shown(target, at)
    if samples is None:
        return None
    families: dict[str, list[str]] = {}
    for sample in samples:
        line = f"{sample.name}{{{_body(sample.labels)}}} {sample.value}"
        if sample.at is not None:
            line += f" {round(sample.at * 1000)}"
        families.setdefault(sample.name, []).append(line)
    lines = ["# a comment", ""]
    for name, family in families.items():
        lines += [f"# HELP {name} Text.", f"# TYPE {name} gauge", *family]
    return "\n".join([*lines, ""])


def stored(start: float = START - STEP, end: float = END) -> str:
    """What a Prometheus keeps of all pages, as OpenMetrics text of [start, end)."""
    families: dict[str, list[str]] = {}
    for at in ROUNDS:
        for target, job in JOBS.items():
            identity = {"job": job, "instance": f"site:9400/{target}"}
            for sample in _kept(target, at):
                time = at if sample.at is None else sample.at
                if start <= time < end:
                    labels = _renamed(sample.labels, identity) | identity
                    line = f"{sample.name}{{{_body(labels)}}} {sample.value} {time:.3f}"
                    families.setdefault(sample.name, []).append(line)
    lines: list[str] = []
    for name, family in families.items():
        lines += [f"# TYPE {name} gauge", *family]
    return "\n".join([*lines, "# EOF", ""])


def _kept(target: str, at: int) -> list[Sample]:
    samples = shown(target, at)
    up = Sample("up", {}, 0 if samples is None else 1)
    return [up, *(samples or [])]


def _renamed(labels: Mapping[str, str], identity: Mapping[str, str]) -> dict[str, str]:
    return {f"exported_{k}" if k in identity else k: v for k, v in labels.items()}


def _body(labels: Mapping[str, str]) -> str:
    def quoted(text: str) -> str:
        escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'

    return ",".join(f"{key}={quoted(value)}" for key, value in labels.items())


def shown(target: str, at: int) -> list[Sample] | None:
    """The samples that a target shows at a time; None when it is down."""
    after = at - START
    low, high = SILENT.get(target, (0, 0))
    if low <= after < high:
        return None
    if target == "kube":
        return [*_nodes(after), *_pods(after), Sample("kube_lease_owner", {}, 1)]
    node = target.removesuffix("-again")
    first, last = THERE[node]
    if not first <= after < last:
        return None
    return list(_gpus(target, node, at))


def _nodes(after: int) -> Iterator[Sample]:
    for node, (first, last) in THERE.items():
        if first <= after < last:
            resource = {"node": node, "resource": "nvidia_com_gpu", "unit": "integer"}
            yield Sample("kube_node_status_capacity", resource, len(GPUS[node]))
            labels = {
                "node": node,
                "label_nvidia_com_gpu_product": MODEL.replace(" ", "-"),
                "label_nvidia_com_gpu_count": str(len(GPUS[node])),
                "label_karpenter_sh_capacity_type": "on-demand",
            }
            yield Sample("kube_node_labels", labels, 1)


def _pods(after: int) -> Iterator[Sample]:
    for pod in PODS:
        if not pod.bound < after < pod.gone:
            continue
        key = {"namespace": pod.namespace, "pod": pod.name, "uid": f"uid-{pod.name}"}
        yield Sample("kube_pod_info", key | {"node": pod.node}, 1)
        yield Sample("kube_pod_created", key, START + pod.bound - 60)
        yield Sample("kube_pod_status_scheduled_time", key, START + pod.bound)
        wanted = {"node": pod.node, "resource": "nvidia_com_gpu", "unit": "integer"}
        name = "kube_pod_container_resource_requests"
        yield Sample(name, key | {"container": "main"} | wanted, f"{pod.units}e0")
        if pod.init_units:
            name = "kube_pod_init_container_resource_requests"
            yield Sample(name, key | {"container": "load"} | wanted, pod.init_units)
        owner = {
            "owner_kind": "Job",
            "owner_name": pod.name,
            "owner_is_controller": "true",
        }
        yield Sample("kube_pod_owner", key | owner, 1)
        yield Sample("kube_pod_labels", key | dict(pod.labels), 1)
        if pod.completed is not None and after >= pod.completed:
            yield Sample("kube_pod_completion_time", key, START + pod.completed)
            yield Sample("kube_pod_status_phase", key | {"phase": "Succeeded"}, 1)


def _gpus(target: str, node: str, at: int) -> Iterator[Sample]:
    """Two metrics of each GPU, plain pod labels on n1 and exported ones elsewhere."""
    own_time = at - LATE if target == "n2" else None
    seen = (at if own_time is None else own_time) - START
    for place, uuid in enumerate(GPUS[node]):
        labels = {"gpu": str(place), "UUID": uuid, "Hostname": node, "modelName": MODEL}
        if node == "n2":  # its own labels, which give way to those of the target
            labels |= {"instance": "vm-7", "job": "guest"}
        labels |= _workload(node, place, seen)
        utilization = _utilization(node, place, at)
        yield Sample("DCGM_FI_PROF_GR_ENGINE_ACTIVE", labels, utilization, own_time)
        util = "+Inf" if utilization == "+Inf" else ((at // STEP) * 13 + place) % 101
        yield Sample("DCGM_FI_DEV_GPU_UTIL", labels, util, own_time)
    yield Sample("gpu_fan_speed", {"Hostname": node}, 40, own_time)
    yield Sample("node_load1", {}, "0.5")


def _workload(node: str, place: int, seen: float) -> dict[str, str]:
    for pod in PODS:
        end = pod.completed or pod.gone
        if pod.node == node and place < pod.units and pod.bound < seen < end:
            prefix = "" if node == "n1" else "exported_"
            return {
                f"{prefix}namespace": pod.namespace,
                f"{prefix}pod": pod.name,
                f"{prefix}container": "main",
            }
    return {}


def _utilization(node: str, place: int, at: int) -> object:
    turn = (at - START) // STEP
    if node == "n3" and turn == THERE["n3"][0] // STEP:
        return "+Inf"  # no data, and still the first proof that the GPU is there
    if node == "n1" and turn % 17 == 3:
        return "NaN" if place else "9223372036854775794"
    if node == "n2" and turn % 19 == 4:
        return "1.05"  # counts as 1, with an issue
    return f"{(turn * 7 + place * 3) % 10}e-1"
