"""What kube-state shows of a small fleet: pods, nodes, scrapes (rules.md N4, N9, N11)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tests.oracle.samples import HOSTS, SECOND, WINDOW, Sample, Scraper, window_of
from tests.oracle.setup import Setup
from tests.oracle.steps import lower_median, median_gap, union, validity
from tests.oracle.units import RESOURCES, Said, gpus_of

Seen = Mapping[int, set[Scraper]]  # when an object was shown, and by whom
UNKNOWN_STEP = 30 * SECOND
REQUESTS = "container_resource_requests"
NAMING = {"kube_pod_info", f"kube_pod_{REQUESTS}", f"kube_pod_init_{REQUESTS}"}
REFUSALS = {"UnexpectedAdmissionError", "NodeAffinity"}
BINDS = {"kube_pod_status_phase", "kube_pod_status_scheduled_time"}


@dataclass
class Pod:
    """One pod uid as kube-state showed it."""

    uid: str
    namespace: str = ""
    name: str = ""
    node: str = ""
    created: int | None = None
    scheduled: int | None = None
    on_node: int | None = None  # first sample that shows a node
    terminal: tuple[int, str] | None = None  # first sample that says so, phase
    completion: tuple[int, int] | None = None  # sample time, value
    main: dict[tuple[str, str], int] = field(default_factory=dict)
    init: dict[tuple[str, str], int] = field(default_factory=dict)
    sidecars: set[str] = field(default_factory=set)
    seen: dict[int, set[Scraper]] = field(default_factory=lambda: defaultdict(set))
    nodes: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    has_node: int | None = None  # first sample of a phase after Pending
    has_run: bool = False  # shown as Running, or with an address
    reason: str = ""  # why it failed
    named: set[int] = field(default_factory=set)  # by GPU samples, before it failed

    @property
    def start(self) -> int:
        """When it was bound (N10); of a pod that has a node."""
        start = self.scheduled if self.scheduled is not None else self.on_node
        assert start is not None
        return start

    @property
    def is_refused(self) -> bool:
        """True if the kubelet refused it (N11): by its reason, or as it failed at once."""
        is_failed = self.terminal is not None and self.terminal[1] == "Failed"
        if not is_failed or self.has_run or self.completion:
            return False
        assert self.terminal is not None
        is_at_once = self.terminal[0] - self.start <= WINDOW
        return self.reason in REFUSALS or (is_at_once and len(self.named) < 2)

    @property
    def units(self) -> dict[str, int]:
        """The effective request by resource: sidecars + max(sum of main, largest init)."""
        found = {}
        for resource in sorted({r for _, r in self.main} | {r for _, r in self.init}):
            main = sum(n for (_, r), n in self.main.items() if r == resource)
            init = {c: n for (c, r), n in self.init.items() if r == resource}
            beside = sum(n for name, n in init.items() if name in self.sidecars)
            before = [n for name, n in init.items() if name not in self.sidecars]
            found[resource] = beside + max([main, *before])
        return {resource: units for resource, units in found.items() if units}


class KubeState:
    """All kube-state samples, sorted into pods, nodes and scrapes."""

    def __init__(self, kept: Iterable[Sample], setup: Setup) -> None:
        """Sort the samples, which come in order of time."""
        self.interval = setup.interval
        self.scrapes: dict[Scraper, set[int]] = defaultdict(set)
        self.pods: dict[str, Pod] = {}
        self.objects: dict[str, dict[int, set[Scraper]]] = {}
        self.capacity: dict[str, dict[int, dict[str, int]]] = defaultdict(dict)
        self.usable: dict[str, dict[int, dict[str, int]]] = defaultdict(dict)
        self.labels: dict[str, dict[int, dict[str, str]]] = defaultdict(dict)
        self.divided: dict[str, dict[int, str]] = defaultdict(dict)  # by exporters
        samples = list(kept)
        for sample in samples:
            if sample.name.startswith("kube_"):
                self._kube_sample(sample)
            elif sample.partition:
                self.divided[sample.host][sample.at] = sample.partition
        self._pods_nodes(samples)
        for name, every in self.usable.items():
            for at, usable in every.items():
                self._leave_out(self.capacity[name].get(at, {}), usable)
        self.kube_gap = cache(self._kube_gap)
        self.kube_step = cache(self._kube_step)
        self.said = cache(self._said)
        self.seen = self._seen()
        self.shown_on = {
            (node, pod.namespace, pod.name)
            for pod in self.pods.values()
            for node in pod.nodes
        }
        # of holds by namespace and name: time and uid
        self.binds: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
        for pod in self.pods.values():
            if pod.node and pod.units:
                self.binds[pod.namespace, pod.name].append((pod.start, pod.uid))

    def _kube_sample(self, sample: Sample) -> None:
        scraper, labels = sample.scraper, sample.labels
        self.scrapes[scraper].add(sample.at)
        if sample.name.startswith("kube_node_"):
            seen = self.objects.setdefault(labels["node"], defaultdict(set))
            seen[sample.at].add(scraper)
            if sample.name.endswith(("_capacity", "_allocatable")):
                is_all = sample.name.endswith("_capacity")
                found = self.capacity if is_all else self.usable
                at = found[labels["node"]].setdefault(sample.at, {})
                at[labels["resource"]] = int(sample.value)
            elif sample.name == "kube_node_labels":
                self.labels[labels["node"]][sample.at] = dict(labels)
        elif sample.name.startswith("kube_pod_"):
            pod = self.pods.setdefault(labels["uid"], Pod(labels["uid"]))
            pod.seen[sample.at].add(scraper)
            _show(pod, sample)

    def host(self, sample: Sample) -> str:
        """The node of an exporter's sample (N14): the first label that names one."""
        labels = [sample.labels[name] for name in HOSTS if sample.labels.get(name)]
        return next((name for name in labels if name in self.objects), sample.host)

    @staticmethod
    def _leave_out(capacity: dict[str, int], usable: Mapping[str, int]) -> None:
        """Drop what is left of an earlier partitioning ("Units")."""
        if any(usable.values()):
            for resource in [r for r in capacity if usable.get(r) == 0]:
                del capacity[resource]

    def _pods_nodes(self, samples: Iterable[Sample]) -> None:
        """Where each pod is (N10): not where Prometheus says that kube-state itself is."""
        samples = [s for s in samples if s.name.startswith(("kube_pod_", "up"))]
        telling = {s.scraper for s in samples if s.name in BINDS}
        added = {
            (s.scraper, s.labels["node"])
            for s in samples
            if s.scraper in telling and s.labels.get("node") and s.name not in NAMING
        }
        for s in samples:
            node = s.labels.get("node")
            if not node or s.name not in NAMING:
                continue
            pod = self.pods[s.labels["uid"]]
            known = [at for at in (pod.scheduled, pod.has_node) if at is not None]
            is_bound = any(s.at >= at for at in known)
            if (s.scraper, node) not in added or is_bound:
                pod.nodes[node].add(s.at)
        for pod in self.pods.values():
            if pod.nodes:
                pod.node = max(pod.nodes, key=lambda node: (max(pod.nodes[node]), node))
                pod.on_node = min(pod.nodes[pod.node])

    # --- what nodes say --------------------------------------------------------------

    def _said(self, node: str, at: int) -> Said:
        """What a node had last said of itself; before the first time, what it then said."""
        return Said(
            latest(self.capacity.get(node, {}), at) or {},
            latest(self.labels.get(node, {}), at) or {},
            latest(self.divided.get(node, {}), at) or "",
        )

    def gpu_counts(self, node: str) -> dict[int, int]:
        """GPUs that a node's capacity stands for, by sample time."""
        return {at: gpus_of(self.said(node, at)) for at in self.capacity.get(node, {})}

    # --- steps and silence -----------------------------------------------------------

    def _kube_gap(self, scraper: Scraper, window: int) -> int | None:
        return median_gap(sorted(self.scrapes[scraper]), window)

    def _kube_step(self, scraper: Scraper, at: int) -> int:
        """The step of a scrape of kube-state (N4, N9)."""
        if self.interval is not None:
            return min(self.interval * SECOND, WINDOW)
        window = window_of(at)
        own = self.kube_gap(scraper, window)
        if own is not None:
            return own
        others = [self.kube_gap(s, window) for s in self.scrapes if s != scraper]
        known = sorted(gap for gap in others if gap is not None)
        if known:
            return lower_median(known)
        return self._last_known_step(scraper.job, window)

    def _last_known_step(self, job: str, window: int) -> int:
        """That of the last earlier sample of a job which has one by itself.

        Of several scrapers that were sampled at that time, the lower median.
        """
        earlier = [
            (at, gap)
            for scraper, times in self.scrapes.items()
            if scraper.job == job
            for at in times
            if at < window
            and (gap := self.kube_gap(scraper, window_of(at))) is not None
        ]
        if not earlier:
            return UNKNOWN_STEP
        last = max(at for at, _ in earlier)
        return lower_median(sorted(gap for at, gap in earlier if at == last))

    def step_of_scrapers(self, scrapers: Iterable[Scraper], at: int) -> int:
        """One step after a kube-state sample: the longest of those who gave it (N9)."""
        return max(self.kube_step(scraper, at) for scraper in scrapers)

    def _seen(self) -> list[tuple[int, int]]:
        """Where kube-state is seen (N9): disjoint, ascending."""
        spans = []
        for scraper, found in self.scrapes.items():
            times = sorted(found)
            for at, following in zip(times, [*times[1:], None], strict=False):
                spans.append(
                    (at, at + validity(at, following, self.kube_step(scraper, at)))
                )
        return union(spans)

    def is_seen(self, at: int) -> bool:
        """True where kube-state is seen."""
        return any(start <= at < end for start, end in self.seen)

    def seen_again(self, at: int) -> int | None:
        """When kube-state is seen next, after a time at which it is not."""
        return min((start for start, _ in self.seen if start > at), default=None)

    def lacking(self, seen: Seen) -> Sequence[int]:
        """Times of the scrapes that could have shown an object (N11).

        Not those of a shard of other objects: a scraper that scraped between the object's
        first and last sample and never shows it.
        """
        first, last = min(seen), max(seen)
        by = set().union(*seen.values())
        found: set[int] = set()
        for scraper, times in self.scrapes.items():
            if scraper in by or not any(first <= at <= last for at in times):
                found |= times
        return sorted(found)

    @property
    def kube_ends(self) -> list[int]:
        """Where the data of each scraper end (N1)."""
        return [
            max(times) + self.kube_step(scraper, max(times))
            for scraper, times in self.scrapes.items()
        ]


def _show(pod: Pod, sample: Sample) -> None:
    """Fold one kube_pod_* sample into its pod."""
    labels, name = sample.labels, sample.name.removeprefix("kube_pod_")
    pod.namespace, pod.name = labels["namespace"], labels["pod"]
    if name == "created":
        pod.created = round(sample.value * SECOND)
    elif name == "status_scheduled_time":
        pod.scheduled = round(sample.value * SECOND)
    elif name == "completion_time":
        pod.completion = max(
            pod.completion or (0, 0), (sample.at, round(sample.value * SECOND))
        )
    elif name == "info":
        pod.has_run |= bool(labels.get("pod_ip"))
    elif name == "status_reason" and sample.value == 1:
        pod.reason = labels["reason"]
    elif name == "status_phase" and sample.value == 1:
        pod.has_run |= labels["phase"] == "Running"
        if labels["phase"] != "Pending":
            pod.has_node = min(pod.has_node or sample.at, sample.at)
        if labels["phase"] in {"Succeeded", "Failed"}:
            found = (sample.at, labels["phase"])
            pod.terminal = min(pod.terminal or found, found)
    elif name == "init_container_info" and labels.get("restart_policy") == "Always":
        pod.sidecars.add(labels["container"])
    elif labels.get("resource", "").startswith(RESOURCES):
        where = pod.init if name.startswith("init_") else pod.main
        where[labels["container"], labels["resource"]] = int(sample.value)


def latest(found: Mapping[int, Any], at: int) -> Any:
    """The latest value at a time, else the first of all; None where there is none."""
    if not found:
        return None
    before = [t for t in found if t <= at]
    return found[max(before)] if before else found[min(found)]
