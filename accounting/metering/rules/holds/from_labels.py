"""Holds that only GPU labels show, while kube-state is not seen (rules.md N13)."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from accounting.core.interval import Interval
from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.inventory.fractional_requests import is_reservation
from accounting.metering.rules.inventory.kube_state.visibility import KubeState
from accounting.metering.rules.inventory.labels import LabeledSlot, Labels, union_of
from accounting.metering.rules.inventory.nodes import node_facts
from accounting.metering.rules.inventory.records import Inventory, Naming, ShownPod
from accounting.metering.rules.units.gpu_units import (
    GpuUnit,
    NodeFacts,
    is_partition,
    unit_of,
)

WHOLE_GPU = "nvidia.com/gpu"
AMD_GPU = "amd.com/gpu"  # also if all cards of a node are divided in the same way


class _Who(NamedTuple):
    node: str
    namespace: str
    pod: str
    uid: str
    kind: str


def inferred_holds(
    inventory: Inventory, state: KubeState, labels: Labels, until_ms: int
) -> list[Hold]:
    """One hold for each pod that labels name on a node where kube-state never shows it.

    This includes a pod that kube-state shows without a node (Pending). There is one hold for each
    kind of unit and each period in which kube-state is not seen: from the first such sample to one
    step after the last one, at most until kube-state is seen again. Its units are the distinct
    (GPU, instance, vgpu) that name the pod.
    """
    shown = {
        *(
            ShownPod(pod.node, pod.namespace, pod.name, uid)
            for uid, pod in inventory.pods.items()
        ),
        *inventory.shown,
    }
    shown |= {pod._replace(uid="") for pod in shown}  # for labels without a uid
    named: dict[_Who, list[LabeledSlot]] = defaultdict(list)
    for place in labels.all():
        pod = place.pod
        is_shown = ShownPod(place.node, pod.namespace, pod.pod, pod.uid) in shown
        if not is_shown and not is_reservation(pod.namespace):
            uid = pod.uid or f"{pod.namespace}/{pod.pod}"
            kind = place.part.kind
            named[_Who(place.node, pod.namespace, pod.pod, uid, kind)].append(place)
    found: list[Hold] = []
    for who, places in sorted(named.items(), key=itemgetter(0)):
        for span, back_ms in _unseen(places, state):
            hold = _hold(who, places, span, back_ms, inventory, labels)
            if hold is not None:
                found.append(_until(hold, back_ms, until_ms))
    return found


def _unseen(
    places: Sequence[LabeledSlot], state: KubeState
) -> Iterator[tuple[Interval, int | None]]:
    """When labels name a pod while kube-state is not seen, each period with its end."""
    times = union_of(place.shown for place in places).times.tolist()
    stretches: dict[int | None, list[int]] = defaultdict(list)
    for gap in _gaps(state.seen(Interval(times[0], times[-1] + 1)), times):
        low, high = bisect_left(times, gap.start_ms), bisect_left(times, gap.end_ms)
        if low < high:
            stretches[state.seen_again_ms(times[high - 1])] += times[low:high]
    for back_ms, members in stretches.items():
        yield Interval(members[0], members[-1] + 1), back_ms


def _gaps(seen: Sequence[Interval], times: Sequence[int]) -> Iterator[Interval]:
    """The gaps around the periods in which kube-state is seen, from the first to the last time."""
    start_ms = times[0]
    for period in seen:
        if start_ms < period.start_ms:
            yield Interval(start_ms, period.start_ms)
        start_ms = max(start_ms, period.end_ms)
    if start_ms <= times[-1]:
        yield Interval(start_ms, times[-1] + 1)


def _unit(
    kind: str, facts: NodeFacts, added: Mapping[str, Fraction]
) -> tuple[str, GpuUnit] | None:
    """The resource of a kind of unit on a node, and what one of its units is."""
    for resource in sorted(facts.capacity, key=lambda name: (len(name), name)):
        unit = unit_of(resource, facts, added)
        if unit is not None and unit.kind == kind and facts.capacity[resource]:
            return resource, unit
    resource = WHOLE_GPU
    if is_partition(kind):
        unit = unit_of(f"amd.com/{kind}", facts, added)
        return None if unit is None else (AMD_GPU, unit)
    if kind:
        resource = f"nvidia.com/mig-{kind.replace('+', '.')}"
    unit = unit_of(resource, facts, added)
    return None if unit is None else (resource, replace(unit, kind=kind))


def _hold(
    who: _Who,
    places: Sequence[LabeledSlot],
    span: Interval,
    back_ms: int | None,
    inventory: Inventory,
    labels: Labels,
) -> Hold | None:
    """The hold of the labels of a span, with the unit at its bind; None without one."""
    facts = node_facts(inventory.nodes.get(who.node), span.start_ms)
    unit = _unit(who.kind, facts, inventory.added)
    if unit is None:
        return None
    inside: list[Naming] = []
    for place in places:
        shown = labels.counting(place, is_shared=unit[1].is_shared)
        low, high = np.searchsorted(shown.times, [span.start_ms, span.end_ms])
        part = slice(int(low), int(high))
        inside.append(Naming(shown.times[part], shown.steps[part]))
    units = sum(len(shown.times) > 0 for shown in inside)
    if not units:
        return None
    every = union_of(inside)
    start, end = int(every.times[0]), int((every.times + every.steps).max())
    return Hold(
        uid=who.uid,
        namespace=who.namespace,
        pod=who.pod,
        node=who.node,
        resource=unit[0],
        units=units,
        share=unit[1].share,
        created_ms=None,
        bound_ms=start,
        ended_ms=end if back_ms is None else min(end, back_ms),
        booked_until_ms=end if back_ms is None else min(end, back_ms),
        ended_by="gone",
        inferred_from_ms=start,
        is_inferred=True,
        kind=unit[1].kind,
        is_shared=unit[1].is_shared,
    )


def _until(hold: Hold, back_ms: int | None, until_ms: int) -> Hold:
    """The hold, limited to the end of the data: a hold that reaches it may last longer."""
    end = hold.booked_until_ms
    if back_ms is None and end >= until_ms:
        return replace(hold, ended_ms=None, booked_until_ms=until_ms, ended_by="")
    return replace(hold, booked_until_ms=min(end, until_ms))
