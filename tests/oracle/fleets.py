"""What a scraper sees of a random small fleet, and what of it is lost.

A seeded random number decides jitter, values and dropped scrapes.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.oracle.kube_fleets import KubeScraper
from tests.oracle.plans import START, NodePlan, Plan, PodPlan
from tests.oracle.samples import (
    AMD_ENGINE,
    AMD_POWER,
    ENGINE,
    ENGINE_RATIO,
    LIMIT,
    PARTITIONS,
    POWER,
    SECOND,
    UTIL,
    UTIL_RATIO,
    Sample,
)
from tests.oracle.utilizations import are_ratios, as_percent, as_ratio, utilization

EARLY = 300  # seconds after its bind for which samples name such a pod
MEMORY = "DCGM_FI_DEV_FB_USED"


def scrape(plan: Plan) -> list[Sample]:
    """The samples that were taken of a fleet."""
    return list(_Scraper(plan).samples())


@dataclass
class _Scraper:
    plan: Plan
    dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.plan.seed)

    def samples(self) -> Iterator[Sample]:
        for i, node in enumerate(self.plan.nodes):
            for replica in range(node.replicas):
                for at in self._times(node.step, replica):
                    if not (node.outage and node.outage.has(at)):
                        yield from self._twice(self._exporter(i, node, replica, at))
        if self.plan.has_kube:
            count = lambda i, at: len(self._gpus(i, at))  # noqa: E731
            yield from KubeScraper(self.plan, self._times, count).samples()

    def _times(self, step: int, replica: int) -> Iterator[float]:
        """Seconds after the start, with jitter; some scrapes are lost."""
        first = self.dice.randrange(step) + replica / 8
        for n in range(self.plan.length // step):
            at = first + n * step + self.dice.randint(0, self.plan.jitter) / 1000
            if self.dice.random() >= self.plan.lost:
                yield at

    def _twice(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        for sample in samples:
            yield sample
            if self.dice.random() < self.plan.twice:
                other = self.dice.choice([sample.value, sample.value / 2, float("nan")])
                yield Sample(sample.name, sample.labels, sample.at, other)

    def _at(self, at: float) -> int:
        return round((START + self.plan.offset + at) * SECOND)

    def _exporter(
        self, i: int, node: NodePlan, replica: int, at: float
    ) -> Iterator[Sample]:
        if node.gone and node.gone.has(at):
            return
        instance = f"10.0.0.{i}:9400"
        if node.restart is not None and at >= node.restart:
            instance = f"10.0.1.{i}:9400"
        base = {"job": "dcgm", "instance": instance}
        if node.replicas > 1:
            base["prometheus_replica"] = f"r{replica}"
        own = {"namespace": "monitoring", "pod": f"dcgm-{i}"}
        if node.naming != "plain":
            yield Sample("up", base | own, self._at(at), 1)
        base["Hostname" if self.plan.seed % 2 else "hostname"] = f"n{i}"
        for n, uuid in enumerate(self._gpus(i, at)):
            if n == node.gpus - 1 and at < node.silent_until:
                continue
            if node.shape.kind == "amd":
                yield from self._partitions(i, n, base | {"serial_number": uuid}, at)
                continue
            labels = base | {"UUID": uuid, "modelName": node.shape.model}
            if node.shape.kind != "whole":
                yield from self._places(i, n, labels, at)
                continue
            pod = self._pod_on(i, n, at)
            yield from self._metrics(node, labels | self._named(i, pod), at)
        yield from self._invented(i, base, at)

    def _invented(self, i: int, base: dict[str, str], at: float) -> Iterator[Sample]:
        """Samples of GPUs that are not there, and that may claim a pod."""
        node = self.plan.nodes[i]
        for n in range(node.fakes if node.faked.has(at) else 0):
            name = node.fake_name + f"-{i}{n}"
            key = "serial_number" if node.shape.kind == "amd" else "UUID"
            labels = base | {key: name, "modelName": node.shape.model}
            pods = [pod for pod in self.plan.pods if pod.name == node.fake_pod]
            yield from self._metrics(
                node, labels | self._named(i, pods[0] if pods else None), at
            )

    def _named(self, i: int, pod: PodPlan | None) -> dict[str, str]:
        """How a node's exporter names a pod, or nobody."""
        naming = self.plan.nodes[i].naming
        own = {"namespace": "monitoring", "pod": f"dcgm-{i}"}
        labels = {} if naming == "plain" else dict(own)
        if pod:
            prefix = "exported_" if naming == "exported" else ""
            labels |= {f"{prefix}namespace": "team", f"{prefix}pod": pod.name}
            labels |= {"pod_uid": pod.uid} if pod.has_uid else {}
        return labels

    # --- AMD -------------------------------------------------------------------------

    def _partitions(
        self, i: int, card: int, labels: dict[str, str], at: float
    ) -> Iterator[Sample]:
        """Samples of an AMD card; only its first partition shows activity and power."""
        node, when = self.plan.nodes[i], self._at(at)
        kind, on = node.shape.partition, self._seats(i, at)
        for n in range(PARTITIONS[kind]):
            mine = labels | self._named(i, on.get((card, n)))
            mine |= {"gpu_partition_id": str(n), "gpu_compute_partition_type": kind}
            mine |= {"card_model": node.shape.model}
            value = as_percent(node, self._utilization(), at)
            yield Sample(AMD_ENGINE, mine, when, 0 if n else value)
            yield Sample(AMD_POWER, mine, when, 0 if n else 600)
            yield Sample("gpu_used_vram", mine, when, 4096)

    # --- divided GPUs ----------------------------------------------------------------

    def _places(
        self, i: int, gpu: int, labels: dict[str, str], at: float
    ) -> Iterator[Sample]:
        """Samples of a GPU that is divided or shared."""
        node, when = self.plan.nodes[i], self._at(at)
        on = {
            place: pod for place, pod in self._seats(i, at).items() if place[0] == gpu
        }
        if node.shape.kind == "shared":
            yield from self._shared(i, [on[place] for place in sorted(on)], labels, at)
            return
        for n, profile in enumerate(node.shape.layout(at)):
            shown = a_gigabyte_less(profile) if i % 2 else profile
            part = {"GPU_I_ID": str(n + 1), "GPU_I_PROFILE": shown}
            mine = labels | part | self._named(i, on.get((gpu, n)))
            yield Sample(ENGINE, mine, when, 0 if node.zeros else self._utilization())
            if node.metrics in {"both", "mixed"} or node.zeros:
                yield Sample(UTIL, mine, when, 60 if node.zeros == "util" else 0)
            if node.zeros == "power":
                yield Sample(POWER, mine, when, 400)
                yield Sample(LIMIT, mine, when, 500)
            yield Sample(MEMORY, mine, when, 4096)
        if node.shape.has_device_row:
            yield Sample(
                ENGINE, labels | self._named(i, None), when, self._utilization()
            )

    def _shared(
        self, i: int, pods: list[PodPlan], labels: dict[str, str], at: float
    ) -> Iterator[Sample]:
        """Samples of a GPU with several holders, each way that exporters have."""
        node, when, ratio = self.plan.nodes[i], self._at(at), self._utilization()
        naming, (engine, util) = node.shape.naming, _names(node)
        copies: list[tuple[PodPlan, dict[str, str]]]
        copies = [(pods[-1], {})] if pods else []
        if naming != "arbitrary":
            copies = [
                (pod, {} if naming == "copies" else {"vgpu": str(n)})
                for n, pod in enumerate(pods)
            ]
        rows = [labels | self._named(i, pod) | vgpu for pod, vgpu in copies]
        rows = rows or [labels | self._named(i, None)]
        if node.metrics != "util":
            value = as_ratio(node, ratio, at)
            yield from (Sample(engine, row, when, value) for row in rows)
        yield from (Sample(MEMORY, row, when, 4096) for row in rows)
        if node.metrics == "engine":
            return
        value = as_percent(node, ratio, at)
        if naming not in {"process", "zeros"} or not pods:
            yield from (Sample(util, row, when, value) for row in rows)
            return
        yield Sample(util, labels | self._named(i, None), when, value)
        for row in rows:
            own = 0 if naming == "zeros" else self.dice.choice([0, 5, 15, 45, 80])
            yield Sample(util, row, when, own / 100 if are_ratios(node, at) else own)

    def _seats(self, i: int, at: float) -> dict[tuple[int, int], PodPlan]:
        """By (GPU, place): the pod whose label the samples of that place carry."""
        node, found = self.plan.nodes[i], {}
        for pod in self.plan.pods:
            if pod.node != i or not _is_named(pod, at):
                continue
            places = node.shape.places(node.gpus, pod.resource, pod.bound, at)
            open_ = [place for place in places if place not in found]
            shown = 1 if pod.labels == "some" else pod.units
            is_late = pod.labels == "early" and at >= pod.bound + EARLY
            for n, place in enumerate(open_[: pod.units]):
                is_shown = n < shown and pod.labels != "none" and not is_late
                found[place] = pod if is_shown else None
        return {place: pod for place, pod in found.items() if pod is not None}

    def _gpus(self, i: int, at: float) -> list[str]:
        """The UUIDs on a node at a time."""
        nodes, move = self.plan.nodes, self.plan.move
        swap = nodes[i].swap
        is_swapped = swap is not None and at >= swap
        grows = nodes[i].grows
        has_grown = grows is not None and at >= grows
        found = [f"GPU-{i}{n}" for n in range(nodes[i].gpus + has_grown)]
        if is_swapped:
            found[0] += "x"
        models = {node.shape.model for node in nodes}
        if move is not None and at >= move and len(nodes) > 1 and len(models) == 1:
            moved = f"GPU-0{nodes[0].gpus - 1}"
            found = [uuid for uuid in found if uuid != moved]
            found += [moved] if i == 1 and nodes[0].gpus > 1 else []
        return found

    def _metrics(
        self, node: NodePlan, labels: dict[str, str], at: float
    ) -> Iterator[Sample]:
        ratio, when = self._utilization(), self._at(at)
        engine, util = _names(node)
        is_mixed = node.metrics == "mixed" and (int(at) // 400) % 2
        if node.metrics in {"engine", "both"} or is_mixed:
            zero = node.metrics == "both" and self.plan.seed % 3 == 0
            value = as_ratio(node, ratio, at)
            yield Sample(engine, labels, when, 0.0 if zero else value)
        if node.metrics in {"util", "both", "mixed"}:
            yield Sample(util, labels, when, as_percent(node, ratio, at))
        yield Sample(MEMORY, labels, when, 40960)
        if self.plan.seed % 5 == 0:
            yield Sample(POWER, labels, when, 300)
            yield Sample(LIMIT, labels, when, 500)

    def _utilization(self) -> float:
        return utilization(self.dice, self.plan.odd)

    def _pod_on(self, node: int, gpu: int, at: float) -> PodPlan | None:
        """The pod whose label a GPU's samples carry."""
        taken = 0
        for pod in self.plan.pods:
            if pod.node != node or pod.labels == "none" or not _is_named(pod, at):
                continue
            units = 1 if pod.labels == "some" else pod.units
            if taken <= gpu < taken + units:
                is_late = pod.labels == "early" and at >= pod.bound + EARLY
                return None if is_late else pod
            taken += pod.units
        return None


def a_gigabyte_less(profile: str) -> str:
    """`7g.79gb` for `7g.80gb`, as pairs of drivers and DCGM write it."""
    slices, _, gigabytes = profile.partition("g.")
    return f"{slices}g.{int(gigabytes.removesuffix('gb')) - 1}gb"


def _names(node: NodePlan) -> tuple[str, str]:
    """What a node's exporter calls its two metrics."""
    return (ENGINE_RATIO, UTIL_RATIO) if node.has_ratios else (ENGINE, UTIL)


def _is_named(pod: PodPlan, at: float) -> bool:
    """True while samples may name a pod; some exporters are late."""
    late = 200 if pod.labels == "stale" else 0
    return pod.holds(at) or pod.holds(at - late)
