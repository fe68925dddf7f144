"""P16: attribution of one window of mixed shapes, against a loop over pods and samples.

The alternative is the tests' oracle: the rules in plain Python, one value after another, node by
node (for a whole fleet at once it would be quadratic, which is not a fair comparison). Both get the
same samples of one window of 4,096 GPUs with eight series each: whole GPUs, MIG
instances, time-slicing with and without virtual GPUs. Results are compared first. The oracle does
not compute GPU activity (SM, tensor, memory, power, energy), so the ratio is for the columns that
both compute; the seconds with GPU activity are also printed.
"""

import statistics
import time
from collections.abc import Iterator, Sequence

from accounting.core.interval import WINDOW_MS, Interval
from accounting.metering.rules.attribution.attribute import attribute, attribute_states
from accounting.metering.rules.attribution.node_timeline import node_timelines
from accounting.metering.rules.holds.derive import data_end_ms, derive
from accounting.metering.rules.inventory.merge.samples import observe
from accounting.metering.rules.inventory.records import Inventory
from accounting.metering.tasks.gc_pause import no_cycle_search
from bench.measure import Figure, interleaved
from tests.oracle.domain import computed, reading_of
from tests.oracle.evidence import Evidence
from tests.oracle.holds import holds
from tests.oracle.ledger import Fact, Key, ledger
from tests.oracle.presences import presences
from tests.oracle.samples import Sample

GPUS, GPUS_A_NODE = 4096, 8
START_MS = 1_790_848_800_000
STEP_MS, KUBE_STEP_MS = 30_000, 60_000
WINDOW = Interval(START_MS, START_MS + WINDOW_MS)
MODEL = "NVIDIA A100-SXM4-80GB"
PRODUCT = MODEL.replace(" ", "-")
METRICS = {  # the eight series of a GPU or instance, and how their values run
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.01,
    "DCGM_FI_DEV_GPU_UTIL": 1.0,
    "DCGM_FI_PROF_SM_ACTIVE": 0.008,
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.004,
    "DCGM_FI_PROF_DRAM_ACTIVE": 0.005,
    "DCGM_FI_DEV_FB_USED": 700.0,
    "DCGM_FI_DEV_POWER_USAGE": 3.5,
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 1e6,
}
PROFILES = (("3g.40gb", 3), ("2g.20gb", 2), ("1g.10gb", 1))
KUBE = {"job": "kube-state-metrics", "instance": "kube:8080"}


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The figure, unless others are requested."""
    if wanted and "P16" not in wanted:
        return
    nodes = [list(node_samples(node)) for node in range(GPUS // GPUS_A_NODE)]
    with no_cycle_search():  # as in the product
        expected, rival_s = _oracle(nodes)
        samples = [sample for of_node in nodes for sample in of_node]
        yield _figure(samples, expected, rival_s)


def _oracle(nodes: Sequence[Sequence[Sample]]) -> tuple[dict[Key, Fact], float]:
    """The oracle's facts, and the seconds from samples and holds to facts.

    Its holds and presences are not timed, and neither are ours: both have them before.
    """
    facts: dict[Key, Fact] = {}
    seconds = 0.0
    for of_node in nodes:  # half a minute: once
        began = time.perf_counter()
        facts |= ledger(of_node).facts
        seconds += time.perf_counter() - began
        evidence = Evidence(of_node)
        began = time.perf_counter()
        holds(evidence)
        presences(evidence)
        seconds -= time.perf_counter() - began
    return facts, seconds


def _figure(
    samples: Sequence[Sample], expected: dict[Key, Fact], rival_s: float
) -> Figure:
    facts, _ = computed(samples)
    assert facts == expected, "the answers differ"
    reading = reading_of(samples)
    inventory = Inventory()
    observe(inventory, [reading], WINDOW)
    until = data_end_ms(inventory)
    derived = derive(inventory, Interval(0, WINDOW.end_ms + 3_600_000), until)
    timelines = node_timelines(inventory, derived, WINDOW, until)
    ordered = [timeline for _, timeline in sorted(timelines.items())]
    ours = interleaved(
        {
            "same columns": lambda: attribute_states([WINDOW], [reading], ordered),
            "all": lambda: attribute([WINDOW], [reading], timelines),
        }
    )
    ours_s, all_s = (statistics.median(seconds) for seconds in ours.values())
    return Figure(
        "P16",
        f"attribution of {GPUS} GPUs of mixed shapes / the oracle's loop",
        rival_s / ours_s,
        50,
        detail={
            "s": ours_s,
            "with activity s": all_s,
            "rival s": rival_s,
            "samples": len(samples),
        },
    )


def node_samples(node: int) -> Iterator[Sample]:
    """All scraped samples of a node in the window; shapes alternate."""
    shape = ("whole", "whole", "mig", "vgpu", "shared")[node % 5]
    yield from _kube_samples(node, shape)
    for gpu in range(GPUS_A_NODE):
        for number, labels in enumerate(_rows(node, shape, gpu)):
            for name, scale in METRICS.items():
                for tick in range(WINDOW_MS // STEP_MS):
                    value = ((node * 7 + gpu * 3 + number + tick * 5) % 101) * scale
                    at = START_MS + tick * STEP_MS
                    yield Sample(name, labels, at, float(int(value * 1000)) / 1000)


def _rows(node: int, shape: str, gpu: int) -> Iterator[dict[str, str]]:
    """The labels of each row that the exporter writes for a GPU."""
    labels = {
        "UUID": f"GPU-{node:04d}-{gpu}",
        "gpu": str(gpu),
        "Hostname": f"n{node}",
        "modelName": MODEL,
        "job": "dcgm",
        "instance": f"n{node}:9400",
    }
    if shape == "whole":
        yield labels | {"namespace": "team", "pod": f"p{node}-{gpu}"}
    elif shape == "mig":
        for number, (profile, _) in enumerate(PROFILES):
            part = {"GPU_I_PROFILE": profile, "GPU_I_ID": str(number + 1)}
            holder = {"namespace": "team", "pod": f"p{node}-{gpu}-{number}"}
            yield labels | part | (holder if number < 2 else {})
    elif shape == "vgpu":
        for number in range(2):
            holder = {"namespace": "team", "pod": f"p{node}-{gpu}-{number}"}
            yield labels | holder | {"vgpu": str(number)}
    else:
        yield labels | {"namespace": "team", "pod": f"p{node}-{gpu}-0"}


def _kube_samples(node: int, shape: str) -> Iterator[Sample]:
    labels = {"node": f"n{node}", "label_nvidia_com_gpu_product": PRODUCT}
    labels["label_nvidia_com_gpu_count"] = str(GPUS_A_NODE)
    units = {"nvidia_com_gpu": GPUS_A_NODE}
    if shape == "mig":
        labels["label_nvidia_com_mig_strategy"] = "mixed"
        units = {
            f"nvidia_com_mig_{profile.replace('.', '_')}": GPUS_A_NODE
            for profile, _ in PROFILES
        }
    elif shape in ("vgpu", "shared"):
        labels["label_nvidia_com_gpu_replicas"] = "4"
        units = {"nvidia_com_gpu": 4 * GPUS_A_NODE}
    pods = list(_pods(node, shape))
    for at in range(START_MS, WINDOW.end_ms + 1, KUBE_STEP_MS):
        yield Sample("kube_node_labels", KUBE | labels, at, 1.0)
        for resource, count in units.items():
            key = {"node": f"n{node}", "resource": resource, "unit": "integer"}
            yield Sample("kube_node_status_capacity", KUBE | key, at, float(count))
        for pod, resource in pods:
            key = {"namespace": "team", "pod": pod, "uid": f"uid-{pod}"}
            asked = {"container": "main", "resource": resource, "unit": "integer"}
            here = KUBE | key | {"node": f"n{node}"}
            yield Sample("kube_pod_info", here, at, 1.0)
            yield Sample("kube_pod_container_resource_requests", here | asked, at, 1.0)
            since = float(START_MS // 1000 - 600)
            yield Sample("kube_pod_status_scheduled_time", KUBE | key, at, since)


def _pods(node: int, shape: str) -> Iterator[tuple[str, str]]:
    """Names of pods, and the resource of which each requests one."""
    for gpu in range(GPUS_A_NODE):
        if shape == "whole":
            yield f"p{node}-{gpu}", "nvidia_com_gpu"
        elif shape == "mig":
            for number, (profile, _) in enumerate(PROFILES[:2]):
                resource = f"nvidia_com_mig_{profile.replace('.', '_')}"
                yield f"p{node}-{gpu}-{number}", resource
        else:
            for number in range(2):
                yield f"p{node}-{gpu}-{number}", "nvidia_com_gpu"
