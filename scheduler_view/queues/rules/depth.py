"""How much waits in each pool, how much is free, and how much of it fits (scheduling.md S16)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scheduler_view.queues.rules.pools import (
    Pools,
    ResourcePool,
    available_of,
    capacity_of,
)
from scheduler_view.queues.rules.queued import QueuedUnit
from scheduler_view.waits.rules.cause import Stage, WaitCause
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.placement.packing import Packing, Placed

NOT_LET_IN = frozenset({Stage.REFUSED, Stage.HELD_BACK})


@dataclass(frozen=True, slots=True)
class PoolDepth:
    """One pool at one instant, in whole units of its resource.

    Attributes:
        waiting: requested by pods that the scheduler found no node for.
        refused, held_back: requested by pods that were not let in; not in `waiting`.
        work: units of work that wait, of any stage.
        capacity: of its nodes.
        available: free on nodes that are ready and not cordoned; None if it is not known.
        fitting: of all that waits, what could be bound now.
        fitting_held: the same if only what is refused or held back were there.
        policy_nodes: whole units by node that would be bound if only what is refused, held back
            or about to be tried again were there: policy keeps them free (S24).
        unused_nodes: whole free units by node that nothing that waits could use; empty while
            nothing waits (S26).
    """

    pool: ResourcePool
    waiting: int = 0
    refused: int = 0
    held_back: int = 0
    work: int = 0
    capacity: int = 0
    available: int | None = None
    fitting: int = 0
    fitting_held: int = 0
    policy_nodes: Mapping[str, int] = field(default_factory=dict)
    unused_nodes: Mapping[str, int] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """All that is requested."""
        return self.waiting + self.refused + self.held_back


def depths_of(
    pools: Pools, rooms: Mapping[str, NodeRoom], units: Sequence[QueuedUnit]
) -> list[PoolDepth]:
    """Every pool that has nodes or in which something waits.

    A unit that may use several pools counts in each of them; what fits counts where it would be
    bound.

    Args:
        units: in the order of S17.
    """
    fitting = fitting_of(pools, rooms, units)
    held = fitting_of(pools, rooms, [u for u in units if u.stage in NOT_LET_IN])
    policy = held
    if any(unit.cause is WaitCause.RETRY_PENDING for unit in units):
        policy = fitting_of(pools, rooms, [u for u in units if _is_by_policy(u)])
    waiting = {pool for unit in units for pool in unit.pools}
    found = []
    for pool in sorted(waiting | pools.rooms.keys()):
        own = [unit for unit in units if pool in unit.pools]
        nodes = pools.rooms.get(pool)
        by_stage = {
            stage: sum(unit.units for unit in own if unit.stage is stage)
            for stage in Stage
        }
        fits = fitting.get(pool, {})
        found.append(
            PoolDepth(
                pool,
                by_stage[Stage.UNSCHEDULABLE],
                by_stage[Stage.REFUSED],
                by_stage[Stage.HELD_BACK],
                len(own),
                capacity_of(nodes or [], pool.resource),
                None if nodes is None else available_of(nodes, pool.resource),
                sum(fits.values()),
                sum(held.get(pool, {}).values()),
                policy.get(pool, {}),
                _unused(nodes or [], pool, fits) if own else {},
            )
        )
    return found


def _is_by_policy(unit: QueuedUnit) -> bool:
    """Whether policy, not capacity, keeps a unit waiting (S24)."""
    return unit.stage in NOT_LET_IN or unit.cause is WaitCause.RETRY_PENDING


def _unused(
    nodes: Iterable[NodeRoom], pool: ResourcePool, fits: Mapping[str, int]
) -> dict[str, int]:
    left = {
        room.node.name: available_of([room], pool.resource)
        - fits.get(room.node.name, 0)
        for room in nodes
    }
    return {name: units for name, units in left.items() if units > 0}


def fitting_of(
    pools: Pools, rooms: Mapping[str, NodeRoom], units: Iterable[QueuedUnit]
) -> dict[ResourcePool, dict[str, int]]:
    """Whole units by pool and node that a greedy placement in this order could bind now.

    Gangs are placed whole or not at all.
    """
    packing = Packing(rooms)
    at = {
        (pool.resource, room.node.name): pool
        for pool, nodes in pools.rooms.items()
        for room in nodes
    }
    found: dict[ResourcePool, dict[str, int]] = {}
    for unit in units:
        for shape, node in placed(packing, unit):
            pool = at.get((shape.resource, node))
            if pool is not None:
                by_node = found.setdefault(pool, {})
                by_node[node] = by_node.get(node, 0) + shape.need // 1000
    return found


def placed(packing: Packing, unit: QueuedUnit) -> list[Placed]:
    """What of a unit has place now: of a gang all or nothing, of others as many as can be."""
    if unit.is_gang:
        return packing.place_all(unit.pods) or []
    return packing.place_some(unit.pods)
