"""The simulated cluster: a scheduler, its queue, and the history so far.

Discrete events in order of time; the state at a moment is a function of the scenario alone,
regardless of the steps in which the engine was advanced. No GPU is ever held twice.
"""

import heapq
from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from portal.demo.scenario.edits import Edit, Limits
from portal.demo.scenario.fleet import (
    REPLACEMENT_S,
    NodeObject,
    first_nodes,
    kube_outages,
    resource_of,
    spot_node,
)
from portal.demo.scenario.habits import (
    AUTOSCALE_S,
    Notebooks,
    nightlies,
    replicas,
    service_pod,
    training,
)
from portal.demo.scenario.noise import code_of, key_of, noise, uuid_of
from portal.demo.scenario.organization import CLASSES, QUOTAS, SERVICES
from portal.demo.scenario.pod import (
    QuotaRefusal,
    Request,
    Seat,
    SimulatedPod,
    WorkloadType,
)
from portal.demo.scenario.story import DAY_S, Story, local_day

RETRY_S = 300  # a controller whose pod was refused by a quota retries
EVICTION_S = 30  # grace period of pods on a drained or reclaimed node
LOST_WORK = 0.1  # lost work of a failed run: since its last checkpoint

Event = tuple[int, int, Callable[..., None], tuple[Any, ...]]


class Engine:
    """A cluster from the start of its scenario up to the moment to which it was advanced."""

    def __init__(self, story: Story, edits: Sequence[Edit] = ()) -> None:
        self.story = story
        self.classes: Mapping[str, int] = CLASSES  # value by PriorityClass name
        self.limits: Limits = {}  # of namespaces whose quotas a person has set
        self.now_s = story.start_s
        self.nodes: dict[str, NodeObject] = {}
        self.pods: list[SimulatedPod] = []  # in order of creation
        self.seats: dict[str, list[Seat]] = {}  # by node name
        self.refusals: dict[
            tuple[str, str], QuotaRefusal
        ] = {}  # of waiting controllers
        self.kube_outages = kube_outages(story)
        self._events: list[Event] = []
        self._count = 0
        self._free: dict[tuple[str, str], list[Seat]] = {}  # by node name and pool
        self._pools: dict[str, list[NodeObject]] = defaultdict(list)
        self._waiting: dict[str, list[tuple[int, int, int, SimulatedPod]]] = (
            defaultdict(list)
        )
        self._notebooks = Notebooks(story)
        self._replicas: dict[str, list[SimulatedPod]] = defaultdict(list)
        self._used: dict[tuple[str, str], int] = defaultdict(int)  # as quotas count
        for node in first_nodes(story):
            self._at(node.joined_s, self._join, node)
        for edit in edits:
            self._at(edit.at_s, self.edit, edit)
        self._at(story.start_s, self._day, local_day(story.start_s))
        self._at(story.start_s, self._autoscale)

    def advance(self, until_s: int) -> None:
        """Process all events up to and including a moment."""
        while self._events and self._events[0][0] <= until_s:
            at, _, act, arguments = heapq.heappop(self._events)
            self.now_s = at
            act(*arguments)
        self.now_s = max(self.now_s, until_s)

    def nodes_at(self, at_s: int) -> list[NodeObject]:
        """Nodes that exist at a moment, by name."""
        found = [node for node in self.nodes.values() if node.is_there(at_s)]
        return sorted(found, key=lambda node: node.name)

    def node_in(self, place: str, at_s: int) -> NodeObject | None:
        """The node in a slot whose exporter responds at a moment."""
        for node in self.nodes.values():
            if node.place == place and node.is_read(at_s):
                return node
        return None

    def pods_between(self, start_s: int, end_s: int) -> Iterator[SimulatedPod]:
        """Pods whose object exists at some time of [start, end)."""
        for pod in self.pods:
            if pod.created_s >= end_s:
                return
            if pod.gone_s is None or pod.gone_s > start_s:
                yield pod

    def is_kube_seen(self, at_s: int) -> bool:
        """True while kube-state-metrics responds."""
        return not any(span.contains(at_s) for span in self.kube_outages)

    def shortfall(self, pod: SimulatedPod) -> tuple[int, int]:
        """Nodes of a waiting pod's pools with too few free GPUs, and all other nodes."""
        pools = pod.request.pools
        fitting = {node.name for pool in pools for node in self._pools[pool]}
        return len(fitting), len(self.nodes_at(self.now_s)) - len(fitting)

    def edit(self, edit: Edit) -> None:
        """Apply an edit of quotas and priority classes."""
        self.limits, self.classes = edit.limits, edit.priorities

    def _at(self, at_s: int, act: Callable[..., None], *arguments: object) -> None:
        self._count += 1
        heapq.heappush(self._events, (at_s, self._count, act, arguments))

    # --- the calendar

    def _day(self, day: int) -> None:
        """Plan the requests of people and CronJobs on a local day."""
        self._plan(training(self.story, day))
        self._plan(nightlies(self.story, day))
        self._plan(self._notebooks.day(day))
        self._at(self.now_s + DAY_S, self._day, day + 1)

    def _plan(self, requests: Iterable[tuple[int, Request]]) -> None:
        for at_s, request in requests:
            self._at(max(at_s, self.now_s), self._ask, request)

    def _autoscale(self) -> None:
        """Scale every service to its wanted size: the newest pods are removed first."""
        now = np.array([self.now_s], np.int64)
        for service in SERVICES:
            wanted = int(replicas(self.story, service, now)[0])
            pods = [pod for pod in self._replicas[service.name] if pod.ended_s is None]
            fitting = service_pod(self.story, service, self.now_s, 0).owner
            old = [pod for pod in pods if pod.request.owner != fitting]
            kept = [pod for pod in pods if pod.request.owner == fitting]
            for pod in [*old, *kept[wanted:]]:
                self._stop(pod)
            self._replicas[service.name] = kept[:wanted]
            for _ in range(wanted - len(kept)):
                number = len(self.pods)  # a separate name for each replica
                request = service_pod(self.story, service, self.now_s, number)
                self._replicas[service.name].append(self._create(request))
        self._at(self.now_s + AUTOSCALE_S, self._autoscale)

    # --- nodes

    def _join(self, node: NodeObject) -> None:
        self.nodes[node.name] = node
        units = node.shape.units(node.pool.gpus)
        seats = [Seat(node, index, unit) for index, unit in enumerate(units)]
        self.seats[node.name] = seats
        for pool in _pools_of(seats):
            free = [seat for seat in seats if node.pool_of(seat.unit) == pool]
            self._free[node.name, pool] = free
            self._pools[pool].append(node)
        if node.left_s is not None:
            self._at(node.left_s - EVICTION_S, self._drain, node)
        for pool in _pools_of(seats):
            self._schedule(pool)

    def _drain(self, node: NodeObject) -> None:
        """Remove a node: its pods fail or are deleted, and are requested again."""
        for pool in _pools_of(self.seats[node.name]):
            self._pools[pool].remove(node)
            self._free[node.name, pool] = []
        lost = {
            seat.holder for seat in self.seats[node.name] if seat.holder is not None
        }
        for pod in sorted(lost, key=lambda pod: pod.key):
            self._lose(pod)
        if node.lifecycle == "spot" and node.left_s is not None:
            joined, turn = node.left_s + REPLACEMENT_S, node.generation + 1
            successor = spot_node(self.story, node.pool, node.place, turn, joined)
            self._at(joined, self._join, successor)

    def _lose(self, pod: SimulatedPod) -> None:
        request = pod.request
        ran = self.now_s - (pod.bound_s or self.now_s)
        is_run = request.run_s is not None
        self._finish(pod, self.now_s, "Failed" if is_run else "")
        if request.kind == WorkloadType.INFERENCE:
            return  # its controller notices with the next check
        left = None
        if request.run_s is not None:
            left = max(600, request.run_s - int(ran * (1 - LOST_WORK)))
        self._at(self.now_s + 20, self._ask, _again(request, left))

    # --- pods

    def _ask(self, request: Request) -> None:
        """Create a pod, unless a quota refuses it: then its controller retries."""
        if request.stop_s is not None and request.stop_s <= self.now_s + RETRY_S:
            return
        if self._is_refused(request):
            self._note_refusal(request)
            self._at(self.now_s + RETRY_S, self._ask, request)
            return
        self.refusals.pop((request.namespace, request.owner.name), None)
        self._create(request)

    def _note_refusal(self, request: Request) -> None:
        """Record the API server's response to the controller; its event counts."""
        resource = resource_of(request.pools[0])
        used = self._used[request.namespace, resource]
        hard = self.limits.get(request.namespace, {}).get(resource)
        if hard is None:
            return  # in the scenario, before a person set quotas through the API
        key = request.namespace, request.owner.name
        before = self.refusals.get(key)
        self.refusals[key] = QuotaRefusal(
            request,
            before.first_s if before else self.now_s,
            self.now_s,
            before.count + 1 if before else 1,
            used,
            hard,
        )

    def _is_refused(self, request: Request) -> bool:
        """True while a quota does not allow one more such pod."""
        resource = resource_of(request.pools[0])
        used = self._used[request.namespace, resource]
        if request.namespace in self.limits:
            hard = self.limits[request.namespace].get(resource)
            return hard is not None and used + request.gpus > hard
        hard = QUOTAS[request.namespace].get(resource)
        if hard is None or not self.story.is_reformed(self.now_s):
            return False
        limit = max(request.gpus, round(hard * self.story.scale))
        return used + request.gpus > limit

    def _class_of(self, tier: str) -> str:
        """The newest version of a tier's PriorityClass; empty if there is none."""
        versions = [
            int(name.rpartition("-v")[2])
            for name in self.classes
            if name.rpartition("-v")[0] == tier
        ]
        return f"{tier}-v{max(versions)}" if tier and versions else ""

    def _create(self, request: Request) -> SimulatedPod:
        uid = uuid_of(self.story.seed, request.namespace, request.name, request.serial)
        key = key_of(uid)
        share = 0.35 + 0.6 * float(noise(key, np.array([1], np.int64))[0])
        class_name = self._class_of(request.tier)
        pod = SimulatedPod(request, uid, key, self.now_s, share, class_name)
        self.pods.append(pod)
        self._used[request.namespace, resource_of(request.pools[0])] += request.gpus
        if request.stop_s is not None:
            self._at(request.stop_s, self._stop, pod)
        if not self._place(pod):
            rank = -self.classes.get(pod.class_name, 0)
            for pool in request.pools:
                insort(self._waiting[pool], (rank, self.now_s, self._count, pod))
            self._count += 1
        return pod

    def _place(self, pod: SimulatedPod) -> bool:
        """Bind a pod to a node with free GPUs; the first pool that has one is used."""
        request = pod.request
        for pool in request.pools:
            fitting = [
                node
                for node in self._pools[pool]
                if len(self._free[node.name, pool]) >= request.gpus
            ]
            if fitting:
                self._bind(pod, self._best(fitting, pool), pool)
                return True
        return False

    def _best(self, fitting: list[NodeObject], pool: str) -> NodeObject:
        """Spread over nodes at first, the default; packed after the change."""
        sign = 1 if self.story.is_reformed(self.now_s) else -1
        return min(
            fitting, key=lambda n: (sign * len(self._free[n.name, pool]), n.name)
        )

    def _bind(self, pod: SimulatedPod, node: NodeObject, pool: str) -> None:
        request = pod.request
        free = self._free[node.name, pool]
        seats, self._free[node.name, pool] = free[: request.gpus], free[request.gpus :]
        for seat in seats:
            seat.holder = pod
            seat.pods.append(pod)
        pod.node, pod.units = node, tuple(seat.index for seat in seats)
        pod.bound_s = self.now_s + 1 + pod.key % 3
        if request.run_s is not None:
            phase = "Failed" if pod.key % 29 == 0 else "Succeeded"
            self._at(pod.bound_s + request.run_s, self._finish_run, pod, phase)

    def _finish_run(self, pod: SimulatedPod, phase: str) -> None:
        if pod.ended_s is None:
            self._finish(pod, self.now_s, phase)

    def _stop(self, pod: SimulatedPod) -> None:
        """Delete a pod that runs, waits or is already gone."""
        if pod.ended_s is None:
            self._finish(pod, max(self.now_s, pod.bound_s or 0), "")

    def _finish(self, pod: SimulatedPod, at_s: int, phase: str) -> None:
        at_s = max(at_s, pod.bound_s or at_s)
        pod.end(at_s, phase)
        request = pod.request
        self._used[request.namespace, resource_of(request.pools[0])] -= request.gpus
        if pod.node is None:
            return
        for index in pod.units:
            seat = self.seats[pod.node.name][index]
            pool = pod.node.pool_of(seat.unit)
            seat.holder = None
            if pod.node in self._pools[pool]:  # it is not being removed
                self._free[pod.node.name, pool].append(seat)  # used last
        for pool in _pools_of(self.seats[pod.node.name][i] for i in pod.units):
            self._schedule(pool)

    def _schedule(self, pool: str) -> None:
        """Assign free GPUs to waiting pods, by priority, then by age."""
        still: list[tuple[int, int, int, SimulatedPod]] = []
        for item in self._waiting[pool]:
            pod = item[3]
            if pod.node is None and pod.ended_s is None and not self._place(pod):
                still.append(item)
        self._waiting[pool] = still


def _pools_of(seats: Iterable[Seat]) -> list[str]:
    """Each pool once, in the order of the seats."""
    return list(dict.fromkeys(seat.node.pool_of(seat.unit) for seat in seats))


def _again(request: Request, run_s: int | None) -> Request:
    """The same request for a new pod: a StatefulSet keeps the name, a Job does not."""
    serial, name = f"{request.serial}+", request.name
    if request.owner.kind == "Job":
        stem = name.rpartition("-")[0]
        name = f"{stem}-{code_of(5, request.owner.name, name, serial)}"
    return replace(request, name=name, serial=serial, run_s=run_s)
