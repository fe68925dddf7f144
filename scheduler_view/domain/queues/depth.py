"""How much waits in each pool, how much is free, and how much of it fits (scheduling.md S16)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scheduler_view.domain.queues.packing import Packing, Placed
from scheduler_view.domain.queues.pools import (
    Pools,
    ResourcePool,
    available_of,
    capacity_of,
)
from scheduler_view.domain.queues.queued import QueuedUnit
from scheduler_view.domain.waits.cause import Stage
from scheduler_view.domain.waits.placement.index import NodeRoom

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
    waiting = {pool for unit in units for pool in unit.pools}
    found = []
    for pool in sorted(waiting | pools.rooms.keys()):
        own = [unit for unit in units if pool in unit.pools]
        nodes = pools.rooms.get(pool)
        by_stage = {
            stage: sum(unit.units for unit in own if unit.stage is stage)
            for stage in Stage
        }
        found.append(
            PoolDepth(
                pool,
                by_stage[Stage.UNSCHEDULABLE],
                by_stage[Stage.REFUSED],
                by_stage[Stage.HELD_BACK],
                len(own),
                capacity_of(nodes or [], pool.resource),
                None if nodes is None else available_of(nodes, pool.resource),
                fitting.get(pool, 0),
                held.get(pool, 0),
            )
        )
    return found


def fitting_of(
    pools: Pools, rooms: Mapping[str, NodeRoom], units: Iterable[QueuedUnit]
) -> dict[ResourcePool, int]:
    """Whole units by pool that a greedy placement in this order could bind now; gangs whole."""
    packing = Packing(rooms)
    at = {
        (pool.resource, room.node.name): pool
        for pool, nodes in pools.rooms.items()
        for room in nodes
    }
    found: dict[ResourcePool, int] = {}
    for unit in units:
        for shape, node in placed(packing, unit):
            pool = at.get((shape.resource, node))
            if pool is not None:
                found[pool] = found.get(pool, 0) + shape.need // 1000
    return found


def placed(packing: Packing, unit: QueuedUnit) -> list[Placed]:
    """What of a unit has place now: of a gang all or nothing, of others as many as can be."""
    if unit.is_gang:
        return packing.place_all(unit.pods) or []
    return packing.place_some(unit.pods)
