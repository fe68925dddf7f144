"""Holds that only GPU labels show, while kube-state is not seen (rules.md N13)."""

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from accounting.domain.hold import Hold, node_facts
from accounting.domain.inventory import Inventory
from accounting.domain.kube import KubeState
from accounting.domain.period import Period
from accounting.domain.series import PodName
from accounting.domain.track import DEFAULT_STEP_MS, lower_median_gap, step_period

WHOLE_GPU = "nvidia.com/gpu"


def inferred_holds(
    inventory: Inventory, state: KubeState, holds: Sequence[Hold], until_ms: int
) -> list[Hold]:
    """One hold for each pod that labels name on a node where kube-state never shows it.

    Units are the places (GPU, instance, vgpu) that it names; it lasts from the first to one
    step after the last such sample, or until kube-state is seen again. Only samples outside
    the times at which kube-state is seen count.
    """
    shown = {(hold.node, hold.namespace, hold.pod) for hold in holds}
    known = {(pod.namespace, pod.name) for pod in inventory.pods.values()}
    named: dict[tuple[str, PodName], list[np.ndarray]] = defaultdict(list)
    for (uuid, _, vgpu, name), times in inventory.gpu_labels.items():
        for node in _nodes_of(inventory, uuid):
            facts = node_facts(inventory.nodes.get(node), int(times[0]))
            counts = facts.replicas == 1 or bool(vgpu)
            where = (node, name.namespace, name.pod)
            if counts and where not in shown and (where[1:] not in known):
                named[node, name].append(times)
    found: list[Hold] = []
    for (node, name), places in sorted(named.items(), key=lambda item: item[0]):
        hold = _hold(node, name, places, state, until_ms)
        if hold is not None:
            found.append(hold)
    return found


def _nodes_of(inventory: Inventory, uuid: str) -> list[str]:
    record = inventory.gpus.get(uuid)
    return sorted(record.spans) if record else []


def _hold(
    node: str,
    name: PodName,
    places: list[np.ndarray],
    state: KubeState,
    until_ms: int,
) -> Hold | None:
    times = np.unique(np.concatenate(places))
    whole = Period(int(times[0]), int(times[-1]) + 1)
    seen = state.seen(whole)
    blind = [t for t in times.tolist() if not any(s.contains(t) for s in seen)]
    if not blind:
        return None
    last = blind[-1]
    step = lower_median_gap(blind, step_period(last)) or DEFAULT_STEP_MS
    end = last + step
    later = [s.start_ms for s in state.seen(Period(last, end)) if s.start_ms > last]
    end = min([end, *later])
    lasts = end >= until_ms
    return Hold(
        uid=name.uid or f"{name.namespace}/{name.pod}",
        namespace=name.namespace,
        pod=name.pod,
        node=node,
        resource=WHOLE_GPU,
        units=len(places),
        share=Fraction(1),
        created_ms=None,
        bound_ms=blind[0],
        ended_ms=None if lasts else end,
        booked_until_ms=min(end, until_ms),
        ended_by="" if lasts else "gone",
        is_inferred=True,
    )
