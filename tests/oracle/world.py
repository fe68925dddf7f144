"""A small cluster that lives: what its exporters and kube-state show, scrape by scrape.

For stateful tests: something happens, time passes, and `pass_time` gives the samples. One
node, the witness, is never held and its exporter never silent, so that its samples and its
energy can be counted without any rule.
"""

import random
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.builders import HOUR_ZERO
from tests.oracle.samples import ENGINE, SECOND, UTIL, Sample
from tests.oracle.shapes import A100, LAYOUTS, Shape

STEP = 30  # seconds between scrapes
KEPT = 90  # seconds that a finished object stays
ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
WITNESS, DIVIDED = "w", "n2"
SHARDS = 3  # of kube-state at most


@dataclass
class Pod:
    """A pod of the cluster; times in seconds."""

    uid: str
    name: str
    node: str
    units: int
    resource: str
    bound: float
    is_labelled: bool
    ended: float | None = None
    how: str = "gone"


@dataclass
class Machine:
    """A node: its GPUs, and how its exporter behaves."""

    name: str
    gpus: list[str]
    shape: Shape
    host_label: str = "Hostname"
    naming: str = "plain"
    instance: int = 0
    silent_until: float = 0
    hidden_until: float = 0  # kube-state does not show its object


def _divided(layout: int) -> Shape:
    layouts = LAYOUTS[A100]
    return Shape("mixed", layouts=(layouts[layout % len(layouts)],))


@dataclass
class World:
    """The cluster at a time.

    Attributes:
        now: seconds; the next scrape is at or after it.
        restarts: of kube-state, which has another instance each time.
        quiet: by shard of kube-state, until when it is silent.
        counters: energy of each GPU in millijoules, as its exporter shows it.
        spent: millijoules of the witness between its scrapes, all and across resets.
    """

    seed: int
    now: float = HOUR_ZERO
    pods: list[Pod] = field(default_factory=list)
    counters: dict[str, float] = field(default_factory=dict)
    kube_silent_until: float = 0
    restarts: int = 0
    quiet: dict[int, float] = field(default_factory=dict)
    made: int = 0
    spent: float = 0
    lost_by_resets: float = 0

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.is_reset: set[str] = set()
        self.shards = 1 + self.seed % SHARDS
        self.machines = [
            Machine("n0", ["GPU-00", "GPU-01"], Shape()),
            Machine("n1", ["GPU-10", "GPU-11"], Shape()),
            Machine(DIVIDED, ["GPU-20"], _divided(0)),
            Machine(WITNESS, ["GPU-w"], Shape()),
        ]

    def divide(self, layout: int) -> None:
        """The GPU of the last node is divided anew; what ran there disappears."""
        for pod in self.running():
            if pod.node == DIVIDED:
                self.end_pod(pod, "gone")
        self.machine(DIVIDED).shape = _divided(layout)

    def machine(self, name: str) -> Machine:
        """A node by its name."""
        return next(m for m in self.machines if m.name == name)

    # --- what happens ----------------------------------------------------------------

    def start_pod(self, node: str, units: int, name: str, *, is_labelled: bool) -> None:
        """A pod is bound."""
        self.made += 1
        resource = self.dice.choice(self.machine(node).shape.resources)
        uid = f"uid-{self.made}"
        pod = Pod(uid, name, node, units, resource, self.now, is_labelled)
        self.pods.append(pod)

    def running(self) -> list[Pod]:
        """Pods that have not ended."""
        return [pod for pod in self.pods if pod.ended is None]

    def end_pod(self, pod: Pod, how: str) -> None:
        """A pod ends by itself, or disappears."""
        pod.ended, pod.how = self.now, how

    def swap(self, node: str) -> None:
        """The first GPU of a node is another one from now on."""
        machine = self.machine(node)
        self.made += 1
        machine.gpus[0] = f"GPU-{node[-1]}x{self.made}"

    def reset(self, node: str) -> None:
        """The driver is loaded again: counters begin at 0."""
        for uuid in self.machine(node).gpus:
            self.counters[uuid] = 0
            self.is_reset.add(uuid)

    # --- what is seen ----------------------------------------------------------------

    def pass_time(self, scrapes: int, lost: float = 0) -> list[Sample]:
        """The samples of the next scrapes; some of those of held nodes never come."""
        found: list[Sample] = []
        for _ in range(scrapes):
            at = self.now
            for machine in self.machines:
                is_witness = machine.name == WITNESS
                is_there = at >= machine.silent_until and self.dice.random() >= lost
                samples = list(self._exporter(machine, at))
                found += samples if is_witness or is_there else []
            if at >= self.kube_silent_until:
                found += self._kube(at)
            self.now += STEP
        return found

    def _exporter(self, machine: Machine, at: float) -> Iterator[Sample]:
        when = round(at * SECOND)
        base = {
            "job": "dcgm",
            "instance": f"10.0.{machine.instance}.1:9400/{machine.name}",
            machine.host_label: machine.name,
            "modelName": machine.shape.model,
        }
        if machine.naming == "exported":
            yield Sample("up", base | self._named(machine, None), when, 1)
        on = self._seats(machine, at)
        for n, uuid in enumerate(machine.gpus):
            labels = base | {"UUID": uuid}
            yield Sample(ENERGY, labels, when, self._energy(uuid))
            if not machine.shape.layouts:
                mine = labels | self._named(machine, on.get((n, 0)))
                yield Sample(ENGINE, mine, when, self._utilization())
                yield Sample(UTIL, mine, when, 100 * self._utilization())
                continue
            for place, profile in enumerate(machine.shape.layout(at)):
                part = {"GPU_I_ID": str(place + 1), "GPU_I_PROFILE": profile}
                named = self._named(machine, on.get((n, place)))
                yield Sample(ENGINE, labels | part | named, when, self._utilization())

    def _energy(self, uuid: str) -> float:
        used = float(self.dice.randrange(3_000, 9_000) * 1000)
        if uuid == "GPU-w" and uuid in self.counters:
            self.spent += used
            self.lost_by_resets += used if uuid in self.is_reset else 0
        self.is_reset.discard(uuid)
        self.counters[uuid] = self.counters.get(uuid, 0) + used
        return self.counters[uuid]

    def _utilization(self) -> float:
        return self.dice.choice([0.0, 0.25, 0.5, 0.9, 1.0, 1 / 3])

    def _named(self, machine: Machine, pod: Pod | None) -> dict[str, str]:
        own = {"namespace": "monitoring", "pod": f"dcgm-{machine.name}"}
        labels = dict(own) if machine.naming == "exported" else {}
        if pod is not None:
            prefix = "exported_" if machine.naming == "exported" else ""
            labels |= {f"{prefix}namespace": "team", f"{prefix}pod": pod.name}
        return labels

    def _seats(self, machine: Machine, at: float) -> dict[tuple[int, int], Pod]:
        found: dict[tuple[int, int], Pod | None] = {}
        for pod in self.pods:
            if pod.node != machine.name or pod.ended is not None:
                continue
            gpus = len(machine.gpus)
            places = machine.shape.places(gpus, pod.resource, at, at)
            for place in [p for p in places if p not in found][: pod.units]:
                found[place] = pod if pod.is_labelled else None
        return {place: pod for place, pod in found.items() if pod is not None}

    def _kube(self, at: float) -> Iterator[Sample]:
        when = round(at * SECOND)
        for machine in self.machines:
            shard = self._shard(machine.name)
            if at < max(machine.hidden_until, self.quiet.get(shard, 0)):
                continue
            name = self._target(shard) | {"node": machine.name}
            gpus = len(machine.gpus)
            for resource, units in machine.shape.capacity(gpus, at).items():
                what = {"resource": resource, "unit": "integer"}
                yield Sample("kube_node_status_capacity", name | what, when, units)
            labels = {"label_nvidia_com_gpu_product": A100.replace(" ", "-")}
            labels |= machine.shape.labels(gpus, at)
            yield Sample("kube_node_labels", name | labels, when, 1)
        for pod in self.pods:
            is_over, shard = pod.ended is not None, self._shard(pod.uid)
            if is_over and (pod.how == "gone" or at >= (pod.ended or 0) + KEPT):
                continue
            if at >= self.quiet.get(shard, 0):
                yield from _pod(pod, self._target(shard), when, is_over=is_over)

    def _shard(self, name: str) -> int:
        """The shard of kube-state that shows an object."""
        return zlib.crc32(name.encode()) % self.shards

    def _target(self, shard: int) -> dict[str, str]:
        instance = f"10.1.{self.restarts}.{shard}:8080"
        return {"job": "kube-state-metrics", "instance": instance}


def _pod(
    pod: Pod, target: Mapping[str, str], when: int, *, is_over: bool
) -> Iterator[Sample]:
    key = {**target, "namespace": "team", "pod": pod.name, "uid": pod.uid}
    node = {"node": pod.node}
    what = {"container": "m", "resource": pod.resource, "unit": "integer"} | node
    yield Sample("kube_pod_info", key | node, when, 1)
    name = "kube_pod_container_resource_requests"
    yield Sample(name, key | what, when, pod.units)
    yield Sample("kube_pod_created", key, when, pod.bound - 45)
    yield Sample("kube_pod_status_scheduled_time", key, when, pod.bound)
    phase = pod.how if is_over else "Running"
    yield Sample("kube_pod_status_phase", key | {"phase": phase}, when, 1)
    if is_over and pod.units == 1 and pod.ended is not None:
        yield Sample("kube_pod_completion_time", key, when, pod.ended)
