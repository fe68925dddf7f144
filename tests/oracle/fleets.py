"""What a scraper sees of a random small fleet, and what of it is lost.

A seeded random number decides jitter, values and dropped scrapes.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.builders import HOUR_ZERO
from tests.oracle.plans import NodePlan, Plan, PodPlan
from tests.oracle.samples import ENGINE, LIMIT, POWER, SECOND, UTIL, Sample

START = HOUR_ZERO  # seconds
BLANK = 9223372036854775794.0
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
        if not self.plan.has_kube:
            return
        for replica in range(self.plan.kube_replicas):
            for at in self._times(self.plan.kube_step, replica):
                if not any(span.has(at) for span in self.plan.kube_outages):
                    yield from self._kube(replica, at)

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
        for n, uuid in enumerate(self._gpus(i, at)):
            if n == node.gpus - 1 and at < node.silent_until:
                continue
            labels = base | {
                "UUID": uuid,
                "Hostname" if self.plan.seed % 2 else "hostname": f"n{i}",
                "modelName": node.shape.model,
            }
            if node.shape.kind != "whole":
                yield from self._places(i, n, labels, at)
                continue
            pod = self._pod_on(i, n, at)
            yield from self._metrics(node, labels | self._named(i, pod), at)

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
            part = {"GPU_I_ID": str(n + 1), "GPU_I_PROFILE": profile}
            mine = labels | part | self._named(i, on.get((gpu, n)))
            yield Sample(ENGINE, mine, when, self._duty())
            if node.metrics in {"both", "mixed"}:
                yield Sample(UTIL, mine, when, 0)
            yield Sample(MEMORY, mine, when, 4096)
        if node.shape.has_device_row:
            yield Sample(ENGINE, labels | self._named(i, None), when, self._duty())

    def _shared(
        self, i: int, pods: list[PodPlan], labels: dict[str, str], at: float
    ) -> Iterator[Sample]:
        """Samples of a GPU with several holders, each way that exporters have."""
        node, when, duty = self.plan.nodes[i], self._at(at), self._duty()
        naming = node.shape.naming
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
            yield from (Sample(ENGINE, row, when, duty) for row in rows)
        yield from (Sample(MEMORY, row, when, 4096) for row in rows)
        if node.metrics == "engine":
            return
        is_odd = duty != duty or duty > 7  # noqa: PLR0124  # NaN
        value = duty if is_odd else duty * 100
        if naming not in {"process", "zeros"} or not pods:
            yield from (Sample(UTIL, row, when, value) for row in rows)
            return
        yield Sample(UTIL, labels | self._named(i, None), when, value)
        for row in rows:
            own = 0 if naming == "zeros" else self.dice.choice([0, 5, 15, 45, 80])
            yield Sample(UTIL, row, when, own)

    def _seats(self, i: int, at: float) -> dict[tuple[int, int], PodPlan]:
        """By (GPU, place): the pod whose label the samples of that place carry."""
        node, found = self.plan.nodes[i], {}
        for pod in self.plan.pods:
            late = 200 if pod.labels == "stale" else 0
            if pod.node != i or not (pod.holds(at) or pod.holds(at - late)):
                continue
            places = node.shape.places(node.gpus, pod.resource, pod.bound, at)
            open_ = [place for place in places if place not in found]
            shown = 1 if pod.labels == "some" else pod.units
            for n, place in enumerate(open_[: pod.units]):
                found[place] = pod if n < shown and pod.labels != "none" else None
        return {place: pod for place, pod in found.items() if pod is not None}

    def _gpus(self, i: int, at: float) -> list[str]:
        """The UUIDs on a node at a time."""
        nodes, move = self.plan.nodes, self.plan.move
        swap = nodes[i].swap
        is_swapped = swap is not None and at >= swap
        found = [f"GPU-{i}{n}" for n in range(nodes[i].gpus)]
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
        duty, when = self._duty(), self._at(at)
        is_mixed = node.metrics == "mixed" and (int(at) // 400) % 2
        if node.metrics in {"engine", "both"} or is_mixed:
            zero = node.metrics == "both" and self.plan.seed % 3 == 0
            yield Sample(ENGINE, labels, when, 0.0 if zero else duty)
        if node.metrics in {"util", "both", "mixed"}:
            yield Sample(UTIL, labels, when, duty if duty > 7 else duty * 100)
        yield Sample(MEMORY, labels, when, 40960)
        if self.plan.seed % 5 == 0:
            yield Sample(POWER, labels, when, 300)
            yield Sample(LIMIT, labels, when, 500)

    def _duty(self) -> float:
        if self.dice.random() < self.plan.odd:
            return self.dice.choice([float("nan"), float("inf"), -1.0, 7.0, BLANK])
        return self.dice.choice([0.0, 0.0, 0.25, 0.5, 0.9, 0.97, 1.0, 1.05, 1 / 3])

    def _pod_on(self, node: int, gpu: int, at: float) -> PodPlan | None:
        """The pod whose label a GPU's samples carry."""
        taken = 0
        for pod in self.plan.pods:
            if pod.node != node or pod.labels == "none":
                continue
            late = 200 if pod.labels == "stale" else 0
            if not (pod.holds(at) or pod.holds(at - late)):
                continue
            units = 1 if pod.labels == "some" else pod.units
            if taken <= gpu < taken + units:
                return pod
            taken += pod.units
        return None

    def _kube(self, replica: int, at: float) -> Iterator[Sample]:
        base = {"job": "kube-state-metrics", "instance": f"10.1.0.{replica}:8080"}
        when = self._at(at)
        for i, node in enumerate(self.plan.nodes):
            if not (node.gone and node.gone.has(at)):
                name = base | {"node": f"n{i}"}
                yield Sample("kube_node_info", name, when, 1)
                gpus = len(self._gpus(i, at))
                for key, units in node.shape.capacity(gpus, at).items():
                    resource = {"resource": key, "unit": "integer"}
                    capacity = "kube_node_status_capacity"
                    yield Sample(capacity, name | resource, when, units)
                if said := node.shape.labels(gpus, at):
                    yield Sample("kube_node_labels", name | said, when, 1)
        daemon = {"namespace": "kube-system", "pod": "proxy", "uid": "uid-proxy"}
        yield Sample("kube_pod_info", base | daemon | {"node": "c0"}, when, 1)
        for pod in self.plan.pods:
            if pod.is_listed:
                yield from self._pod(pod, base, at)

    def _pod(self, pod: PodPlan, base: dict[str, str], at: float) -> Iterator[Sample]:
        created, kept = pod.bound - 45, 90  # seconds that a finished object stays
        away = self.plan.nodes[pod.node].gone
        is_over = pod.end is not None and at >= pod.end
        if at < created or (is_over and (pod.how == "gone" or at >= pod.end + kept)):  # type: ignore[operator]
            return
        if away and at >= away.start and pod.bound < away.end:
            return  # its node took it along
        when, is_bound = self._at(at), at >= pod.bound
        key = base | {"namespace": "team", "pod": pod.name, "uid": pod.uid}
        node = {"node": f"n{pod.node}" if is_bound else ""}
        yield Sample("kube_pod_info", key | node, when, 1)
        resource = {"resource": pod.resource, "unit": "integer"} | node
        requests = "container_resource_requests"
        yield Sample(
            f"kube_pod_{requests}", key | resource | {"container": "m"}, when, pod.units
        )
        if pod.init:
            init = key | resource | {"container": "i"}
            yield Sample(f"kube_pod_init_{requests}", init, when, pod.init)
        start = START + self.plan.offset
        yield Sample("kube_pod_created", key, when, start + created)
        if is_bound and pod.has_schedule:
            yield Sample("kube_pod_status_scheduled_time", key, when, start + pod.bound)
        for phase in ("Pending", "Running", "Succeeded", "Failed"):
            now = pod.how if is_over else "Running" if is_bound else "Pending"
            phase_key = key | {"phase": phase}
            yield Sample("kube_pod_status_phase", phase_key, when, int(phase == now))
        if is_over and pod.units % 2 and pod.end is not None:
            yield Sample("kube_pod_completion_time", key, when, start + pod.end)
