"""Claims that were allocated already, so that a pod may only run where they are (S7)."""

from collections.abc import Sequence
from dataclasses import replace

from scheduler_view.waits.rules.cause import WaitCause, first_of
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.placement.verdicts import Verdicts
from scheduler_view.waits.rules.world.devices import DeviceClaim

MOST = 8  # nodes and pods that are named


def claim_elsewhere(
    index: WorldIndex,
    base: PodFinding,
    claims: Sequence[DeviceClaim],
    verdicts: Verdicts,
) -> PodFinding | None:
    """The first allocated claim of a pod whose nodes cannot take the pod; None without one.

    Other pods share it, or used it before: it stays allocated while it is reserved for a pod.
    """
    for claim in claims:
        if not claim.is_allocated or claim.nodes is None:
            continue
        causes = {
            room.node.name: first_of(int(mask))
            for room, mask in zip(verdicts.rooms, verdicts.masks, strict=True)
            if any(t.matches(room.node.labels, room.node.name) for t in claim.nodes)
        }
        if all(causes.values()):  # also if there is no such node any more
            pods = [one.path for one in index.world.pods if one.uid in claim.pods]
            return replace(
                base,
                cause=WaitCause.CLAIM_ELSEWHERE,
                name=claim.name,
                contributing=frozenset(one for one in causes.values() if one),
                facts={
                    "claim": f"{claim.namespace}/{claim.name}",
                    "claim_nodes": sorted(causes)[:MOST],
                    "claim_pods": sorted(pods)[:MOST],
                },
            )
    return None
