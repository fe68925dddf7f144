"""The simulated nodes: pools, partitioning of their GPUs, and their events."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from portal.demo.scenario.gpu_partitioning import (
    MIG_MIXED,
    MIG_SINGLE,
    SHARED,
    WHOLE,
    PartitionLayout,
    PartitionUnit,
)
from portal.demo.scenario.hardware import (
    A10G,
    A100_40,
    A100_80,
    A6000,
    AMD,
    CURRENT,
    H100,
    L4,
    MI300X,
    NEWEST,
    OLD,
    T4,
    Flavour,
    GpuModel,
)
from portal.demo.scenario.noise import random_of, uuid_of
from portal.demo.scenario.story import DAY_S, HOUR_S, Story


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one kind.

    At the change, the last `spot_nodes` of them become spot nodes, and the `cut_nodes` before those
    are replaced by nodes whose GPUs are partitioned as in `cut`.
    """

    name: str
    model: GpuModel
    nodes: int
    gpus: int  # of each node
    instance_type: str
    lifecycle: str  # on-demand, reserved, or empty: the node has no label
    flavour: Flavour
    spot_nodes: int = 0
    cut: PartitionLayout = WHOLE
    cut_nodes: int = 0


_DRIVER = "nvidia.com/cuda.driver-version.full"
POOLS = (
    Pool("h100", H100, 6, 8, "p5.48xlarge", "reserved", NEWEST),
    Pool(
        "a100-80",
        A100_80,
        12,
        8,
        "p4de.24xlarge",
        "on-demand",
        CURRENT,
        5,
        MIG_MIXED,
        2,
    ),
    Pool(
        "a100-40", A100_40, 6, 8, "p4d.24xlarge", "on-demand", CURRENT, 3, MIG_SINGLE, 1
    ),
    Pool("a10g", A10G, 8, 4, "g5.12xlarge", "on-demand", CURRENT, 3),
    Pool("l4", L4, 6, 8, "g6.48xlarge", "on-demand", CURRENT, 2, SHARED, 2),
    Pool("t4", T4, 8, 4, "g4dn.12xlarge", "on-demand", OLD),
    Pool("mi300x", MI300X, 2, 8, "", "reserved", AMD),
    Pool("a6000", A6000, 1, 4, "", "", CURRENT),
)
_SHAPES = {  # model and layout by the pool's name in requests, without profile
    **{pool.name: (pool.model, WHOLE) for pool in POOLS},
    **{f"{pool.name}-spot": (pool.model, WHOLE) for pool in POOLS},
    **{f"{p.name}{p.cut.suffix}": (p.model, p.cut) for p in POOLS if p.cut_nodes},
}
ZONES = ("eu-central-1a", "eu-central-1b", "eu-central-1c")
REPLACEMENT_S = 7 * 60  # from a reclaimed spot node to its successor
SPOT_LIFE_S = 12 * DAY_S  # mean time between reclaims of one spot node
SHORTEST_LIFE_S = 6 * HOUR_S
REPAIR_S = 3 * HOUR_S  # until a broken node is replaced


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A half-open period in seconds."""

    start_s: int
    end_s: int

    def contains(self, at_s: int) -> bool:
        """True inside; the end is excluded."""
        return self.start_s <= at_s < self.end_s


@dataclass(slots=True)
class NodeObject:
    """One node object, from joining to leaving."""

    name: str
    place: str  # its slot: at most one node is in a slot at a time
    pool: Pool
    lifecycle: str
    zone: str
    joined_s: int
    left_s: int | None  # known in advance: decided when the node joins
    uuids: list[str]
    swaps: list[tuple[int, int, str]] = field(default_factory=list)  # at, slot, UUID
    outages: tuple[TimeSpan, ...] = ()  # its exporter does not respond
    strays: tuple[tuple[int, TimeSpan], ...] = ()  # slot busy without a pod
    generation: int = 0  # of spot nodes: their number in the slot
    shape: PartitionLayout = WHOLE
    cordons: list[TimeSpan] = field(default_factory=list)  # for maintenance

    def is_there(self, at_s: int) -> bool:
        """True while the node object exists."""
        return self.joined_s <= at_s and (self.left_s is None or at_s < self.left_s)

    def is_read(self, at_s: int) -> bool:
        """True while the node exists and its exporter responds."""
        return self.is_there(at_s) and not any(s.contains(at_s) for s in self.outages)

    def is_cordoned(self, at_s: int) -> bool:
        """True while the scheduler must not use it."""
        return any(span.contains(at_s) for span in self.cordons)

    def uuid(self, slot: int, at_s: int) -> str:
        """The GPU in a slot."""
        current = self.uuids[slot]
        for since, where, uuid in self.swaps:
            if where == slot and at_s >= since:
                current = uuid
        return current

    def labels(self) -> dict[str, str]:
        """Kubernetes labels, as GPU feature discovery and Karpenter write them."""
        found = {
            **self.shape.labels(self.pool.gpus, self.pool.model),
            "kubernetes.io/hostname": self.name,
            "topology.kubernetes.io/region": self.zone[:-1],
            "topology.kubernetes.io/zone": self.zone,
        }
        labelled = "amd.com/gpu.driver-version" if self.pool.model.is_amd else _DRIVER
        found[labelled] = self.pool.flavour.driver
        if self.lifecycle:
            found["karpenter.sh/capacity-type"] = self.lifecycle
            found["karpenter.sh/nodepool"] = self.pool_name
        if self.pool.instance_type:
            found["node.kubernetes.io/instance-type"] = self.pool.instance_type
        return dict(sorted(found.items()))

    @property
    def pool_name(self) -> str:
        """Its pool: spot nodes and partitioned ones have separate pools."""
        spot = "-spot" if self.lifecycle == "spot" else ""
        return f"{self.pool.name}{spot}{self.shape.suffix}"

    def pool_of(self, unit: PartitionUnit) -> str:
        """The pool's name in requests: with the profile if there are several."""
        return f"{self.pool_name}/{unit.profile}" if unit.profile else self.pool_name


def pools_of(story: Story) -> tuple[Pool, ...]:
    """The pools of a scenario: about `gpus` GPUs, every model with at least one node."""
    if story.scale >= 1:
        return POOLS
    return tuple(
        replace(
            pool,
            nodes=max(1, round(pool.nodes * story.scale)),
            gpus=pool.gpus if story.scale > 0.3 else min(pool.gpus, 4),
            spot_nodes=round(pool.spot_nodes * story.scale),
            cut_nodes=min(pool.cut_nodes, 1),
        )
        for pool in POOLS
    )


def resource_of(pool: str) -> str:
    """The resource that a pod requests for a unit of a pool, in Kubernetes' spelling."""
    name, _, profile = pool.partition("/")
    model, shape = _SHAPES[name]
    return shape.resource(PartitionUnit(0, profile=profile), model)


def first_nodes(story: Story) -> Iterator[NodeObject]:
    """The nodes at the start of the history, and those that join as planned."""
    for pool in pools_of(story):
        for number in range(1, pool.nodes + 1):
            place = f"{pool.name}-{number:02}"
            node = _node(story, pool, place, place, pool.lifecycle, story.start_s)
            _befall(story, node)
            turn = number - (pool.nodes - pool.spot_nodes)
            if turn > 0:
                node.left_s = story.change_s + (8 + 2 * turn) * HOUR_S
                yield spot_node(story, pool, place, 0, node.left_s + REPLACEMENT_S)
            elif turn > -pool.cut_nodes:
                node.left_s = story.change_s + (6 - turn) * HOUR_S
                joined = node.left_s + REPAIR_S
                name = f"{pool.name}{pool.cut.suffix}-{place[-2:]}"
                cut = _node(story, pool, name, place, pool.lifecycle, joined)
                cut.shape = pool.cut
                yield cut
            elif node.left_s is not None:
                joined = node.left_s + REPAIR_S
                yield _node(story, pool, f"{place}b", place, pool.lifecycle, joined)
            yield node


def spot_node(
    story: Story, pool: Pool, place: str, generation: int, joined_s: int
) -> NodeObject:
    """One spot node: it exists until its capacity is reclaimed."""
    chance = random_of(story.seed, "spot", place, generation)
    name = f"{pool.name}-spot-{chance.randrange(16**4):04x}-{place[-2:]}"
    node = _node(story, pool, name, place, "spot", joined_s)
    life = chance.expovariate(1 / SPOT_LIFE_S)
    node.left_s = joined_s + max(SHORTEST_LIFE_S, int(life))
    node.generation = generation
    return node


def _node(
    story: Story, pool: Pool, name: str, place: str, lifecycle: str, joined_s: int
) -> NodeObject:
    zone = random_of(story.seed, "zone", name).choice(ZONES)
    uuids = [f"GPU-{uuid_of(story.seed, name, slot)}" for slot in range(pool.gpus)]
    return NodeObject(name, place, pool, lifecycle, zone, joined_s, None, uuids)


def _befall(story: Story, node: NodeObject) -> None:
    """Faults at fixed places of the scenario, for data health to find."""

    def span(fraction: float, hours: float) -> TimeSpan:
        start = story.at(fraction)
        return TimeSpan(start, start + int(hours * HOUR_S))

    if node.name == "l4-02":
        node.outages = (span(0.17, 6.5),)
    elif node.name == "a100-80-03":
        node.outages = (span(0.66, 6), span(0.985, 2))
    elif node.name == "a100-40-02":
        # while services are deployed again: no pod outlives its GPU
        node.swaps.append((story.change_s, 3, f"GPU-{uuid_of(story.seed, 'swap')}"))
    elif node.name == "t4-04":
        node.left_s = story.at(0.4)
    elif node.name == "a10g-02":
        node.strays = ((node.pool.gpus - 1, span(0.72, 30)),)


def kube_outages(story: Story) -> tuple[TimeSpan, ...]:
    """When kube-state-metrics was unavailable: then it is not known which pods held what."""
    start = story.at(0.8)
    return (TimeSpan(start, start + 35 * 60),)
