"""The simulated hardware: pools of nodes, their GPUs, and what happens to them.

Whole NVIDIA GPUs only; MIG, sharing and other vendors get their own pools with a later
issue. Power and memory are the vendors' data sheet values.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from portal.demo.noise import random_of, uuid_of
from portal.demo.story import DAY_S, HOUR_S, Story


@dataclass(frozen=True, slots=True)
class GpuModel:
    """One kind of GPU, as exporters spell it."""

    name: str
    memory_mib: int
    idle_watts: float
    max_watts: float
    family: str


H100 = GpuModel("NVIDIA H100 80GB HBM3", 81_559, 70, 700, "hopper")
A100_80 = GpuModel("NVIDIA A100-SXM4-80GB", 81_920, 60, 400, "ampere")
A100_40 = GpuModel("NVIDIA A100-SXM4-40GB", 40_960, 55, 400, "ampere")
A10G = GpuModel("NVIDIA A10G", 23_028, 20, 300, "ampere")
L4 = GpuModel("NVIDIA L4", 23_034, 12, 72, "ada-lovelace")
T4 = GpuModel("Tesla T4", 15_360, 10, 70, "turing")
A6000 = GpuModel("NVIDIA RTX A6000", 49_140, 25, 300, "ampere")


@dataclass(frozen=True, slots=True)
class Flavour:
    """How one version of dcgm-exporter spells things."""

    version: str
    duty: str
    is_percent: bool
    memory: str
    is_mebibytes: bool
    power: str
    host_label: str


OLD = Flavour(
    version="3.3.5",
    duty="DCGM_FI_DEV_GPU_UTIL",
    is_percent=True,
    memory="DCGM_FI_DEV_FB_USED",
    is_mebibytes=True,
    power="DCGM_FI_DEV_POWER_USAGE",
    host_label="Hostname",
)
CURRENT = replace(
    OLD, version="4.5.3", duty="DCGM_FI_PROF_GR_ENGINE_ACTIVE", is_percent=False
)
NEWEST = Flavour(
    version="4.9.0",
    duty="DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO",
    is_percent=False,
    memory="DCGM_FI_DEV_FB_USED_BYTES",
    is_mebibytes=False,
    power="DCGM_FI_DEV_BOARD_POWER_WATTS",
    host_label="hostname",
)


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one kind; `spot_nodes` of them become spot nodes when the habits change."""

    name: str
    model: GpuModel
    nodes: int
    gpus: int  # of each node
    instance_type: str
    lifecycle: str  # on-demand, reserved, or empty: the node does not say
    flavour: Flavour
    spot_nodes: int = 0


POOLS = (
    Pool("h100", H100, 6, 8, "p5.48xlarge", "reserved", NEWEST),
    Pool("a100-80", A100_80, 12, 8, "p4de.24xlarge", "on-demand", CURRENT, 5),
    Pool("a100-40", A100_40, 6, 8, "p4d.24xlarge", "on-demand", CURRENT, 3),
    Pool("a10g", A10G, 8, 4, "g5.12xlarge", "on-demand", CURRENT, 3),
    Pool("l4", L4, 6, 8, "g6.48xlarge", "on-demand", CURRENT, 2),
    Pool("t4", T4, 8, 4, "g4dn.12xlarge", "on-demand", OLD),
    Pool("a6000", A6000, 1, 4, "", "", CURRENT),
)
ZONES = ("eu-central-1a", "eu-central-1b", "eu-central-1c")
REPLACEMENT_S = 7 * 60  # from a lost spot node to its successor
SPOT_LIFE_S = 12 * DAY_S  # mean time between reclaims of one spot node
SHORTEST_LIFE_S = 6 * HOUR_S
REPAIR_S = 3 * HOUR_S  # until a broken node has been replaced


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open stretch of time in seconds."""

    start_s: int
    end_s: int

    def contains(self, at_s: int) -> bool:
        """True inside; the end does not belong to it."""
        return self.start_s <= at_s < self.end_s


@dataclass(slots=True)
class Node:
    """One node object, from when it joined to when it went."""

    name: str
    place: str  # where it stands: at most one node is in a place at a time
    pool: Pool
    lifecycle: str
    zone: str
    joined_s: int
    left_s: int | None  # known ahead: the simulation decides it when the node joins
    uuids: list[str]
    swaps: list[tuple[int, int, str]] = field(default_factory=list)  # at, slot, UUID
    outages: tuple[Span, ...] = ()  # its exporter does not answer
    strays: tuple[tuple[int, Span], ...] = ()  # slot busy without a pod
    generation: int = 0  # of spot nodes: the how manieth in its place

    def is_there(self, at_s: int) -> bool:
        """True while the node object exists."""
        return self.joined_s <= at_s and (self.left_s is None or at_s < self.left_s)

    def is_read(self, at_s: int) -> bool:
        """True while the node is there and its exporter answers."""
        return self.is_there(at_s) and not any(s.contains(at_s) for s in self.outages)

    def uuid(self, slot: int, at_s: int) -> str:
        """The GPU in a slot."""
        current = self.uuids[slot]
        for since, where, uuid in self.swaps:
            if where == slot and at_s >= since:
                current = uuid
        return current

    def labels(self) -> dict[str, str]:
        """Kubernetes labels, as GPU feature discovery and Karpenter write them."""
        model = self.pool.model
        found = {
            "kubernetes.io/hostname": self.name,
            "nvidia.com/gpu.product": "-".join(model.name.split()),
            "nvidia.com/gpu.count": str(self.pool.gpus),
            "nvidia.com/gpu.memory": str(model.memory_mib),
            "nvidia.com/gpu.family": model.family,
            "nvidia.com/gpu.replicas": "1",
            "nvidia.com/mig.strategy": "none",
            "topology.kubernetes.io/region": self.zone[:-1],
            "topology.kubernetes.io/zone": self.zone,
        }
        if self.lifecycle:
            found["karpenter.sh/capacity-type"] = self.lifecycle
            found["karpenter.sh/nodepool"] = self.pool_name
            found["node.kubernetes.io/instance-type"] = self.pool.instance_type
        return dict(sorted(found.items()))

    @property
    def pool_name(self) -> str:
        """The pool as requests name it: spot nodes are a pool of their own."""
        spot = "-spot" if self.lifecycle == "spot" else ""
        return f"{self.pool.name}{spot}"


def pools_of(story: Story) -> tuple[Pool, ...]:
    """The pools of a story: about `gpus` GPUs, every model with a node at least."""
    if story.scale >= 1:
        return POOLS
    return tuple(
        replace(
            pool,
            nodes=max(1, round(pool.nodes * story.scale)),
            gpus=pool.gpus if story.scale > 0.3 else min(pool.gpus, 4),
            spot_nodes=round(pool.spot_nodes * story.scale),
        )
        for pool in POOLS
    )


def first_nodes(story: Story) -> Iterator[Node]:
    """The nodes that are there when the history begins, and those that join by plan."""
    for pool in pools_of(story):
        for number in range(1, pool.nodes + 1):
            place = f"{pool.name}-{number:02}"
            node = _node(story, pool, place, place, pool.lifecycle, story.start_s)
            _befall(story, node)
            turn = number - (pool.nodes - pool.spot_nodes)
            if turn > 0:
                node.left_s = story.change_s + (8 + 2 * turn) * HOUR_S
                yield spot_node(story, pool, place, 0, node.left_s + REPLACEMENT_S)
            elif node.left_s is not None:
                joined = node.left_s + REPAIR_S
                yield _node(story, pool, f"{place}b", place, pool.lifecycle, joined)
            yield node


def spot_node(
    story: Story, pool: Pool, place: str, generation: int, joined_s: int
) -> Node:
    """One spot node: it stays until its capacity is reclaimed."""
    chance = random_of(story.seed, "spot", place, generation)
    name = f"{pool.name}-spot-{chance.randrange(16**4):04x}-{place[-2:]}"
    node = _node(story, pool, name, place, "spot", joined_s)
    life = chance.expovariate(1 / SPOT_LIFE_S)
    node.left_s = joined_s + max(SHORTEST_LIFE_S, int(life))
    node.generation = generation
    return node


def _node(
    story: Story, pool: Pool, name: str, place: str, lifecycle: str, joined_s: int
) -> Node:
    zone = random_of(story.seed, "zone", name).choice(ZONES)
    uuids = [f"GPU-{uuid_of(story.seed, name, slot)}" for slot in range(pool.gpus)]
    return Node(name, place, pool, lifecycle, zone, joined_s, None, uuids)


def _befall(story: Story, node: Node) -> None:
    """Honest faults, at fixed places of the story, for data health to find."""

    def span(fraction: float, hours: float) -> Span:
        start = story.at(fraction)
        return Span(start, start + int(hours * HOUR_S))

    if node.name == "l4-02":
        node.outages = (span(0.17, 6.5),)
    elif node.name == "a100-80-03":
        node.outages = (span(0.66, 6), span(0.985, 2))
    elif node.name == "a100-40-02":
        node.swaps.append((story.at(0.31), 3, f"GPU-{uuid_of(story.seed, 'swap')}"))
    elif node.name == "t4-04":
        node.left_s = story.at(0.4)
    elif node.name == "a10g-02":
        node.strays = ((node.pool.gpus - 1, span(0.72, 30)),)


def kube_outages(story: Story) -> tuple[Span, ...]:
    """When kube-state-metrics was not there: nobody knows then who held what."""
    start = story.at(0.8)
    return (Span(start, start + 35 * 60),)
