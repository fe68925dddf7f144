"""Holds that only GPU labels show, while kube-state is not seen (rules.md N13)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import itemgetter
from typing import NamedTuple

from accounting.domain.fraction import is_reservation
from accounting.domain.hold import Hold
from accounting.domain.inventory import Inventory
from accounting.domain.kube import KubeState
from accounting.domain.label import Labels, Named, union_of
from accounting.domain.node import node_facts
from accounting.domain.period import Period
from accounting.domain.unit import NodeFacts, Unit, unit_of

WHOLE_GPU = "nvidia.com/gpu"


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

    And for each kind of unit, and each time that kube-state is not seen: it lasts from the
    first to one step after the last such sample then, at most until kube-state is seen
    again. Units are the places (GPU, instance, vgpu) that it names.
    """
    shown = {(pod.node, pod.namespace, pod.name) for pod in inventory.pods.values()}
    named: dict[_Who, list[Named]] = defaultdict(list)
    unit_by: dict[_Who, tuple[str, Unit]] = {}
    for place in labels.all():
        pod = place.pod
        who = (place.node, pod.namespace, pod.pod)
        is_shown = pod.uid in inventory.pods if pod.uid else who in shown
        if is_shown or is_reservation(pod.namespace):
            continue
        at = int(place.shown.times[0])
        facts = node_facts(inventory.nodes.get(place.node), at)
        found_unit = _unit(place.part.kind, facts, inventory.added)
        if found_unit is None:
            continue
        counting = labels.counting(place, is_shared=found_unit[1].is_shared)
        if len(counting.times):
            uid = pod.uid or f"{pod.namespace}/{pod.pod}"
            whom = _Who(*who, uid, place.part.kind)
            named[whom].append(replace(place, shown=counting))
            unit_by[whom] = found_unit
    found: list[Hold] = []
    for whom, places in sorted(named.items(), key=itemgetter(0)):
        found.extend(_holds(whom, places, unit_by[whom], state, until_ms))
    return found


def _unit(
    kind: str, facts: NodeFacts, added: Mapping[str, Fraction]
) -> tuple[str, Unit] | None:
    """The resource by which a node gives out units of a kind, and what one of them is."""
    for resource in sorted(facts.capacity, key=lambda name: (len(name), name)):
        unit = unit_of(resource, facts, added)
        if unit is not None and unit.kind == kind and facts.capacity[resource]:
            return resource, unit
    resource = f"nvidia.com/mig-{kind.replace('+', '.')}" if kind else WHOLE_GPU
    unit = unit_of(resource, facts, added)
    return None if unit is None else (resource, replace(unit, kind=kind))


def _holds(
    who: _Who,
    places: Sequence[Named],
    unit: tuple[str, Unit],
    state: KubeState,
    until_ms: int,
) -> Iterable[Hold]:
    shown = union_of(place.shown for place in places)
    times = shown.times.tolist()
    seen = state.seen(Period(times[0], times[-1] + 1))
    stretches: dict[int | None, list[int]] = defaultdict(list)  # by kube-state's return
    for i, at in enumerate(times):
        if not any(period.contains(at) for period in seen):
            stretches[state.seen_again_ms(at)].append(i)
    for back, members in stretches.items():
        start = times[members[0]]
        end = int((shown.times[members] + shown.steps[members]).max())
        end = end if back is None else min(end, back)
        units = sum(
            bool(
                ((p.shown.times >= start) & (p.shown.times <= times[members[-1]])).any()
            )
            for p in places
        )
        lasts = back is None and end >= until_ms
        yield Hold(
            uid=who.uid,
            namespace=who.namespace,
            pod=who.pod,
            node=who.node,
            resource=unit[0],
            units=units,
            share=unit[1].share,
            created_ms=None,
            bound_ms=start,
            ended_ms=None if lasts else end,
            booked_until_ms=min(end, until_ms),
            ended_by="" if lasts else "gone",
            inferred_from_ms=start,
            is_inferred=True,
            kind=unit[1].kind,
            is_shared=unit[1].is_shared,
        )
