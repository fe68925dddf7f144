"""Whether work starts after changes: they are carried out, pods are let in and placed one by one.

An own reading of each change, of quotas and of limits; only whether one pod has place on one node
is asked of the explanation.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from fractions import Fraction
from typing import Any

from scheduler_view.waits.rules.cause import WaitCause
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.units import WorkUnit
from scheduler_view.waits.rules.world.world import read_world
from tests.oracle.api_server import (
    broken_limit,
    counted_of,
    in_scope,
    must_set,
    written,
)
from tests.oracle.carried_out import ANYWHERE, APPLY, owners_of, path_of
from tests.oracle.waits import amount

Manifest = dict[str, Any]
Objects = dict[str, list[Manifest]]
Change = Mapping[str, Any]
MAKERS = ("Job", "ReplicaSet", "StatefulSet")
MOST_PODS = 64


class Trial:
    """Objects in which one unit waits."""

    def __init__(self, objects: Objects, now_ms: int, subject: str) -> None:
        self.objects, self._now_ms = deepcopy(objects), now_ms
        self._subject = subject
        known = (
            p["metadata"]["name"].rpartition("-made-")[2] for p in self.kind("Pod")
        )
        self._made = max((int(one) for one in known if one.isdigit()), default=0)
        self.namespace, self._name = subject.split("/")[1:3]

    def starts_with(self, change: Change) -> bool:
        """Whether the unit starts with a change."""
        done = [self]
        for one in change.get("changes", [change]):
            done = [after for before in done for after in before._after(one)]
        return any(one.starts() for one in done)

    def _after(self, change: Change) -> Iterator["Trial"]:
        """The objects after a change; several where it leaves open on which node."""
        places = (
            [None, *(self.kind("Node"))] if change["change"] in ANYWHERE else [None]
        )
        for place in places:
            after = Trial(self.objects, self._now_ms, self._subject)
            where = place["metadata"]["name"] if place else ""
            APPLY[change["change"]](after, {**change, "where": where})
            yield after

    def kind(self, kind: str) -> list[Manifest]:
        return self.objects.setdefault(kind, [])

    def starts(self) -> bool:
        """Makers make what is let in; then each pod must find a node, all of a gang."""
        self.make_pods()
        unit = self._unit()
        if unit is None or not (unit.waiting or unit.missing):
            return True
        needed = 1
        if unit.gang_size is not None:
            needed = max(0, unit.gang_size - len(unit.bound))
        return all(self._bind_one() for _ in range(min(needed, MOST_PODS)))

    def _unit(self) -> WorkUnit | None:
        index = Explainer(read_world(self.objects, self._now_ms)).index
        return index.unit_named.get(self._subject)

    def _bind_one(self) -> bool:
        """One waiting pod of the unit goes to the first node that could take it alone."""
        unit = self._unit()
        for waiting in unit.waiting if unit else ():
            pod = next(p for p in self.kind("Pod") if path_of(p) == waiting.path)
            if pod["spec"].get("schedulingGates"):
                continue
            pod["status"] = deepcopy(_WAITS)
            for preempts in (False, True):
                for node in self.kind("Node"):
                    lower = self._lower(node, pod) if preempts else []
                    if self._fits(node, waiting.path, lower):
                        self.end(lower)
                        pod["spec"]["nodeName"] = node["metadata"]["name"]
                        pod["status"] = {"phase": "Running"}
                        return True
        return False

    def settle(self) -> str:
        """What controllers and the scheduler do; returns why a pod could not be made, if so."""
        refusal = self.make_pods()
        while self._unit() is not None and self._bind_one():
            refusal = self.make_pods()
        return refusal

    def _lower(self, node: Manifest, pod: Manifest) -> list[str]:
        """Pods on a node that the scheduler would end for a pod."""
        if pod["spec"].get("preemptionPolicy") == "Never":
            return []
        return [
            path_of(other)
            for other in self.kind("Pod")
            if other["spec"].get("nodeName") == node["metadata"]["name"]
            and other["spec"].get("priority", 0) < pod["spec"].get("priority", 0)
        ]

    def _fits(self, node: Manifest, path: str, without: list[str]) -> bool:
        """Whether nothing keeps a pod off a node: it may not go to any other one."""
        others = [
            other if other is node else _closed(other) for other in self.kind("Node")
        ]
        pods = [pod for pod in self.kind("Pod") if path_of(pod) not in without]
        world = {**self.objects, "Node": others, "Pod": pods}
        explainer = Explainer(read_world(world, self._now_ms))
        unit = explainer.index.unit_named[self._subject]
        (pod,) = (one for one in unit.waiting if one.path == path)
        found = explainer.findings.of_pod(unit, pod)
        return found.cause is WaitCause.RETRY_PENDING

    def make_pods(self) -> str:
        """Controllers of the namespace make their pods; returns why one could not, if so."""
        refusal = ""
        for kind in MAKERS:
            for maker in self.kind(kind):
                if maker["metadata"]["namespace"] != self.namespace:
                    continue
                while self._misses(kind, maker):
                    refusal = self._refusal(maker)
                    if refusal:
                        break
                    self._made += 1
                    self.kind("Pod").append(_made(maker, kind, self._made))
                    self._count(self.kind("Pod")[-1], 1)
        return refusal

    def _misses(self, kind: str, maker: Manifest) -> bool:
        spec, name = maker["spec"], maker["metadata"]["name"]
        if spec.get("suspend"):
            return False
        wanted = spec.get("replicas", 1)
        if kind == "Job":
            wanted = min(spec.get("parallelism", 1), spec.get("completions", 1))
        held = [
            pod
            for pod in self.kind("Pod")
            if pod["metadata"]["namespace"] == maker["metadata"]["namespace"]
            and any(o["name"] == name for o in owners_of(pod))
        ]
        return len(held) < int(wanted)

    def _refusal(self, maker: Manifest) -> str:
        """What the API server answers the maker of a pod; empty if it lets it in."""
        spec = self._with_defaults(maker["spec"]["template"]["spec"])
        named = spec.get("priorityClassName")
        classes = {c["metadata"]["name"] for c in self.kind("PriorityClass")}
        if named and classes and named not in classes:
            return f"no PriorityClass with name {named} was found"
        for item in self._limits():
            if said := broken_limit(spec, item):
                return said
        for quota in self._quotas(spec):
            hard = quota["spec"]["hard"]
            used = quota.get("status", {}).get("used", {})
            name = quota["metadata"]["name"]
            for key, most in hard.items():
                if must_set(spec, key):
                    return f"failed quota: {name}: must specify {key} for: main"
                held = amount(str(used.get(key, "0")))
                own = counted_of(spec, key)
                if own and held + own > amount(str(most)):
                    return (
                        f"exceeded quota: {name}, requested: {key}={written(own)}, "
                        f"used: {key}={written(held)}, limited: {key}={most}"
                    )
        return ""

    def _limits(self) -> list[Manifest]:
        return [
            item
            for one in self.kind("LimitRange")
            if one["metadata"]["namespace"] == self.namespace
            for item in one["spec"]["limits"]
        ]

    def _with_defaults(self, spec: Manifest) -> Manifest:
        found = deepcopy(spec)
        for item in self._limits():
            for one in found["containers"] if item["type"] == "Container" else ():
                own = one.setdefault("resources", {})
                limits = {**item.get("default", {}), **own.get("limits", {})}
                requests = {**item.get("defaultRequest", {}), **own.get("limits", {})}
                own["requests"] = requests | own.get("requests", {})
                own["limits"] = limits
        return found

    def _quotas(self, spec: Manifest) -> list[Manifest]:
        return [
            one
            for one in self.kind("ResourceQuota")
            if one["metadata"]["namespace"] == self.namespace and in_scope(one, spec)
        ]

    def _count(self, pod: Manifest, sign: int) -> None:
        """A pod is counted by the quotas of its namespace, or not any more."""
        for quota in self.kind("ResourceQuota"):
            if quota["metadata"]["namespace"] == pod["metadata"]["namespace"]:
                used = quota.setdefault("status", {}).setdefault("used", {})
                for key in quota["spec"]["hard"]:
                    if in_scope(quota, pod["spec"]):
                        held = amount(str(used.get(key, "0")))
                        used[key] = written(
                            max(Fraction(0), held + sign * counted_of(pod["spec"], key))
                        )

    def end(self, paths: list[str]) -> None:
        """Pods are gone."""
        gone = [pod for pod in self.kind("Pod") if path_of(pod) in paths]
        assert len(gone) == len(set(paths)), f"not there: {paths}"
        for pod in gone:
            self.kind("Pod").remove(pod)
            self._count(pod, -1)

    def own_specs(self) -> Iterator[Manifest]:
        """The specs of its waiting pods and of all templates of its name."""
        for pod in self.kind("Pod"):
            if self.is_own(pod) and not pod["spec"].get("nodeName"):
                yield pod["spec"]
        for kind in (*MAKERS, "Deployment"):
            for one in self.kind(kind):
                if self.is_own(one):
                    yield one["spec"]["template"]["spec"]

    def is_own(self, one: Manifest) -> bool:
        meta = one["metadata"]
        return meta["namespace"] == self.namespace and (
            meta["name"].startswith(self._name)
            or any(o["name"].startswith(self._name) for o in owners_of(one))
        )


def _closed(node: Manifest) -> Manifest:
    """The same node, on which the pod has no place by its taints."""
    taint = {"key": "closed", "value": "yes", "effect": "NoSchedule"}
    spec = node.get("spec", {})
    return node | {"spec": spec | {"taints": [*spec.get("taints", []), taint]}}


def _made(maker: Manifest, kind: str, number: int) -> Manifest:
    template = maker["spec"]["template"]
    meta = maker["metadata"]
    owner = {"kind": kind, "name": meta["name"], "uid": meta.get("uid", "")}
    name = f"{meta['name']}-made-{number}"
    return {
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "uid": name,
            "labels": template.get("metadata", {}).get("labels", {}),
            "ownerReferences": [owner | {"controller": True}],
        },
        "spec": deepcopy(template["spec"]),
        "status": deepcopy(_WAITS),
    }


_WAITS = {
    "phase": "Pending",
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "message": "0/1 nodes are available: it was tried",
        }
    ],
}
