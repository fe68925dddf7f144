"""Where a pod with several whole GPUs on one node could start now, by model."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounting.fleet.pages.gpu_line import GpuLine
from accounting.fleet.reads.fleet_count import NodeOffer


@dataclass(frozen=True, slots=True)
class FreeRow:
    """One model: `nodes[i]` could take a pod of at least `sizes[i]` GPUs of it."""

    model: str
    nodes: tuple[int, ...]
    free: int


@dataclass(frozen=True, slots=True)
class FreeTable:
    """Nodes by the pods that they could take.

    Attributes:
        sizes: GPUs of a pod: 1, 2, 4, ... up to the largest node.
        left_out: free GPUs that are in no row, because their node is cordoned, or shares or
            divides its GPUs.
    """

    sizes: tuple[int, ...]
    rows: tuple[FreeRow, ...]
    left_out: int


def free_table(
    lines: Sequence[GpuLine], offers: Sequence[NodeOffer]
) -> FreeTable | None:
    """The table of present GPUs without a holder; None if none is free.

    Only GPUs that a pod gets as a whole count, and only nodes that take pods.
    """
    by_node = {(one.cluster, one.node): one for one in offers}
    free: dict[tuple[str, str, str], int] = {}
    for line in lines:
        if line.is_present and line.now is None:
            key = (line.model, line.cluster, line.node)
            free[key] = free.get(key, 0) + 1
    if not free:
        return None
    room = {}
    for (model, cluster, node), count in free.items():
        offer = by_node.get((cluster, node))
        takes = offer is not None and not offer.is_cordoned
        room[model, cluster, node] = min(count, offer.whole) if offer and takes else 0
    largest = max((one.whole for one in offers), default=0)
    sizes = _sizes(max([largest, *room.values()]))
    rows = []
    for model in sorted({model for model, _, _ in room}):
        found = [count for (name, _, _), count in room.items() if name == model]
        nodes = tuple(sum(count >= size for count in found) for size in sizes)
        if any(nodes):
            rows.append(FreeRow(model, nodes, sum(found)))
    return FreeTable(sizes, tuple(rows), sum(free.values()) - sum(room.values()))


def _sizes(largest: int) -> tuple[int, ...]:
    """1, 2, 4, ... and the largest itself."""
    sizes = [1]
    while sizes[-1] * 2 <= largest:
        sizes.append(sizes[-1] * 2)
    if largest > sizes[-1]:
        sizes.append(largest)
    return tuple(sizes)
