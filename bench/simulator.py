"""P17, P18: placements of a simulated cluster, against a loop over nodes for every pod.

The alternative is the tests' oracle (`tests/oracle/placement.py`): every policy in plain Python,
every node scored for every pod. Placements are compared first: node and GPUs of each pod. P17
is the slowest of the six policies. P18 replays ten orders of arrivals with FGD up to 130% of all
GPUs: of the public OpenB trace where the shared data are, else of a generated one of its size.
"""

import csv
import gzip
import random
import time
from collections.abc import Iterator

from bench.measure import Figure
from scheduler_view.what_if.rules.cluster import ReplayCluster, ReplayNode
from scheduler_view.what_if.rules.fragments import popular_classes
from scheduler_view.what_if.rules.openb import gpu_nodes, pod_of
from scheduler_view.what_if.rules.placer import Placer
from scheduler_view.what_if.rules.policies.catalogue import POLICIES, policy_of
from scheduler_view.what_if.rules.request import ReplayPod, ReplayRequest
from scheduler_view.what_if.rules.saturation import inflated, saturate
from tests import shared_data
from tests.oracle import placement
from tests.oracle.placement import Loop

PODS = {"FGD": 60}  # that the loop places: it takes half a second for each with FGD
OTHERS = 600
SHAPES = (  # share of nodes, CPU in thousandths, GPUs, model; about as OpenB's
    (0.33, 96_000, 2, "T4"),
    (0.11, 64_000, 2, "P100"),
    (0.07, 96_000, 8, "V100"),
    (0.45, 96_000, 8, "G2"),
    (0.04, 128_000, 8, "G3"),
)
NODES, TRACE = 1213, 8152


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The figures that are requested; all if none is."""
    if not wanted or "P17" in wanted:
        yield _against_the_loop()
    if not wanted or "P18" in wanted:
        yield _ten_replays()


def _generated() -> tuple[list[ReplayNode], list[ReplayPod]]:
    """A cluster and a trace of OpenB's size; always the same."""
    draws = random.Random(14)  # noqa: S311  # seeded: always the same trace
    nodes: list[ReplayNode] = []
    for share, cpu, gpus, model in SHAPES:
        for _ in range(round(share * NODES)):
            nodes.append(ReplayNode(f"n{len(nodes):04d}", cpu, gpus, model))
    cpus = [draws.randrange(1000, 17_000, 500) for _ in range(12)]
    kinds = [(0, 1000)] * 13 + [(1, 810)] * 15 + [(1, 470)] * 12 + [(1, 250)] * 11
    kinds += [(1, 1000)] * 48 + [(8, 1000)]
    pods = []
    for number in range(TRACE):
        gpus, milli = draws.choice(kinds)
        models = ("G2", "V100") if draws.random() < 0.1 and gpus else ()
        request = ReplayRequest(draws.choice(cpus), gpus, milli, models)
        pods.append(ReplayPod(f"p{number}", request))
    return nodes, pods


def _against_the_loop() -> Figure:
    nodes, pods = _generated()
    classes = popular_classes(pod.request for pod in pods)
    ratios = {}
    for name in POLICIES:
        asked = [pod.request for pod in pods[: PODS.get(name, OTHERS)]]
        began = time.perf_counter()
        cluster = ReplayCluster(nodes)
        placer = Placer(cluster, policy_of(name, cluster, 0, classes))
        ours = [placer.place(request) for request in asked]
        ours_s = time.perf_counter() - began
        plain = [(r.cpu_milli, r.gpus, r.gpu_milli, r.models) for r in asked]
        counted = placement.popular(
            (r.cpu_milli, r.gpus, r.gpu_milli, r.models)
            for r in (p.request for p in pods)
        )
        began = time.perf_counter()
        loop = Loop(
            [(n.name, n.cpu_milli, n.gpus, n.model) for n in nodes], name, 0, counted
        )
        theirs = [loop.place(request) for request in plain]
        loop_s = time.perf_counter() - began
        shown = [
            (cluster.nodes[p.node].name, list(p.gpus)) if p else None for p in ours
        ]
        assert shown == theirs, f"{name}: the placements differ"
        ratios[name] = loop_s / ours_s
    return Figure(
        "P17",
        f"placements on {NODES} nodes, the slowest policy / a loop over nodes",
        min(ratios.values()),
        10,
        detail=ratios,
    )


def _ten_replays() -> Figure:
    folder = shared_data.DATA / "public-openb-2023"
    what = "OpenB" if folder.is_dir() else "a generated trace"
    nodes, pods = _generated()
    if folder.is_dir():
        with gzip.open(folder / "openb_node_list_all_node.csv.gz", "rt") as file:
            nodes = gpu_nodes(csv.DictReader(file))
        with gzip.open(folder / "openb_pod_list_default.csv.gz", "rt") as file:
            pods = [pod_of(row) for row in csv.DictReader(file)]
    began = time.process_time()  # of all threads: that of one core
    arrivals = 0
    for seed in range(10):
        cluster = ReplayCluster(nodes)
        order = inflated(pods, cluster.total_milli, seed)
        classes = popular_classes(pod.request for pod in pods)
        saturate(
            Placer(cluster, policy_of("FGD", cluster, seed, classes)), order, [130]
        )
        arrivals += len(order)
    return Figure(
        "P18",
        f"ten replays of {what} with FGD up to 130% of its GPUs",
        time.process_time() - began,
        300,
        unit="s",
        at_most=True,
        detail={"arrivals": arrivals},
    )
