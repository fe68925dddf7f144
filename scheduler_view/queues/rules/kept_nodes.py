"""Nodes whose GPUs nobody holds, and pods that keep them from being removed (scheduling.md S32)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from scheduler_view.waits.rules.placement.gpu_requests import gpu_request, is_gpu
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.world.budgets import BudgetObject
from scheduler_view.waits.rules.world.pods import KEEP_NODE, PodObject

RETURNS = frozenset({"DaemonSet", "Node"})  # their pods keep no node
MOST_PODS = 8  # that are named


class KeepReason(StrEnum):
    """Why a pod keeps its node."""

    BARE = "no_controller"
    DO_NOT_DISRUPT = "do_not_disrupt"
    NOT_SAFE_TO_EVICT = "not_safe_to_evict"
    BUDGET = "disruption_budget"


_BY_NOTE = {
    "karpenter.sh/do-not-disrupt": KeepReason.DO_NOT_DISRUPT,
    "cluster-autoscaler.kubernetes.io/safe-to-evict": KeepReason.NOT_SAFE_TO_EVICT,
}


@dataclass(frozen=True, slots=True)
class KeptRoom:
    """One such node, and the first pods that keep it: `namespace/name` and why."""

    node: str
    pods: tuple[tuple[str, KeepReason], ...]


def kept_rooms(index: WorldIndex) -> Iterator[KeptRoom]:
    """Nodes with GPUs, without a pod that holds some, that a pod keeps."""
    added = index.world.added
    budgets = [one for one in index.world.budgets if one.allowed == 0]
    for name, room in index.rooms.items():
        offered = room.node.allocatable.items()
        if not any(units and is_gpu(resource, added) for resource, units in offered):
            continue
        if any(_holds_gpus(index, pod) for pod in room.pods):
            continue
        keeping = tuple(_keeping(room, budgets))
        if keeping:
            yield KeptRoom(name, keeping[:MOST_PODS])


def _holds_gpus(index: WorldIndex, pod: PodObject) -> bool:
    request = gpu_request(index.world, pod.namespace, pod.spec, pod.claims)
    return request is not None


def _keeping(
    room: NodeRoom, budgets: Sequence[BudgetObject]
) -> Iterator[tuple[str, KeepReason]]:
    for pod in sorted(room.pods, key=lambda one: one.path):
        maker = pod.controller
        if maker is not None and maker.kind in RETURNS:
            continue
        told = [
            _BY_NOTE[note]
            for note, value in KEEP_NODE.items()
            if pod.annotations.get(note) == value
        ]
        if told:
            yield pod.path, told[0]
        elif maker is None:
            yield pod.path, KeepReason.BARE
        elif any(one.refuses(pod) for one in budgets):
            yield pod.path, KeepReason.BUDGET
