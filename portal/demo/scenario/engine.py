"""The simulated cluster: a scheduler, its queue, and the history so far.

Discrete events in order of time; the state at a moment is a function of the scenario alone,
regardless of the steps in which the engine was advanced. No GPU is ever held twice.
"""

import heapq
from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from portal.demo.scenario.edits import Edit, Limits
from portal.demo.scenario.fleet import (
    REPLACEMENT_S,
    NodeObject,
    TimeSpan,
    first_nodes,
    kube_outages,
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
from portal.demo.scenario.jobs import Jobs
from portal.demo.scenario.noise import key_of, noise, uuid_of
from portal.demo.scenario.organization import CLASSES, NEVER, SERVICES
from portal.demo.scenario.placement import SeatMap
from portal.demo.scenario.pod import (
    QuotaRefusal,
    Request,
    Seat,
    SimulatedPod,
    WorkloadType,
    again,
)
from portal.demo.scenario.queues import QueueQuota
from portal.demo.scenario.quota_use import QuotaUse
from portal.demo.scenario.standing import canaries, cordons, mistakes
from portal.demo.scenario.story import DAY_S, Story, local_day

RETRY_S = 300  # a controller whose pod was refused by a quota retries
JOB_RETRY_S = 600  # of a Job with many pods
EVICTION_S = 30  # grace period of pods on a drained or reclaimed node
PREEMPTION_S = 120  # grace period of preempted pods: they store a checkpoint
LOST_WORK = 0.1  # lost work of a failed run: since its last checkpoint

Event = tuple[int, int, Callable[..., None], tuple[Any, ...]]
Waiting = tuple[int, int, int, SimulatedPod]  # rank, creation, count


class Engine:
    """A cluster from the start of its scenario up to the moment to which it was advanced."""

    def __init__(self, story: Story, edits: Sequence[Edit] = ()) -> None:
        self.story = story
        self.classes: Mapping[str, int] = CLASSES  # value by PriorityClass name
        self.never: Sequence[str] = NEVER  # PriorityClasses that do not preempt
        self.now_s = story.start_s
        self.pods: list[SimulatedPod] = []  # in order of creation
        self.preempted: list[SimulatedPod] = []  # in order of their preemption
        self.kube_outages = kube_outages(story)
        self._events: list[Event] = []
        self._count = 0
        self._map = SeatMap()
        self._waiting: dict[str, list[Waiting]] = defaultdict(list)
        self._notebooks = Notebooks(story)
        self._replicas: dict[str, list[SimulatedPod]] = defaultdict(list)
        self._quotas = QuotaUse(story)
        self.jobs = Jobs(self)
        for node in first_nodes(story):
            self.at(node.joined_s, self._join, node)
        for edit in edits:
            self.at(edit.at_s, self.edit, edit)
        self.at(story.start_s, self._day, local_day(story.start_s))
        self.at(story.start_s, self._autoscale)
        self.jobs.begin()

    @property
    def nodes(self) -> dict[str, NodeObject]:
        """Every node so far, by name."""
        return self._map.nodes

    @property
    def seats(self) -> dict[str, list[Seat]]:
        """Units of every node so far, by its name."""
        return self._map.seats

    @property
    def limits(self) -> Limits:
        """Quotas of namespaces for which a person has set them."""
        return self._quotas.limits

    @property
    def refusals(self) -> dict[tuple[str, str], QuotaRefusal]:
        """Controllers whose pods a quota refuses, by namespace and name."""
        return self._quotas.refusals

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

    def shortfall(self, pod: SimulatedPod) -> tuple[int, int, int]:
        """Nodes of a waiting pod's pools with too few free GPUs, cordoned ones, and all others."""
        request = pod.request
        pools = () if request.model else request.pools
        nodes = self._map.nodes_of(pools).values()
        cordoned = sum(node.is_cordoned(self.now_s) for node in nodes)
        others = len(self.nodes_at(self.now_s)) - len(nodes)
        return len(nodes) - cordoned, cordoned, others

    def edit(self, edit: Edit) -> None:
        """Apply an edit of quotas, priority classes and queues."""
        self._quotas.limits, self.classes = edit.limits, edit.priorities
        self.never = edit.never
        if edit.queues:
            self.jobs.queues.quotas = {
                name: QueueQuota(*amounts) for name, amounts in edit.queues.items()
            }
            self.jobs.admit()

    def at(self, at_s: int, act: Callable[..., None], *arguments: object) -> None:
        """Do something at a moment."""
        self._count += 1
        heapq.heappush(self._events, (at_s, self._count, act, arguments))

    # --- the calendar

    def _day(self, day: int) -> None:
        """Plan the requests of people and CronJobs on a local day, and maintenance."""
        self._plan(training(self.story, day))
        self._plan(nightlies(self.story, day))
        self._plan(self._notebooks.day(day))
        self._plan(mistakes(self.story, day))
        self._plan(canaries(self.story, day))
        for place, start_s, end_s in cordons(self.story, day):
            self.at(start_s, self._cordon, place, end_s)
        self.at(self.now_s + DAY_S, self._day, day + 1)

    def _plan(self, requests: Iterable[tuple[int, Request]]) -> None:
        for at_s, request in requests:
            self.at(max(at_s, self.now_s), self.ask, request)

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
                self.stop(pod)
            self._replicas[service.name] = kept[:wanted]
            for _ in range(wanted - len(kept)):
                number = len(self.pods)  # a separate name for each replica
                request = service_pod(self.story, service, self.now_s, number)
                self._replicas[service.name].append(self._create(request))
        self.at(self.now_s + AUTOSCALE_S, self._autoscale)

    # --- nodes

    def _join(self, node: NodeObject) -> None:
        pools = self._map.join(node)
        if node.left_s is not None:
            self.at(node.left_s - EVICTION_S, self._drain, node)
        for pool in pools:
            self._schedule(pool)

    def _cordon(self, place: str, end_s: int) -> None:
        for node in self.nodes.values():
            if node.place == place and node.is_there(self.now_s):
                node.cordons.append(TimeSpan(self.now_s, end_s))
                for pool in self._map.pools_of(node):
                    self.at(end_s, self._schedule, pool)

    def _drain(self, node: NodeObject) -> None:
        """Remove a node: its pods fail or are deleted, and are requested again."""
        for pod in self._map.leave(node):
            self._lose(pod, "Failed" if pod.request.run_s is not None else "")
        if node.lifecycle == "spot" and node.left_s is not None:
            joined, turn = node.left_s + REPLACEMENT_S, node.generation + 1
            successor = spot_node(self.story, node.pool, node.place, turn, joined)
            self.at(joined, self._join, successor)

    def _lose(self, pod: SimulatedPod, phase: str) -> None:
        """End a pod that its controller replaces."""
        self.finish(pod, self.now_s, phase)
        self._replace(pod)

    def _replace(self, pod: SimulatedPod) -> None:
        """A pod has ended early: its controller creates another one."""
        request = pod.request
        if request.kind == WorkloadType.INFERENCE:
            return  # its controller notices with the next check
        left, ran = None, self.now_s - (pod.bound_s or self.now_s)
        if request.run_s is not None:
            left = max(600, request.run_s - int(ran * (1 - LOST_WORK)))
        self.at(self.now_s + 20, self.ask, again(request, left))

    # --- pods

    def ask(self, request: Request) -> None:
        """Create a pod, unless a quota refuses it: then its controller retries."""
        stop_s = request.stop_s
        is_late = stop_s is not None and stop_s <= self.now_s + RETRY_S
        if is_late or self.jobs.has_ended(request):
            self._quotas.settle(request)
            return
        if self._quotas.refuses(request, self.now_s):
            self._quotas.note(request, self.now_s)
            retry_s = JOB_RETRY_S if request.series else RETRY_S
            self.at(self.now_s + retry_s, self.ask, request)
            return
        self._quotas.settle(request)
        self._create(request)

    def class_of(self, tier: str) -> str:
        """The newest version of a tier's PriorityClass; empty if there is none."""
        versions = [
            int(name.rpartition("-v")[2])
            for name in self.classes
            if name.rpartition("-v")[0] == tier
        ]
        return f"{tier}-v{max(versions)}" if tier and versions else ""

    def _priority(self, pod: SimulatedPod) -> int:
        return self.classes.get(pod.class_name, 0)

    def _create(self, request: Request) -> SimulatedPod:
        uid = uuid_of(self.story.seed, request.namespace, request.name, request.serial)
        key = key_of(uid)
        share = 0.35 + 0.6 * float(noise(key, np.array([1], np.int64))[0])
        class_name = self.class_of(request.tier)
        pod = SimulatedPod(request, uid, key, self.now_s, share, class_name)
        self.jobs.made(pod)
        self.pods.append(pod)
        self._quotas.add(request)
        if request.stop_s is not None:
            self.at(request.stop_s, self.stop, pod)
        if not self._place(pod):
            rank = -self._priority(pod)
            for pool in () if request.model else request.pools:
                insort(self._waiting[pool], (rank, self.now_s, self._count, pod))
            self._count += 1
            self._preempt(pod)
        return pod

    def _place(self, pod: SimulatedPod) -> bool:
        """Bind a pod to a node with free GPUs; packed after the change, spread before it."""
        is_packed = self.story.is_reformed(self.now_s)
        found = self._map.find(pod.request, self.now_s, is_packed=is_packed)
        if found is None:
            return False
        free_s = self._map.take(pod, *found)
        pod.bound_s = max(free_s, self.now_s + 1 + pod.key % 3)
        pod.nominated = None
        request = pod.request
        if pod.job is not None:
            self.jobs.bound(pod)
        elif request.run_s is not None:
            phase = "Failed" if pod.key % 29 == 0 else "Succeeded"
            self.at(pod.bound_s + request.run_s, self._finish_run, pod, phase)
        return True

    def _preempt(self, pod: SimulatedPod) -> None:
        """End pods of lower priority for a pod that waits, if its class may do so."""
        if not pod.class_name or pod.class_name in self.never or pod.request.model:
            return
        found = self._map.victims(pod, self._priority, self.now_s)
        if found is None:
            return
        pod.nominated, victims = found
        for one in victims:
            one.preempted_s, one.preemptor = self.now_s, pod
        self.preempted.extend(victims)
        self.at(self.now_s + PREEMPTION_S, self._evict, pod, victims)

    def _evict(self, pod: SimulatedPod, victims: Sequence[SimulatedPod]) -> None:
        """The grace period of preempted pods is over: all of them end before others are placed."""
        live = [one for one in victims if one.ended_s is None]
        pools = [pool for one in live for pool in self._end(one, self.now_s, "")]
        for one in live:
            self._replace(one)
        for pool in dict.fromkeys(pools):
            self._schedule(pool)
        pod.nominated = None

    def _finish_run(self, pod: SimulatedPod, phase: str) -> None:
        if pod.ended_s is not None:
            return
        self.finish(pod, self.now_s, phase)
        if pod.request.series is not None:
            self.jobs.follow_up(pod.request.series)

    def stop(self, pod: SimulatedPod) -> None:
        """Delete a pod that runs, waits or is already gone."""
        if pod.ended_s is None:
            self.finish(pod, max(self.now_s, pod.bound_s or 0), "")

    def finish(self, pod: SimulatedPod, at_s: int, phase: str) -> None:
        """End a pod; what waits may use its GPUs."""
        for pool in self._end(pod, at_s, phase):
            self._schedule(pool)

    def _end(self, pod: SimulatedPod, at_s: int, phase: str) -> list[str]:
        at_s = max(at_s, pod.bound_s or at_s)
        pod.end(at_s, phase)
        self.jobs.ended(pod)
        request = pod.request
        self._quotas.add(request, -1)
        return self._map.release(pod)

    def _schedule(self, pool: str) -> None:
        """Assign free GPUs to waiting pods, by priority, then by age."""
        still: list[Waiting] = []
        failed: set[tuple[tuple[str, ...], int]] = set()
        for item in self._waiting[pool]:
            pod = item[3]
            if pod.node is not None or pod.ended_s is not None:
                continue
            demand = pod.request.pools, pod.request.gpus
            if demand in failed or not self._place(pod):
                failed.add(demand)
                still.append(item)
        self._waiting[pool] = still
