"""A generated cluster where much waits, as JSON of the API server; always the same.

Nodes of four models in three zones; some are cordoned, tainted, lost or ill. Pods of many shapes
hold nearly all GPUs. What waits are bare pods, Jobs, Indexed Jobs (gangs, some of them partly
bound), Deployments and Jobs that a quota refuses; some name a model, a zone, a spread or pods to be
apart from.
"""

import json
import random
from collections.abc import Iterator
from typing import Any

GPU = "nvidia.com/gpu"
NOW_MS = 1_795_000_000_000
MODELS = (("H100", 0.4, 8), ("A100", 0.3, 8), ("L40S", 0.2, 4), ("T4", 0.1, 4))
TAINT = {"key": "dedicated", "value": "llm", "effect": "NoSchedule"}
LOST = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
NAMESPACES = 200
KINDS = ("Pod", "Job", "Gang", "Deployment", "Refused")
CLASSES = (("low", 10), ("normal", 100), ("high", 1000), ("urgent", 50_000))

Objects = dict[str, list[bytes]]
Manifest = dict[str, Any]


def waiting_cluster(nodes: int, waiting: int, seed: int = 14) -> Objects:
    """The objects by kind.

    Args:
        nodes: of the cluster.
        waiting: pods that are on no node.
    """
    draws = random.Random(seed)  # noqa: S311  # seeded: always the same cluster
    made = _Cluster(draws)
    made.add_nodes(nodes)
    while made.waiting < waiting:
        made.add_work(waiting - made.waiting)
    return {
        kind: [json.dumps(one, separators=(",", ":")).encode() for one in found]
        for kind, found in made.objects.items()
    }


class _Cluster:
    def __init__(self, draws: random.Random) -> None:
        self._draws = draws
        self.waiting = 0
        self._works = 0
        self._free: list[tuple[str, int]] = []  # by node
        self._pods = 0
        self._namespaces = [f"team-{number}" for number in range(NAMESPACES)]
        self.objects: dict[str, list[Manifest]] = {
            "Node": [],
            "Pod": [],
            "Job": [],
            "Deployment": [],
            "ReplicaSet": [],
            "Event": [],
            "Namespace": [_named(one) for one in self._namespaces],
            "PriorityClass": [
                {"metadata": {"name": name}, "value": value} for name, value in CLASSES
            ],
            "ResourceQuota": [
                {
                    "metadata": {"name": "gpu", "namespace": one},
                    "spec": {"hard": {f"requests.{GPU}": "64"}},
                    "status": {"used": {f"requests.{GPU}": "63"}},
                }
                for one in self._namespaces
            ],
        }

    def add_nodes(self, count: int) -> None:
        """Nodes, and pods on them that hold all GPUs but a few."""
        draws, number = self._draws, 0
        for model, share, gpus in MODELS:
            for _ in range(round(share * count)):
                name = f"node-{number:05d}"
                number += 1
                self.objects["Node"].append(self._node(name, model, gpus))
                free = draws.choice((0, 0, 0, 0, 1, 2))
                self._free += [(name, free)] if free else []
                left = gpus - free
                while left > 0:
                    taken = draws.choice([n for n in (1, 1, 2, 4, 8) if n <= left])
                    left -= taken
                    spec = self._spec(taken) | {"nodeName": name}
                    self._add_pod(f"run-{self._pods}", spec, "Job", f"j{self._pods}")
                for cpu in ("500m", "93"):  # no CPU is left either
                    spec = self._spec(0, cpu) | {"nodeName": name}
                    self._add_pod(f"ds-{self._pods}", spec, "DaemonSet", "agent")

    def add_work(self, most: int) -> None:
        """One unit of work that waits."""
        draws = self._draws
        self._works += 1
        name, gpus = f"w{self._works}", draws.choice((1, 1, 1, 2, 2, 4, 8, 8, 16))
        spec = self._spec(gpus) | self._rules(name)
        kind = draws.choices(KINDS, (3, 3, 2, 1, 1))[0]
        if kind == "Pod":
            self._waits(name, spec)
        elif kind == "Job":
            self._job(name, spec, 1)
            self._waits(f"{name}-0", spec, "Job", name)
        elif kind == "Refused":
            self._job(name, spec, 2)
            self._waits(f"{name}-0", spec, "Job", name)
            self._refused(name, gpus)
        elif kind == "Gang":
            size = min(most, draws.choice((4, 8, 16)))
            self._job(name, spec, size, completionMode="Indexed")
            bound = self._place(gpus) if draws.random() < 0.3 else []
            for index, node in enumerate(bound[: size - 1]):
                self._add_pod(
                    f"{name}-b{index}", spec | {"nodeName": node}, "Job", name
                )
            for index in range(size - len(bound[: size - 1])):
                self._waits(f"{name}-{index}", spec, "Job", name)
        else:
            count = min(most, draws.choice((2, 3)))
            self._deployment(name, spec, count)
            for index in range(count):
                self._waits(f"{name}-{index}", spec, "ReplicaSet", f"{name}-rs")

    def _place(self, gpus: int) -> list[str]:
        """Up to two nodes with free GPUs, which are no longer free."""
        found = [one for one in self._free[-40:] if one[1] >= gpus][:2]
        self._free = [one for one in self._free if one not in found]
        return [name for name, _ in found]

    def _rules(self, name: str) -> Manifest:
        draws = self._draws
        chosen = draws.random()
        if chosen < 0.3:
            return {"nodeSelector": {"gpu.product": draws.choice(MODELS)[0]}}
        if chosen < 0.4:
            return {"nodeSelector": {"zone": draws.choice("abcd")}}
        if chosen < 0.45:
            return {"tolerations": [{"operator": "Exists"}]}
        if chosen < 0.47:
            rule = {
                "topologyKey": "zone",
                "maxSkew": 1,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": name}},
            }
            return {"topologySpreadConstraints": [rule]}
        if chosen < 0.49:
            term = {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {"app": name}},
            }
            key = "requiredDuringSchedulingIgnoredDuringExecution"
            return {"affinity": {"podAntiAffinity": {key: [term]}}}
        return {}

    def _node(self, name: str, model: str, gpus: int) -> Manifest:
        draws = self._draws
        offered = {"cpu": "96", "memory": "768Gi", "pods": "110", GPU: str(gpus)}
        is_ill = draws.random() < 0.01
        taints = [TAINT] if draws.random() < 0.1 else []
        taints += [LOST] if draws.random() < 0.005 else []
        labels = {"kubernetes.io/hostname": name, "zone": draws.choice("abc")}
        return {
            "metadata": {"name": name, "labels": labels | {"gpu.product": model}},
            "spec": {"taints": taints, "unschedulable": draws.random() < 0.01},
            "status": {
                "allocatable": offered | ({GPU: "0"} if is_ill else {}),
                "capacity": offered,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }

    def _spec(self, gpus: int, cpu: str = "") -> Manifest:
        draws = self._draws
        requests = {"cpu": cpu or str(draws.choice((2, 4, 8, 12, 16, 24)))}
        requests["memory"] = f"{draws.choice((8, 16, 32, 64))}Gi"
        if gpus:
            requests[GPU] = str(gpus)
        named, value = draws.choice(CLASSES)
        return {
            "containers": [{"name": "main", "resources": {"requests": requests}}],
            "schedulerName": "default-scheduler",
            "priorityClassName": named,
            "priority": value,
        }

    def _waits(
        self, name: str, spec: Manifest, kind: str = "", owner: str = ""
    ) -> None:
        self.waiting += 1
        self._add_pod(name, spec, kind, owner)

    def _add_pod(self, name: str, spec: Manifest, kind: str, owner: str) -> None:
        self._pods += 1
        on = spec.get("nodeName", "")
        said = {
            "type": "PodScheduled",
            "status": "True" if on else "False",
            "reason": "" if on else "Unschedulable",
            "message": "" if on else f"0/5000 nodes are available: {name}",
            "lastTransitionTime": "2026-11-22T06:00:00Z",
        }
        owners = [
            {"kind": kind, "name": owner, "uid": f"u-{owner}", "controller": True}
        ]
        self.objects["Pod"].append(
            {
                "metadata": {
                    "name": name,
                    "namespace": self._namespace(owner or name),
                    "uid": f"uid-{self._pods:07d}",
                    "creationTimestamp": "2026-11-22T06:00:00Z",
                    "labels": {"app": owner.removesuffix("-rs") or name},
                    "ownerReferences": owners if owner else [],
                },
                "spec": spec,
                "status": {
                    "phase": "Running" if on else "Pending",
                    "conditions": [said],
                },
            }
        )

    def _namespace(self, name: str) -> str:
        digits = "".join(one for one in name.split("-", maxsplit=1)[0] if one.isdigit())
        return self._namespaces[int(digits or 0) % NAMESPACES]

    def _meta(self, name: str) -> Manifest:
        return {"name": name, "namespace": self._namespace(name), "uid": f"u-{name}"}

    def _job(self, name: str, spec: Manifest, count: int, **more: Any) -> None:
        self.objects["Job"].append(
            {
                "metadata": self._meta(name),
                "spec": {
                    "parallelism": count,
                    "completions": count,
                    "template": {"spec": spec},
                    **more,
                },
                "status": {},
            }
        )

    def _deployment(self, name: str, spec: Manifest, count: int) -> None:
        template = {"replicas": count, "template": {"spec": spec}}
        self.objects["Deployment"].append(
            {"metadata": self._meta(name), "spec": template}
        )
        owner = {"kind": "Deployment", "name": name, "uid": f"u-{name}"}
        meta = self._meta(f"{name}-rs") | {
            "ownerReferences": [owner | {"controller": True}]
        }
        self.objects["ReplicaSet"].append({"metadata": meta, "spec": template})

    def _refused(self, name: str, gpus: int) -> None:
        key = f"requests.{GPU}"
        self.objects["Event"].append(
            {
                "reason": "FailedCreate",
                "message": f'Error creating: pods "{name}-x" is forbidden: exceeded quota: gpu, '
                f"requested: {key}={gpus}, used: {key}=63, limited: {key}=64",
                "lastTimestamp": "2026-11-22T06:00:00Z",
                "involvedObject": {"kind": "Job", **self._meta(name)},
            }
        )


def _named(name: str) -> Manifest:
    return {"metadata": {"name": name}}


def decoded(objects: Objects) -> dict[str, Iterator[Manifest]]:
    """Manifests one by one, as they are read of a cluster."""
    return {kind: map(json.loads, found) for kind, found in objects.items()}
