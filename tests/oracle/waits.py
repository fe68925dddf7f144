"""Why pods wait, by a loop over nodes for every pod: S6, S7 and S12 from the manifests.

It knows what `bench/waiting_cluster.py` generates: node selectors, taints, cordons, lost and ill
nodes, amounts, spread over zones and pods to be apart from. Nothing is kept between two pods.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

GPU = "nvidia.com/gpu"
ORDER = (
    *("no_matching_node", "taint", "cordoned", "node_not_ready", "too_big"),
    *("gpu_unhealthy", "no_free_gpu", "fragmented", "cpu_memory", "pod_slots"),
    *("spread", "pod_anti_affinity"),
)
LOST = "node.kubernetes.io/unreachable"
SUFFIXES = {
    "m": Fraction(1, 1000),
    "Ki": Fraction(1024),
    "Mi": Fraction(1024**2),
    "Gi": Fraction(1024**3),
    "Ti": Fraction(1024**4),
}

Manifest = Mapping[str, Any]
Causes = tuple[str, frozenset[str]]  # the cause and those that contribute


def amount(text: str) -> Fraction:
    """A quantity as a number."""
    for suffix, factor in SUFFIXES.items():
        if text.endswith(suffix):
            return int(text.removesuffix(suffix)) * factor
    return Fraction(int(text))


def requests(pod: Manifest) -> dict[str, Fraction]:
    """Of the only container."""
    found = pod["spec"]["containers"][0]["resources"]["requests"]
    return {name: amount(text) for name, text in found.items()}


class PlainLoop:
    """The nodes with their pods; every question goes through all of them."""

    def __init__(self, nodes: Sequence[Manifest], pods: Sequence[Manifest]) -> None:
        self.nodes = sorted(nodes, key=lambda node: node["metadata"]["name"])
        self.on: dict[str, list[Manifest]] = defaultdict(list)
        for pod in pods:
            if "nodeName" in pod["spec"]:
                self.on[pod["spec"]["nodeName"]].append(pod)

    def causes(self, pod: Manifest) -> Causes:
        """The cause of a pod and the causes that contribute."""
        sets = self._sets(pod)
        firsts = [min(found, key=ORDER.index) for _, found in sets if found]
        if len(firsts) < len(sets):
            return "retry_pending", frozenset(firsts)
        cause = max(firsts, key=ORDER.index)
        return cause, frozenset(firsts) - {cause}

    def blockers(self, pod: Manifest) -> tuple[int, list[str]]:
        """How many sets of pods there are of which the end is enough, and the best one."""
        found = []
        for node, causes in self._sets(pod):
            if causes in ({"no_free_gpu"}, {"fragmented"}, {"cpu_memory"}):
                pods = self._enough(node, pod)
                if pods:
                    place = node["metadata"]["name"]
                    gpus = sum(
                        requests(other).get(GPU, Fraction(0))
                        for other in self.on[place]
                        if _path(other) in pods
                    )
                    found.append((len(pods), gpus, place, pods))
        return len(found), min(found)[3] if found else []

    def _sets(self, pod: Manifest) -> list[tuple[Manifest, set[str]]]:
        need = requests(pod)[GPU]
        sets = [(node, self._of(node, pod)) for node in self.nodes]
        short = [
            node
            for node, found in sets
            if found and min(found, key=ORDER.index) == "no_free_gpu"
        ]
        free: list[Fraction] = [self._free(node)[GPU] for node in short]
        if sum(one for one in free if one > 0) >= need:
            for node, found in sets:
                if node in short:
                    found.remove("no_free_gpu")
                    found.add("fragmented")
        return sets

    def _free(self, node: Manifest) -> dict[str, Fraction]:
        offered = node["status"]["allocatable"]
        free = {name: amount(text) for name, text in offered.items()}
        for other in self.on[node["metadata"]["name"]]:
            free["pods"] -= 1
            for name, held in requests(other).items():
                free[name] -= held
        return free

    def _of(self, node: Manifest, pod: Manifest) -> set[str]:
        spec, found = pod["spec"], set[str]()
        labels = node["metadata"]["labels"]
        wanted = spec.get("nodeSelector", {})
        if any(labels.get(key) != value for key, value in wanted.items()):
            found.add("no_matching_node")
        if "tolerations" not in spec:  # those of the generated cluster tolerate all
            keys = {taint["key"] for taint in node["spec"]["taints"]}
            found |= {"node_not_ready"} if LOST in keys else set()
            found |= {"taint"} if keys - {LOST} else set()
            found |= {"cordoned"} if node["spec"]["unschedulable"] else set()
        free, status = self._free(node), node["status"]
        for name, need in requests(pod).items():
            if name == GPU and need > free[GPU]:
                found |= _gpu_causes(need, free[GPU], status)
            elif need > free[name]:
                found.add("cpu_memory")
        if free["pods"] < 1:
            found.add("pod_slots")
        found |= {"spread"} if self._skews(node, pod) else set()
        found |= {"pod_anti_affinity"} if self._is_near(node, pod) else set()
        return found

    def _like(self, node: Manifest, namespace: str, wanted: Manifest) -> int:
        return sum(
            other["metadata"]["namespace"] == namespace
            and wanted.items() <= other["metadata"]["labels"].items()
            for other in self.on[node["metadata"]["name"]]
        )

    def _skews(self, node: Manifest, pod: Manifest) -> bool:
        for rule in pod["spec"].get("topologySpreadConstraints", ()):
            counts: Counter[str] = Counter()
            wanted = rule["labelSelector"]["matchLabels"]
            for other in self.nodes:
                zone = other["metadata"]["labels"]["zone"]
                counts[zone] += self._like(other, pod["metadata"]["namespace"], wanted)
            own = wanted.items() <= pod["metadata"]["labels"].items()
            here = counts[node["metadata"]["labels"]["zone"]]
            if here + own - min(counts.values()) > rule["maxSkew"]:
                return True
        return False

    def _is_near(self, node: Manifest, pod: Manifest) -> bool:
        key = "requiredDuringSchedulingIgnoredDuringExecution"
        terms = pod["spec"].get("affinity", {}).get("podAntiAffinity", {}).get(key, ())
        return any(
            self._like(
                node, pod["metadata"]["namespace"], term["labelSelector"]["matchLabels"]
            )
            for term in terms
        )

    def _enough(self, node: Manifest, pod: Manifest) -> list[str]:
        """Largest first until the request fits, then without those that are not needed."""
        free = self._free(node)
        lack = {n: v - free[n] for n, v in requests(pod).items() if v > free[n]}

        def held(other: Manifest) -> Fraction:
            return sum((requests(other).get(n, Fraction(0)) for n in lack), Fraction(0))

        holders = [
            other
            for other in self.on[node["metadata"]["name"]]
            if held(other)
            and all(
                o["kind"] != "DaemonSet" for o in other["metadata"]["ownerReferences"]
            )
        ]
        holders.sort(
            key=lambda o: (held(o), -o["spec"]["priority"], o["metadata"]["uid"]),
            reverse=True,
        )
        taken: list[Manifest] = []
        for other in holders:
            if not _covers(taken, lack):
                taken.append(other)
        if not _covers(taken, lack):
            return []
        for other in list(taken):
            rest = [one for one in taken if one is not other]
            if _covers(rest, lack):
                taken = rest
        return [_path(other) for other in taken]


def _path(pod: Manifest) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _gpu_causes(need: Fraction, free: Fraction, status: Manifest) -> set[str]:
    offered, capacity = (
        amount(status["allocatable"][GPU]),
        amount(status["capacity"][GPU]),
    )
    if need <= offered:
        return {"no_free_gpu"}
    if need > capacity:
        return {"too_big"}
    is_held = need > capacity - (offered - free)
    return {"gpu_unhealthy"} | ({"no_free_gpu"} if is_held else set())


def _covers(pods: Sequence[Manifest], lack: Mapping[str, Fraction]) -> bool:
    return all(
        sum(requests(pod).get(name, Fraction(0)) for pod in pods) >= need
        for name, need in lack.items()
    )
