"""The evidence: what all samples so far showed of pods, nodes, GPUs and scrapers.

Every record is a merge (union, minimum, maximum, latest) of samples, so that reading the
same data again, in pieces or in another order gives the same inventory. Holds and presence
are derived from it, never stored in it. All times are milliseconds.

`metering.tasks.pipeline` loads the part of a cluster's inventory that a period needs, merges new
series into it (`merge_samples.observe`) and saves the changes; `mapping` turns records into rows.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accounting.core.interval import FAR_MS, Interval
from accounting.metering.rules.samples.series import PodName, ScraperIdentity, Times
from accounting.metering.rules.samples.shown_scales import ShownScale
from accounting.metering.rules.samples.validity import far_apart
from accounting.metering.rules.units.resources import sanitised
from accounting.metering.rules.units.share_policy import Policies

EVER = Interval(0, FAR_MS)
Toleration = tuple[str, str, str, str]  # key, operator, value, effect
ContainerKey = tuple[
    str, str, str
]  # ("main" | "init", container, resource as sanitised)


@dataclass(slots=True)
class PodRecord:
    """What kube-state showed of one pod uid."""

    uid: str
    namespace: str
    name: str
    first_ms: int  # first and last sample of any of its series
    last_ms: int
    scrapers: set[ScraperIdentity] = field(default_factory=set)
    node: str = ""
    node_first_ms: int | None = None  # first and last sample that show this node
    node_last_ms: int | None = None
    created_ms: int | None = None
    scheduled_ms: int | None = None
    terminal_phase: str = ""  # Succeeded or Failed
    terminal_first_ms: int | None = None  # first sample of that phase
    failed_reason: str = ""  # why it failed; empty where kube-state has no word for it
    has_run: bool = (
        False  # it was shown as Running or with an address: it had a sandbox
    )
    was_named: bool = False  # it failed, and samples of GPUs named it before
    completion_ms: int | None = None  # value of its last sample
    completion_at_ms: int | None = None  # when that sample was taken
    requests: dict[ContainerKey, int] = field(default_factory=dict)
    sidecars: set[str] = field(default_factory=set)  # restartable init containers
    owner_kind: str = ""  # the controller, as kube_pod_owner shows it
    owner_name: str = ""
    priority_class: str = ""
    labels: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    claims: set[str] = field(default_factory=set)  # names of its resource claims
    annotations: dict[str, str] = field(default_factory=dict)  # of fractions of GPUs
    unschedulable_ms: int | None = None  # last sample that shows that no node was found
    tolerations: set[Toleration] = field(default_factory=set)


@dataclass(frozen=True, slots=True, order=True)
class Device:
    """A device that was allocated to a claim; `instance` and `profile` if it is a part.

    `pod`: the pod that used it, by uid or else by name; empty if not known. A claim outlives its
    pods, and can be allocated another device for the next one.
    """

    driver: str
    node: str
    name: str
    uuid: str = ""
    instance: int = -1
    profile: str = ""
    pod: str = ""


@dataclass(slots=True)
class ClaimRecord:
    """One resource claim (rules.md N13).

    Attributes:
        devices: from the API if it was read, else from an exporter's labels.
        pods: uids for which it is reserved, from the API.
        is_observed: the API showed it.
        is_extended: the scheduler created it for an extended resource (trap T21).
        is_shown: kube-state shows that a pod has it.
    """

    namespace: str
    name: str
    devices: set[Device] = field(default_factory=set)
    pods: set[str] = field(default_factory=set)
    is_observed: bool = False
    is_extended: bool = False
    is_shown: bool = False


@dataclass(slots=True)
class SampleSpan:
    """Samples from `first_ms` to `last_ms` without a gap of more than 1.5 steps."""

    first_ms: int
    last_ms: int
    step_ms: int  # step at the last sample


class SampledPartition(NamedTuple):
    """How a node's AMD GPUs are partitioned, by samples (`inventory.amd_partitions`).

    Attributes:
        from_ms: the first sample that shows it.
        kind: `qpx`; empty while they are whole.
        model: of one of these GPUs.
        step_ms: of that sample.
    """

    from_ms: int
    kind: str
    model: str
    step_ms: int


@dataclass(slots=True)
class NodeRecord:
    """What kube-state showed of one node name; `partitions` belongs to its GPUs.

    Attributes:
        spans: of all scrapers together.
        scrapers: those that ever showed it.
        provider_ids: the provider's ids of its machine, with the first and the last sample that
            this merge saw of each, in milliseconds.
        is_divided: a pod on it requested a part of each of its GPUs, as HAMi offers them.
        cards: of a node of HAMi, the most UUIDs that were sampled at one time; else 0.
    """

    name: str
    spans: list[SampleSpan] = field(default_factory=list)
    capacity: list[tuple[int, dict[str, int]]] = field(default_factory=list)
    labels: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    partitions: list[SampledPartition] = field(default_factory=list)
    scrapers: set[ScraperIdentity] = field(default_factory=set)
    provider_ids: dict[str, tuple[int, int]] = field(default_factory=dict)
    is_divided: bool = False
    cards: int = 0


class ScrapeLocation(NamedTuple):
    """The source of a GPU's samples."""

    node: str
    scraper: ScraperIdentity


@dataclass(slots=True)
class GpuRecord:
    """When and where one UUID was sampled, and by which scrapers."""

    uuid: str
    model: str = ""
    spans: dict[ScrapeLocation, list[SampleSpan]] = field(default_factory=dict)
    geometry: list[tuple[int, tuple[tuple[int, str], ...]]] = field(
        default_factory=list
    )  # since when, and its instances as (number, profile); none while it is undivided

    def nodes(self) -> dict[str, list[SampleSpan]]:
        """Spans of all scrapers together, by node: proof of presence (N14)."""
        by_node: dict[str, list[SampleSpan]] = defaultdict(list)
        for place, spans in self.spans.items():
            by_node[place.node].extend(spans)
        return {node: merged(spans) for node, spans in by_node.items()}


class LabelKey(NamedTuple):
    """One GPU (part) at a location, and the pod that its samples name.

    Attributes:
        is_plain: named by plain labels, which may name the scraper's own pod (trap T6).
        profile: of the instance; "" for the whole GPU.
    """

    uuid: str
    place: ScrapeLocation
    instance: str
    vgpu: str
    pod: PodName
    is_plain: bool
    profile: str = ""


class ShownPod(NamedTuple):
    """A pod that kube-state showed at some time, and its node."""

    node: str
    namespace: str
    name: str
    uid: str


@dataclass(slots=True, eq=False)
class Naming:
    """The sample times of a label, and the step of each of these samples (N4), in ms."""

    times: Times
    steps: NDArray[np.int32]


@dataclass(slots=True)
class ScraperRecord:
    """One scraper: whether it renames labels, what scales it shows, when it scraped kube-state.

    Attributes:
        scales: what it showed under names of whole percentages, by name (N8).
        kube_times: of the hours that were loaded; None: not a kube-state scraper.
        interval_ms: declared by its source (N4).
        spans: of all times at which it scraped kube-state, loaded or not.
    """

    scraper: ScraperIdentity
    shows_exported: bool = False
    kube_times: Times | None = None
    interval_ms: int | None = None
    spans: list[SampleSpan] = field(default_factory=list)
    scales: dict[str, ShownScale] = field(default_factory=dict)


@dataclass(slots=True)
class Inventory:
    """The evidence of one cluster (or of the part of it that was loaded)."""

    pods: dict[str, PodRecord] = field(default_factory=dict)  # by uid
    nodes: dict[str, NodeRecord] = field(default_factory=dict)
    gpus: dict[str, GpuRecord] = field(default_factory=dict)  # by UUID
    scrapers: dict[ScraperIdentity, ScraperRecord] = field(default_factory=dict)
    gpu_labels: dict[LabelKey, Naming] = field(default_factory=dict)
    # of more distant hours without kube-state: as far back as they continue holds (N13)
    far_labels: dict[LabelKey, Naming] = field(default_factory=dict)
    reach: Interval = EVER  # the time of `labels` and `far_labels`
    shown: set[ShownPod] = field(default_factory=set)  # in addition to `pods`
    claims: dict[tuple[str, str], ClaimRecord] = field(
        default_factory=dict
    )  # by (namespace, name)
    own_pods: set[tuple[str, str]] = field(default_factory=set)  # (namespace, pod)
    namespaces: dict[str, list[tuple[int, dict[str, str]]]] = field(
        default_factory=dict
    )
    owners: dict[tuple[str, str, str], tuple[str, str]] = field(
        default_factory=dict
    )  # (namespace, kind, name) -> (kind, name)
    added: Mapping[str, Fraction] = field(
        default_factory=dict
    )  # resources that an administrator added: the share of one unit
    policies: Policies = ()  # the share policy over time
    retired_ms: int | None = None  # where the cluster was retired (N38)
    is_retired: bool = False  # that time has come by the clock, with or without data

    @property
    def added_names(self) -> dict[str, str]:
        """The added resources by kube-state's spelling."""
        return {sanitised(resource): resource for resource in self.added}


def merged(spans: Iterable[SampleSpan]) -> list[SampleSpan]:
    """Spans, joined if the gap between them is at most 1.5 steps of the earlier one.

    A function of all samples, in any order; if two spans end together, the longer step counts.
    """
    found: list[SampleSpan] = []
    for span in sorted(spans, key=lambda s: (s.first_ms, s.last_ms, s.step_ms)):
        top = found[-1] if found else None
        if top is None or far_apart(span.first_ms - top.last_ms, top.step_ms):
            found.append(SampleSpan(span.first_ms, span.last_ms, span.step_ms))
        elif span.last_ms > top.last_ms:
            top.last_ms, top.step_ms = span.last_ms, span.step_ms
        elif span.last_ms == top.last_ms:
            top.step_ms = max(top.step_ms, span.step_ms)
    return found
