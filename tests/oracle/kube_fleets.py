"""What kube-state-metrics shows of a random small fleet, by shard, replica and job."""

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.oracle.plans import START, Plan, PodPlan
from tests.oracle.samples import SECOND, Sample
from tests.oracle.shapes import WHOLE_GPUS

JOB = "kube-state-metrics"
KEPT = 90  # seconds that a finished object stays
EVIL = 4  # units of a pod that only another kube-state shows
Labels = Mapping[str, str]


@dataclass
class KubeScraper:
    """Scrapes of all kube-state there is.

    Attributes:
        plan: the fleet.
        times: of the scrapes of one target, by its step and number.
        gpus: how many a node has at a time.
    """

    plan: Plan
    times: Callable[[int, int], Iterator[float]]
    gpus: Callable[[int, float], int]

    def samples(self) -> Iterator[Sample]:
        """What every target shows, with the node that Prometheus adds to it."""
        target = self._target()
        for sample in self._shown():
            is_node = sample.name.startswith("kube_node_")
            if target and not is_node and not sample.labels.get("node"):
                labels = {**sample.labels, "node": target}
                yield Sample(sample.name, labels, sample.at, sample.value)
            else:
                yield sample

    def _target(self) -> str:
        """In some fleets, where kube-state runs: on a node of their GPUs or elsewhere."""
        number = zlib.crc32(f"{self.plan.seed} target".encode())
        return ("c0", "n0", "", "", "", "")[number % 6]

    def _shown(self) -> Iterator[Sample]:
        kube = self.plan.kube
        for shard in range(kube.shards):
            for replica in range(kube.replicas):
                for at in self.times(kube.step, kube.replicas * shard + replica):
                    if not self._is_silent(shard, at):
                        base = self._base(shard, replica, at)
                        yield from self._scrape(base, shard, at)
        if kube.foreign is None:
            return
        for at in self.times(kube.step, 7):
            if kube.foreign.span.has(at):
                yield from self._foreign(at)

    def _is_silent(self, shard: int, at: float) -> bool:
        kube = self.plan.kube
        if any(span.has(at) for span in kube.outages):
            return True
        if kube.quiet is not None and kube.quiet[0] % kube.shards == shard:
            return kube.quiet[1].has(at)
        return kube.restart is not None and kube.restart.has(at)

    def _base(self, shard: int, replica: int, at: float) -> Labels:
        kube, job = self.plan.kube, JOB
        if kube.has_jobs:
            job += f"-{shard}"
        if kube.renamed is not None and kube.renamed.has(at):
            job += "-new"
        is_new = kube.restart is not None and at >= kube.restart.end
        place = f"{2 if is_new else 1}.{shard}.{replica}"
        return {"job": job, "instance": f"10.{place}:8080"}

    def _is_of(self, shard: int, name: str) -> bool:
        """True for the shard that shows an object."""
        number = zlib.crc32(f"{self.plan.seed} {name}".encode())
        return number % self.plan.kube.shards == shard

    def _at(self, at: float) -> int:
        return round((START + self.plan.offset + at) * SECOND)

    def _scrape(self, base: Labels, shard: int, at: float) -> Iterator[Sample]:
        when = self._at(at)
        for i in range(len(self.plan.nodes)):
            if self._is_of(shard, f"n{i}"):
                yield from self._node(i, base, at)
        if self._is_of(shard, "uid-proxy"):
            daemon = {"namespace": "kube-system", "pod": "proxy", "uid": "uid-proxy"}
            yield Sample("kube_pod_info", {**base, **daemon, "node": "c0"}, when, 1)
        for pod in self.plan.pods:
            if pod.is_listed and self._is_of(shard, pod.uid):
                yield from self._pod(pod, base, at)

    def _node(self, i: int, base: Labels, at: float) -> Iterator[Sample]:
        node, when = self.plan.nodes[i], self._at(at)
        if any(span and span.has(at) for span in (node.gone, node.missing)):
            return
        name = {**base, "node": f"n{i}"}
        yield Sample("kube_node_info", name, when, 1)
        gpus = self.gpus(i, at)
        for key, units in node.shape.capacity(gpus, at).items():
            resource = {"resource": key, "unit": "integer"}
            yield Sample("kube_node_status_capacity", name | resource, when, units)
            if self._is_left(i):
                usable = "kube_node_status_allocatable"
                yield Sample(usable, name | resource, when, units)
        if self._is_left(i):
            old = {"resource": "nvidia_com_mig_7g_80gb", "unit": "integer"}
            for what, units in (("capacity", gpus), ("allocatable", 0)):
                yield Sample(f"kube_node_status_{what}", name | old, when, units)
        said = node.shape.labels(gpus, at)
        said |= dict([node.lifecycle] if node.lifecycle else [])
        if said:
            yield Sample("kube_node_labels", name | said, when, 1)

    def _is_left(self, i: int) -> bool:
        """True for some nodes of whole GPUs that were partitioned once."""
        number = zlib.crc32(f"{self.plan.seed} n{i} left".encode())
        return self.plan.nodes[i].shape == WHOLE_GPUS and number % 3 == 0

    def _is_shown(self, pod: PodPlan, at: float) -> bool:
        """True while the pod's object is there."""
        node = self.plan.nodes[pod.node]
        is_over = pod.end is not None and at >= pod.end + KEPT
        is_away = pod.end is not None and at >= pod.end and pod.how == "gone"
        if at < pod.bound - pod.pending or is_over or is_away:
            return False
        if node.gone is None or pod.bound >= node.gone.end:
            return True
        if node.returns:
            return not node.gone.has(at)
        return at < node.gone.start  # its node took it along

    def _pod(self, pod: PodPlan, base: Labels, at: float) -> Iterator[Sample]:
        if not self._is_shown(pod, at):
            return
        when, is_bound = self._at(at), at >= pod.bound
        is_over = pod.end is not None and at >= pod.end
        key = {**base, "namespace": "team", "pod": pod.name, "uid": pod.uid}
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
        created = start + pod.bound - pod.pending
        yield Sample("kube_pod_created", key, when, created)
        if is_bound and pod.has_schedule:
            yield Sample("kube_pod_status_scheduled_time", key, when, start + pod.bound)
        for phase in ("Pending", "Running", "Succeeded", "Failed"):
            now = pod.how if is_over else "Running" if is_bound else "Pending"
            phase_key = key | {"phase": phase}
            yield Sample("kube_pod_status_phase", phase_key, when, int(phase == now))
        if is_over and pod.units % 2 and pod.end is not None:
            yield Sample("kube_pod_completion_time", key, when, start + pod.end)

    # --- another kube-state ----------------------------------------------------------

    def _foreign(self, at: float) -> Iterator[Sample]:
        foreign = self.plan.kube.foreign
        assert foreign is not None
        base = {"instance": "10.9.0.0:8080"}
        base |= {"job": foreign.job} if foreign.job else {}
        is_stranger = foreign.shows == "strangers"
        evil = PodPlan(
            name="evil",
            uid="uid-evil",
            node=0,
            units=EVIL,
            bound=foreign.span.start,
            end=None,
            how="gone",
            labels="none",
            resource=self.plan.nodes[0].shape.resources[0],
        )
        yield from self._pod(evil, base, at)
        if foreign.shows == "nodes" or is_stranger:
            yield from (
                Sample(s.name, {**s.labels, "node": "n8"}, s.at, s.value)
                if is_stranger
                else s
                for s in self._node(0, base, at)
            )
        if not is_stranger:
            for pod in self.plan.pods:
                yield from self._pod(pod, base, at)
