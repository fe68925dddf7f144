"""Every hold that kube-state shows (rules.md N9-N13).

Derived from a complete inventory; the same evidence always gives the same holds.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from accounting.metering.rules.holds.displacement import make_room
from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.holds.lifetime import End, bound_ms, end_of
from accounting.metering.rules.inventory.fractional_requests import (
    annotated,
    is_reservation,
    requested,
    reservations,
    stand_ins,
)
from accounting.metering.rules.inventory.kube_state.visibility import KubeState
from accounting.metering.rules.inventory.labels import Binds, Labels
from accounting.metering.rules.inventory.nodes import NodeLife, node_facts, node_lives
from accounting.metering.rules.inventory.records import Inventory, PodRecord
from accounting.metering.rules.inventory.requests import units_of
from accounting.metering.rules.inventory.resource_claims import Claims
from accounting.metering.rules.units.gpu_units import WHOLE


def derive_holds(
    inventory: Inventory, state: KubeState, labels: Labels, until_ms: int
) -> list[Hold]:
    """Every hold that kube-state shows, by node, bind and uid.

    Args:
        inventory: evidence; pods that never had a node or a GPU request hold nothing.
        state: kube-state's scrapes.
        labels: the pods that GPU samples name.
        until_ms: where the data end; a lasting hold is booked up to there.
    """
    absent: dict[tuple[str, str], int] = {}
    holds: list[Hold] = []
    claims = Claims.of(inventory)
    ends: dict[str, End] = {}
    lives: dict[str, list[NodeLife]] = {}
    holding = [pod for pod in inventory.pods.values() if _is_holding(pod, claims)]
    labels.binds = _binds(holding)
    reserved = reservations(inventory)
    for pod in holding:
        node = inventory.nodes.get(pod.node)
        if pod.node not in lives:
            lives[pod.node] = node_lives(node, state)
        others = stand_ins(pod, reserved) if pod.annotations else ()
        end = end_of(pod, node, state, labels, until_ms, lives[pod.node], others)
        if end.ended_by == "gone":
            absent[pod.uid, pod.node] = pod.last_ms
        holds.extend(_holds_of(pod, inventory, end, others))
        ends[pod.uid] = end
    spans = {
        uid: (bound_ms(inventory.pods[uid]), end.booked_until_ms)
        for uid, end in ends.items()
    }
    for uid, end in ends.items():
        holds.extend(_claim_holds(inventory.pods[uid], inventory, end, claims, spans))
    ordered = sorted(holds, key=lambda h: (h.node, h.bound_ms, h.uid, h.resource))
    return make_room(ordered, inventory, absent)


def _is_holding(pod: PodRecord, claims: Claims) -> bool:
    """True for a pod on a node that requests GPUs itself."""
    asks = pod.requests or pod.annotations or claims.of_pod(pod)
    return bool(pod.node and asks) and not is_reservation(pod.namespace)


def _binds(holding: Iterable[PodRecord]) -> Binds:
    """When holds of each name were bound, in order of bind and uid."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for pod in holding:
        found[pod.namespace, pod.name].append((bound_ms(pod), pod.uid))
    return {name: sorted(binds) for name, binds in found.items()}


def _holds_of(
    pod: PodRecord, inventory: Inventory, end: End, others: Sequence[PodRecord]
) -> Iterable[Hold]:
    """The holds of a pod's own requests; samples may name `others` instead."""
    facts = node_facts(inventory.nodes.get(pod.node), bound_ms(pod))
    limit = requested(pod, facts)
    for resource, units, unit in units_of(pod, facts, inventory.added):
        yield _hold(
            pod,
            end,
            resource,
            units,
            share=unit.share if limit is None else limit,
            kind=unit.kind,
            is_shared=unit.is_shared,
        )
    fraction = annotated(pod, facts) if not pod.requests else None
    if fraction is not None:
        units, share = fraction
        found = _hold(pod, end, "nvidia.com/gpu", units, share=share)
        names = tuple((other.namespace, other.name, other.uid) for other in others)
        yield replace(found, names=names, is_unit=False)


def _claim_holds(
    pod: PodRecord,
    inventory: Inventory,
    end: End,
    claims: Claims,
    spans: dict[str, tuple[int, int]],
) -> Iterable[Hold]:
    """The holds of a pod's claims; a claim that pods share at the time is divided."""
    facts = node_facts(inventory.nodes.get(pod.node), bound_ms(pod))
    for claim in claims.held(pod, facts, spans):
        found = _hold(
            pod,
            end,
            claim.resource,
            claim.units,
            share=claim.share,
            kind=claim.kind,
        )
        yield replace(found, parts=claim.parts, is_unit=False)


def _hold(  # noqa: PLR0913  # what a hold is made of
    pod: PodRecord,
    end: End,
    resource: str,
    units: int,
    *,
    share: Fraction,
    kind: str = WHOLE,
    is_shared: bool = False,
) -> Hold:
    return Hold(
        uid=pod.uid,
        namespace=pod.namespace,
        pod=pod.name,
        node=pod.node,
        resource=resource,
        units=units,
        share=share,
        created_ms=pod.created_ms,
        bound_ms=bound_ms(pod),
        ended_ms=end.ended_ms,
        booked_until_ms=end.booked_until_ms,
        ended_by=end.ended_by,
        inferred_from_ms=end.inferred_from_ms,
        kind=kind,
        is_shared=is_shared,
    )
