"""Holds: one pod keeping units of a resource from bind until its end (rules.md N9-N13).

Derived from an inventory as a whole; the same evidence always gives the same holds.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from accounting.domain.claim import Claims
from accounting.domain.fraction import (
    annotated,
    annotated_share,
    is_reservation,
    requested,
    stand_ins,
)
from accounting.domain.geometry import Part
from accounting.domain.inventory import Inventory, NodeRecord, PodRecord
from accounting.domain.issue import Issue
from accounting.domain.kube import KubeState
from accounting.domain.label import Labels
from accounting.domain.node import node_facts, node_lives
from accounting.domain.period import Period
from accounting.domain.resource import PART_RESOURCES
from accounting.domain.unit import WHOLE, NodeFacts, Unit, share_of, unit_of

FAR_MS = 253_402_300_799_000  # the year 9999


@dataclass(frozen=True, slots=True)
class Hold:
    """One pod uid holding one resource on one node, in [bound_ms, booked_until_ms).

    Attributes:
        resource: Kubernetes' spelling, e.g. `nvidia.com/gpu`.
        units: effective request.
        share: of one unit, of one GPU; 1 for a whole GPU.
        ended_ms: None while it lasts or nobody knows yet (N11).
        booked_until_ms: where its time ends; equals `ended_ms` when that is known.
        ended_by: `Succeeded`, `Failed`, `gone`, or "" while it lasts.
        inferred_from_ms: from here on only labels say that it lasts (N13); None: kube-state
            says so all the time.
        is_inferred: kube-state never shows it.
        kind: of its units: "" for whole GPUs and replicas, else a profile (N18).
        is_shared: several units stand for one GPU or instance (N17).
        names: other pods whose labels speak for this one: (namespace, name, uid) of KAI's
            reservation pods.
        parts: the GPUs and instances of its claims, as far as they are known.
        is_unit: it takes units of the node's capacity; claims and fractions do not.
    """

    uid: str
    namespace: str
    pod: str
    node: str
    resource: str
    units: int
    share: Fraction
    created_ms: int | None
    bound_ms: int
    ended_ms: int | None
    booked_until_ms: int
    ended_by: str = ""
    inferred_from_ms: int | None = None
    is_inferred: bool = False
    kind: str = WHOLE
    is_shared: bool = False
    names: tuple[tuple[str, str, str], ...] = ()
    parts: tuple[Part, ...] = ()
    is_unit: bool = True

    def active_at(self, instant_ms: int) -> bool:
        """True when it holds at an instant."""
        return self.bound_ms <= instant_ms < self.booked_until_ms


def effective_requests(pod: PodRecord) -> dict[str, int]:
    """Units of each GPU resource that the scheduler reserves for a pod's whole life.

    sidecars + max(sum of main, largest init): kube-state does not tell the order of init
    containers, so sidecars count as started before each of them (rules.md "requests").
    """
    main: dict[str, int] = defaultdict(int)
    side: dict[str, int] = defaultdict(int)
    init: dict[str, int] = defaultdict(int)
    for (kind, container, resource), units in pod.requests.items():
        if kind == "main":
            main[resource] += units
        elif container in pod.sidecars:
            side[resource] += units
        else:
            init[resource] = max(init[resource], units)
    resources = {*main, *side, *init} - PART_RESOURCES
    found = {r: side[r] + max(main[r], init[r]) for r in sorted(resources)}
    return {resource: units for resource, units in found.items() if units > 0}


def derive_holds(
    inventory: Inventory, state: KubeState, labels: Labels, until_ms: int
) -> list[Hold]:
    """Every hold that kube-state shows, by node, bind and uid.

    Args:
        inventory: evidence; pods that never had a node or a GPU request hold nothing.
        state: kube-state's scrapes.
        labels: whom GPU samples name.
        until_ms: where the data end; a hold that lasts is booked no further.
    """
    absent: dict[tuple[str, str], int] = {}
    holds: list[Hold] = []
    claims = Claims.of(inventory)
    ends: dict[str, _End] = {}
    for pod in inventory.pods.values():
        asks = pod.requests or pod.annotations or claims.of_pod(pod)
        if not pod.node or not asks or is_reservation(pod.namespace):
            continue
        end = _end(pod, inventory.nodes.get(pod.node), state, labels, until_ms)
        if end.ended_by == "gone":
            absent[pod.uid, pod.node] = pod.last_ms
        holds.extend(_holds_of(pod, inventory, end))
        ends[pod.uid] = end
    spans = {
        uid: (_bound(inventory.pods[uid]), end.booked_until_ms)
        for uid, end in ends.items()
    }
    for uid, end in ends.items():
        holds.extend(_claim_holds(inventory.pods[uid], inventory, end, claims, spans))
    ordered = sorted(holds, key=lambda h: (h.node, h.bound_ms, h.uid, h.resource))
    return _make_room(ordered, inventory, absent)


@dataclass(frozen=True, slots=True)
class _End:
    ended_ms: int | None
    booked_until_ms: int
    ended_by: str
    inferred_from_ms: int | None = None


def _end(
    pod: PodRecord,
    node: NodeRecord | None,
    state: KubeState,
    labels: Labels,
    until_ms: int,
) -> _End:
    """The earliest of the ends that N11 knows; labels keep a hold in the dark (N13)."""
    bound = _bound(pod)
    facts = node_facts(node, bound)
    ends: list[tuple[int, int, str]] = []
    if pod.terminal_first_ms is not None:
        finished = pod.completion_ms
        at = pod.terminal_first_ms if finished is None else finished
        ends.append((at, 0, pod.terminal_phase))
    if state.has_scrape_after(pod.last_ms, pod.scrapers):
        step = state.step_at(pod.last_ms, pod.scrapers)
        ends.append((pod.last_ms + step, 1, "gone"))
    gone = [life.end_ms for life in node_lives(node, state) if life.end_ms is not None]
    ends.extend((at, 1, "gone") for at in gone if at > bound)
    if not ends:
        unseen = state.last_seen_ms() or pod.last_ms
        kept = _kept_until(pod, facts, labels, unseen, None)
        end = max(bound, min(kept, until_ms))
        return _End(None, end, "", unseen if end > unseen else None)
    at, _, by = min(ends)
    at = max(at, bound)
    kept = at
    if by == "gone" and not state.is_seen(at):
        kept = _kept_until(pod, facts, labels, at, state.seen_again_ms(at))
    return _End(kept, kept, by, at if kept > at else None)


def _kept_until(
    pod: PodRecord,
    facts: NodeFacts,
    labels: Labels,
    since_ms: int,
    back_ms: int | None,
) -> int:
    """One step after the last sample with a pod's label before kube-state is back."""
    latest = since_ms
    units = _units(pod, facts, {})  # a unit that was added is never shared
    is_shared = any(unit.is_shared for _, _, unit in units)
    for named in labels.of(pod.namespace, pod.name, pod.uid, pod.node):
        shown = labels.counting(named, is_shared=is_shared)
        times = shown.times
        low, high = np.searchsorted(times, [_bound(pod), back_ms or FAR_MS])
        if high > low:
            ends = times[int(low) : int(high)] + shown.steps[int(low) : int(high)]
            latest = max(latest, int(ends.max()))
    return latest if back_ms is None else min(latest, back_ms)


def _bound(pod: PodRecord) -> int:
    """The bind (N10): the scheduled time, else the first sample that shows a node."""
    if pod.scheduled_ms is not None:
        return pod.scheduled_ms
    return pod.first_ms if pod.node_first_ms is None else pod.node_first_ms


def _holds_of(pod: PodRecord, inventory: Inventory, end: _End) -> Iterable[Hold]:
    facts = node_facts(inventory.nodes.get(pod.node), _bound(pod))
    limit = requested(pod, facts)
    for resource, units, unit in _units(pod, facts, inventory.added):
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
        names = tuple(
            (other.namespace, other.name, other.uid)
            for other in stand_ins(pod, inventory)
        )
        yield replace(found, names=names, is_unit=False)


def _claim_holds(
    pod: PodRecord,
    inventory: Inventory,
    end: _End,
    claims: Claims,
    spans: dict[str, tuple[int, int]],
) -> Iterable[Hold]:
    """What a pod holds by its claims; one that others share at the time is divided."""
    facts = node_facts(inventory.nodes.get(pod.node), _bound(pod))
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
    end: _End,
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
        bound_ms=_bound(pod),
        ended_ms=end.ended_ms,
        booked_until_ms=end.booked_until_ms,
        ended_by=end.ended_by,
        inferred_from_ms=end.inferred_from_ms,
        kind=kind,
        is_shared=is_shared,
    )


def _units(
    pod: PodRecord, facts: NodeFacts, added: Mapping[str, Fraction]
) -> Iterable[tuple[str, int, Unit]]:
    """What a pod holds: resource, units, and what one of them is on its node."""
    for resource, units in effective_requests(pod).items():
        unit = unit_of(resource, facts, added)
        if unit is not None:
            yield resource, units, unit


def unbooked(inventory: Inventory, period: Period) -> Iterable[Issue]:
    """Pods and instances of a period that cannot be booked: nothing of it reaches a bill."""
    yield from _unknown_instances(inventory, period)
    claims = Claims.of(inventory)
    for pod in inventory.pods.values():
        if (
            not pod.node
            or pod.last_ms < period.start_ms
            or pod.first_ms >= period.end_ms
        ):
            continue
        facts = node_facts(inventory.nodes.get(pod.node), _bound(pod))
        subject = f"{pod.namespace}/{pod.name}"
        for resource in effective_requests(pod):
            if unit_of(resource, facts, inventory.added) is None:
                yield Issue(
                    code="unknown_profile",
                    subject=f"{subject} {resource}",
                    message="No GPU of this node can have such a part: it is not booked.",
                    advice="Check the node's model label and the name of the resource.",
                    first_ms=pod.first_ms,
                    last_ms=pod.last_ms,
                    severity="error",
                )
        share = annotated_share(pod, facts)
        if share is not None and share > 1:
            yield Issue(
                code="share_above_one",
                subject=subject,
                message=f"Its annotations ask for {float(share):g} of one GPU.",
                advice="Nothing is booked for it. Ask for several devices instead.",
                first_ms=pod.first_ms,
                last_ms=pod.last_ms,
                severity="error",
            )
        for record in claims.of_pod(pod):
            if not record.devices:
                yield Issue(
                    code="claim_without_device",
                    subject=f"{subject} {record.name}",
                    message="It has a resource claim, of which no device is known.",
                    advice="Let the portal read the Kubernetes API, or have the exporter "
                    "show claims (KUBERNETES_ENABLE_DRA).",
                    first_ms=pod.first_ms,
                    last_ms=pod.last_ms,
                )


def _unknown_instances(inventory: Inventory, period: Period) -> Iterable[Issue]:
    for uuid, gpu in inventory.gpus.items():
        for i, (at, instances) in enumerate(gpu.geometry):
            later = gpu.geometry[i + 1 :]
            end = later[0][0] if later else period.end_ms
            if at >= period.end_ms or end <= period.start_ms:
                continue
            for kind in sorted({kind for _, kind in instances}):
                if not kind or share_of(kind, gpu.model) is None:
                    yield Issue(
                        code="unknown_profile",
                        subject=f"{uuid} {kind}",
                        message="No GPU of this model has such an instance: its time is "
                        "stranded.",
                        advice="Check the exporter's labels GPU_I_PROFILE and modelName.",
                        first_ms=max(at, period.start_ms),
                        last_ms=min(end, period.end_ms),
                        severity="error",
                    )


def _make_room(
    holds: list[Hold], inventory: Inventory, absent: dict[tuple[str, str], int]
) -> list[Hold]:
    """End holds by absence where a later bind needs their units (N11).

    Args:
        holds: by node, bind and uid.
        inventory: for the capacity of nodes.
        absent: last sample of the pods whose hold ends by absence.
    """
    result = list(holds)
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, hold in enumerate(holds):
        if not hold.is_unit:
            continue
        groups[hold.node, hold.resource].append(i)
    for (node, resource), members in groups.items():
        for position, i in enumerate(members):
            bind = result[i].bound_ms
            facts = node_facts(inventory.nodes.get(node), bind)
            limit = facts.capacity.get(resource)
            if limit is None:
                continue
            active = [j for j in members[: position + 1] if result[j].active_at(bind)]
            held = sum(result[j].units for j in active)
            leaving = sorted(
                (absent[result[j].uid, node], result[j].uid, j)
                for j in active
                if j != i and absent.get((result[j].uid, node), bind) < bind
            )
            for _, _, j in leaving:
                if held <= limit:
                    break
                held -= result[j].units
                result[j] = _ended_at(result[j], bind)
    return result


def _ended_at(hold: Hold, bind_ms: int) -> Hold:
    """An absent hold, ended by a later bind that needs its units."""
    inferred = hold.inferred_from_ms
    if inferred is not None and inferred >= bind_ms:
        inferred = None
    return replace(
        hold,
        ended_ms=bind_ms,
        booked_until_ms=bind_ms,
        ended_by="gone",
        inferred_from_ms=inferred,
    )
