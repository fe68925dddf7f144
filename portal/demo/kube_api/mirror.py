"""The simulated cluster in its Kubernetes API, and changes by people there.

Namespaces, nodes, pods, their controllers, events and queues follow the engine; the engine follows
quotas, priority classes and the quotas of queues. Those are stored in the home, with their field
managers.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from portal.demo.kube_api.objects import (
    controllers,
    namespace_object,
    node_object,
    pod_object,
    preemption_event,
    refusal_event,
)
from portal.demo.kube_api.queue_objects import (
    CLUSTER_QUEUE,
    cluster_queue,
    job_object,
    local_queue,
    queue_status,
    quota_of,
    workload_object,
)
from portal.demo.kube_api.store import Key, Manifest, Store
from portal.demo.metrics.exposition import phase_at
from portal.demo.scenario.edits import Edit, append, load
from portal.demo.scenario.engine import Engine
from portal.demo.scenario.fleet import resource_of
from portal.demo.scenario.organization import CLASSES, NAMESPACES, NEVER
from portal.demo.scenario.pod import QuotaRefusal, Request, SimulatedPod
from portal.demo.scenario.queues import CLUSTER_QUEUES
from scheduler_view.clusters.client.kinds import EVENT, NAMESPACE, NODE, POD
from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA
from scheduler_view.clusters.rules.quantity import gpus_or_none
from scheduler_view.clusters.rules.quota_key import resource_of as resource_of_key
from scheduler_view.quotas.rules.tiers import NEVER as NEVER_PREEMPTS

EVENT_TTL_S = 3600  # how long an API server keeps an event
FILE = "demo-objects.json"
EDITED = (CLASS, QUOTA, CLUSTER_QUEUE)  # kinds that people change

Shown = tuple[Key, object, Callable[[], Manifest]]  # where, its state, how it is made


class Mirror:
    """Keeps engine and API objects consistent."""

    def __init__(self, engine: Engine, home: Path) -> None:
        self.engine, self.home, self.store = engine, home, Store()
        edits = load(home)
        self._edit = edits[-1] if edits else None
        self._objects: list[Manifest] = []
        self._read = 0  # pods of the engine before this one are in `_open`, or deleted
        self._open: list[SimulatedPod] = []
        self._born: dict[tuple[str, str, str], int] = {}  # first pod of a controller
        self._shown: dict[Key, object] = {}
        self._restore()

    def show(self, now_s: int) -> None:
        """Update what follows the engine to its state; writes only what has changed."""
        self._read_pods(now_s)
        wanted = {key: (state, make) for key, state, make in self._wanted(now_s)}
        for key in [key for key in self._shown if key not in wanted]:
            self.store.drop(key)
            del self._shown[key]
        for key, (state, make) in wanted.items():
            if key not in self._shown or self._shown[key] != state:
                self.store.put(key, make())
                self._shown[key] = state
        self._show_queues()

    def _read_pods(self, now_s: int) -> None:
        new = self.engine.pods[self._read :]
        self._read = len(self.engine.pods)
        for pod in new:
            self._born.setdefault(_place(pod.request), pod.created_s)
        self._open = [
            pod
            for pod in (*self._open, *new)
            if pod.gone_s is None or pod.gone_s > now_s
        ]

    def _wanted(self, now_s: int) -> Iterator[Shown]:
        for node in self.engine.nodes_at(now_s):
            state = node.joined_s, node.is_cordoned(now_s)
            yield (NODE, "", node.name), state, partial(node_object, node, now_s)
        yield from self._events(now_s)
        yield from self._jobs(now_s)
        yield from self._controllers(now_s)
        for pod in self._open:
            if pod.is_seen(now_s):
                yield self._pod(pod, now_s)

    def _pod(self, pod: SimulatedPod, now_s: int) -> Shown:
        words = "" if pod.is_bound(now_s) else self._why(pod)
        state = (
            *(pod.uid, pod.is_bound(now_s), phase_at(pod, now_s), words),
            *(pod.is_ending(now_s), pod.nominated and pod.nominated.name),
        )
        key = POD, pod.request.namespace, pod.request.name

        def make() -> Manifest:
            value = self.engine.classes.get(pod.class_name, 0)
            is_never = pod.class_name in self.engine.never
            return pod_object(pod, now_s, words, value, is_never=is_never)

        return key, state, make

    def _events(self, now_s: int) -> Iterator[Shown]:
        """The events of refused and of preempted pods."""
        for refusal in self.engine.refusals.values():
            if refusal.last_s > now_s - EVENT_TTL_S and self._has_quota(refusal):
                yield _event(refusal_event(refusal), refusal)
        for pod in reversed(self.engine.preempted):
            if (pod.preempted_s or 0) <= now_s - EVENT_TTL_S:
                break
            yield _event(preemption_event(pod), pod.uid)

    def _has_quota(self, refusal: QuotaRefusal) -> bool:
        """False before a person has set the quotas of the scenario through the API."""
        return refusal.request.namespace in self.engine.limits

    def _jobs(self, now_s: int) -> Iterator[Shown]:
        """Jobs whose pods are of use only together, and the Workloads of those in a queue."""
        queues = self.engine.jobs.queues
        for job in self.engine.jobs.shown(now_s):
            state: tuple[object, ...] = job.admitted_s, job.ended_s
            tier = self.engine.class_of(job.requests[0].tier)
            key, made = job_object(job, tier)
            yield key, (*state, tier), partial(_same, made)
            if job.queue and job.ended_s is None:
                value = self.engine.classes.get(tier, 0)
                lacks = 0 if job.admitted_s is not None else queues.lacks(job)
                key, made = workload_object(queues, job, tier, value)
                yield key, (*state, lacks, value), partial(_same, made)

    def _controllers(self, now_s: int) -> Iterator[Shown]:
        """The controllers of pods, and of those that a quota refuses: they want both."""
        counts: Counter[tuple[str, str, str]] = Counter()
        requests: dict[tuple[str, str, str], Request] = {}
        refused = [one for one in self.engine.refusals.values() if self._has_quota(one)]
        for pod in self._open:
            is_live = pod.is_seen(now_s) and not pod.has_finished(now_s)
            if is_live and not pod.is_ending(now_s) and pod.job is None:
                place = _place(pod.request)
                counts[place] += 1
                requests.setdefault(place, pod.request)
        for refusal in refused:
            if refusal.request.index is None:
                place = _place(refusal.request)
                counts[place] += len(refusal.missing)
                requests.setdefault(place, refusal.request)
                self._born.setdefault(place, refusal.first_s)
        for place, request in requests.items():
            count, born = counts[place], self._born[place]
            tier = self.engine.class_of(request.tier)
            for key, made in controllers(request, count, born, tier):
                yield key, (count, tier), partial(_same, made)

    def _show_queues(self) -> None:
        """The status of the ClusterQueues; their quotas are what people wrote."""
        for spec in CLUSTER_QUEUES:
            key = CLUSTER_QUEUE, "", spec.name
            one = self.store.get(key)
            status = queue_status(self.engine.jobs.queues, spec)
            if one.get("status") != status:
                self.store.put(key, {**one, "status": status})

    def _why(self, pod: SimulatedPod) -> str:
        """The scheduler's message for a pod that it cannot place, in its usual form."""
        if pod.node is not None:
            return ""  # it has one, and is bound in a moment
        short, cordoned, others = self.engine.shortfall(pod)
        resource = resource_of(pod.request.pools[0])
        parts = [f"{short} Insufficient {resource}"] if short else []
        if others:
            parts.append(f"{others} node(s) didn't match Pod's node affinity/selector")
        if cordoned:
            parts.append(f"{cordoned} node(s) were unschedulable")
        count, reasons = short + cordoned + others, ", ".join(sorted(parts))
        never = ""
        if pod.class_name in self.engine.never:
            never = " preemption: not eligible due to preemptionPolicy=Never."
        return f"0/{count} nodes are available: {reasons}.{never}"

    def follow(self, now_s: int) -> None:
        """Apply what people have changed to the engine, and store it."""
        objects = [
            _without_status(one) if kind == CLUSTER_QUEUE else one
            for kind in EDITED
            for one in self.store.all_of(kind, "")[0]
        ]
        if objects == self._objects:
            return
        self._objects = objects
        edit = self._edit_of(objects, now_s)
        if self._edit is None or _content(edit) != _content(self._edit):
            append(self.home, edit)
            self.engine.edit(edit)
            self._edit = edit
        self._save()

    def _edit_of(self, objects: list[Manifest], now_s: int) -> Edit:
        known = set(self._edit.limits) if self._edit else set()
        limits: dict[str, dict[str, int]] = {name: {} for name in known}
        classes = {o["metadata"]["name"]: o for o in objects if o["kind"] == CLASS}
        never = [
            name
            for name, one in classes.items()
            if one.get("preemptionPolicy") == NEVER_PREEMPTS
        ]
        for one in objects:
            if one["kind"] == QUOTA and not one["spec"].get("scopeSelector"):
                namespace = one["metadata"]["namespace"]
                _limit(limits.setdefault(namespace, {}), one["spec"].get("hard") or {})
        queues = {
            one["metadata"]["name"]: quota
            for one in objects
            if one["kind"] == CLUSTER_QUEUE and (quota := quota_of(one))
        }
        values = {name: int(one["value"]) for name, one in classes.items()}
        if not classes:
            never = [*NEVER]
        return Edit(now_s, limits, values or CLASSES, never, queues)

    def _save(self) -> None:
        draft = self.home / f"{FILE}.{os.getpid()}"
        draft.write_text(json.dumps(self._objects))
        draft.replace(self.home / FILE)

    def _restore(self) -> None:
        for namespace, department in NAMESPACES.items():
            key = (NAMESPACE, "", namespace)
            self.store.put(key, namespace_object(namespace, department))
        quotas = self.engine.jobs.queues.quotas
        for spec in CLUSTER_QUEUES:
            self.store.put(*local_queue(spec))
            self.store.put(*cluster_queue(spec, quotas[spec.name]))
        try:
            stored = json.loads((self.home / FILE).read_text())
        except FileNotFoundError:
            return
        for one in stored:
            meta = one["metadata"]
            self.store.put((one["kind"], meta.get("namespace", ""), meta["name"]), one)


def _place(request: Request) -> tuple[str, str, str]:
    return request.namespace, request.owner.kind, request.owner.name


def _event(made: Manifest, state: object) -> Shown:
    meta = made["metadata"]
    return (EVENT, meta["namespace"], meta["name"]), state, partial(_same, made)


def _same(made: Manifest) -> Manifest:
    return made


def _without_status(one: Manifest) -> Manifest:
    """A queue as people wrote it: its status changes with every Job."""
    meta = {k: v for k, v in one["metadata"].items() if k != "resourceVersion"}
    return {**{k: v for k, v in one.items() if k != "status"}, "metadata": meta}


def _content(edit: Edit) -> tuple[object, ...]:
    queues = {name: list(amounts) for name, amounts in edit.queues.items()}
    return edit.limits, edit.priorities, sorted(edit.never), queues


def _limit(hard: dict[str, int], written: Mapping[str, Any]) -> None:
    """The smallest limit of each resource; keys that do not count GPUs have no effect."""
    for key, value in written.items():
        resource, units = resource_of_key(key), gpus_or_none(str(value))
        is_counted = key.startswith("requests.")
        if is_counted and resource is not None and units is not None:
            hard[resource] = min(units, hard.get(resource, units))
