"""What an autoscaler of nodes says of a pod that found no node (scheduling.md S7).

Sources: events of the cluster autoscaler and of Karpenter about the pod; Karpenter's NodePools and
NodeClaims, where they may be listed.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from scheduler_view.waits.rules.explanation import Evidence
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.world.events import (
    NO_CAPACITY,
    NODE_REFUSED,
    NODES_COME,
    NOMINATED,
    UNPLACED,
    EventObject,
)
from scheduler_view.waits.rules.world.lenient import quantity
from scheduler_view.waits.rules.world.pods import PodObject

ADDED_WITHIN_MS = 1_800_000  # later a node that was to come has failed
ADDS, REFUSES = "adds", "refuses"
LONGEST = 4096  # characters of a message that are read
_CLAIM = re.compile(r"nodeclaim/(\S+)")
_OVER_LIMITS = re.compile(r"exceed limits for nodepool:? \"?([\w.-]+)")


def with_autoscaler(
    index: WorldIndex, pod: PodObject, finding: PodFinding
) -> PodFinding:
    """The finding with the newest verdict of an autoscaler about the pod, if there is one."""
    events = [
        event
        for reason in (NODE_REFUSED, NODES_COME, NOMINATED, UNPLACED)
        if (
            event := index.newest_event(reason, "Pod", pod.namespace, pod.name, pod.uid)
        )
    ]
    if not events:
        return finding
    newest = max(events, key=lambda event: event.at_ms)
    is_karpenter = newest.reason in (NOMINATED, UNPLACED)
    verdict = ADDS if newest.reason in (NODES_COME, NOMINATED) else REFUSES
    facts: dict[str, object] = {
        "by": "Karpenter" if is_karpenter else "The cluster autoscaler",
        "verdict": verdict,
        "at_ms": newest.at_ms,
    }
    said = [_said(newest, f"Pod {pod.path}")]
    if newest.reason == NOMINATED:
        facts |= dict(_claim(index, newest, said))
    facts |= dict(_pool(index, newest))
    if facts["verdict"] == ADDS and index.world.now_ms - newest.at_ms > ADDED_WITHIN_MS:
        return finding
    return replace(
        finding,
        facts={**finding.facts, "autoscaler": facts},
        evidence=(*finding.evidence, *said),
    )


def _said(event: EventObject, about: str) -> Evidence:
    return Evidence(
        f"Event/{about} {event.reason}", "message", event.message, event.at_ms
    )


def _claim(
    index: WorldIndex, event: EventObject, said: list[Evidence]
) -> Iterator[tuple[str, object]]:
    """How far the node is that Karpenter makes for the pod."""
    found = _CLAIM.search(event.message[:LONGEST])
    if found is None:
        return
    name = found[1].rstrip(",.")
    yield "node_claim", name
    failed = index.newest_event(NO_CAPACITY, "NodeClaim", "", name)
    if failed is not None:
        said.append(_said(failed, f"NodeClaim {name}"))
        yield "verdict", REFUSES
        return
    claim = index.node_claims.get(name)
    if claim is not None and claim.step:
        yield "step", claim.step
        if claim.message:
            path = f"status.conditions[{claim.step}]"
            said.append(Evidence(f"NodeClaim/{name}", path, claim.message))


def _pool(index: WorldIndex, event: EventObject) -> Iterator[tuple[str, object]]:
    """The NodePool whose limits keep Karpenter from adding a node, with those that are reached."""
    found = _OVER_LIMITS.search(event.message[:LONGEST])
    if event.reason != UNPLACED or found is None:
        return
    yield "node_pool", found[1]
    pool = index.node_pools.get(found[1])
    if pool is not None:
        yield (
            "limits",
            {
                name: [quantity(pool.used.get(name, 0)), quantity(most)]
                for name, most in sorted(pool.limits.items())
            },
        )
