"""Holds: one pod keeping units of a resource from bind until its end (rules.md N9-N13).

Derived from an inventory as a whole; the same evidence always gives the same holds.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from accounting.domain.inventory import Inventory, NodeRecord, PodRecord
from accounting.domain.kube import KubeState, kube_state
from accounting.domain.track import DEFAULT_STEP_MS, lower_median_gap, step_period
from accounting.domain.unit import NodeFacts, unit_share

Value = TypeVar("Value")


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
    is_inferred: bool = False

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
    resources = {*main, *side, *init}
    found = {r: side[r] + max(main[r], init[r]) for r in sorted(resources)}
    return {resource: units for resource, units in found.items() if units > 0}


def as_of(history: Sequence[tuple[int, Value]], instant_ms: int) -> Value | None:
    """The value in force at an instant; before the first one, the first (N24)."""
    if not history:
        return None
    i = bisect_right([item[0] for item in history], instant_ms)
    return history[max(0, i - 1)][1]


def node_facts(node: NodeRecord | None, instant_ms: int) -> NodeFacts:
    """Capacity and labels of a node at an instant."""
    if node is None:
        return NodeFacts()
    return NodeFacts(
        as_of(node.capacity, instant_ms) or {}, as_of(node.labels, instant_ms) or {}
    )


def derive_holds(inventory: Inventory, until_ms: int) -> list[Hold]:
    """Every hold that the evidence shows, by node, bind and uid.

    Args:
        inventory: evidence; pods that never had a node or a GPU request hold nothing.
        until_ms: where the data end; a hold that lasts is booked no further.
    """
    state = kube_state(inventory)
    named = _last_named(inventory)
    absent: dict[tuple[str, str], int] = {}
    holds: list[Hold] = []
    for pod in inventory.pods.values():
        if not pod.node or not pod.requests:
            continue
        kept = named.get((pod.namespace, pod.name), 0)
        end = _end(pod, inventory.nodes.get(pod.node), state, kept, until_ms)
        if end.by_absence:
            absent[pod.uid, pod.node] = pod.last_ms
        holds.extend(_holds_of(pod, inventory, end))
    ordered = sorted(holds, key=lambda h: (h.node, h.bound_ms, h.uid, h.resource))
    return _make_room(ordered, inventory, absent)


@dataclass(frozen=True, slots=True)
class _End:
    ended_ms: int | None
    booked_until_ms: int
    ended_by: str
    by_absence: bool


def _last_named(inventory: Inventory) -> dict[tuple[str, str], int]:
    """Until when the last sample with a pod's label keeps it, by namespace and name."""
    found: dict[tuple[str, str], int] = {}
    for (_, _, _, name), times in inventory.gpu_labels.items():
        if not len(times):
            continue
        last = int(times[-1])
        step = lower_median_gap(times.tolist(), step_period(last)) or DEFAULT_STEP_MS
        key = (name.namespace, name.pod)
        found[key] = max(found.get(key, 0), last + step)
    return found


def _end(
    pod: PodRecord,
    node: NodeRecord | None,
    state: KubeState,
    named_until_ms: int,
    until_ms: int,
) -> _End:
    """The earliest of the ends that N11 knows."""
    bound = _bound(pod)
    ends: list[tuple[int, str, bool]] = []
    if pod.terminal_first_ms is not None:
        finished = pod.completion_ms
        at = pod.terminal_first_ms if finished is None else finished
        ends.append((at, pod.terminal_phase, False))
    if state.has_scrape_after(pod.last_ms, pod.scrapers):
        step = state.step_at(pod.last_ms, pod.scrapers)
        ends.append((pod.last_ms + step, "gone", True))
    gone = node_end(node, bound, state)
    if gone is not None:
        ends.append((gone, "gone", False))
    if ends:
        at, by, absent = min(ends, key=lambda end: end[0])
        return _End(max(at, bound), max(at, bound), by, absent)
    last = max(state.last_seen_ms() or pod.last_ms, named_until_ms)
    return _End(None, max(bound, min(last, until_ms)), "", by_absence=False)


def _bound(pod: PodRecord) -> int:
    """The bind (N10): the scheduled time, else the first sample that shows a node."""
    if pod.scheduled_ms is not None:
        return pod.scheduled_ms
    return pod.first_ms if pod.node_first_ms is None else pod.node_first_ms


def node_end(node: NodeRecord | None, after_ms: int, state: KubeState) -> int | None:
    """When the node object that was there after an instant went; None while it stays.

    A name that comes back within 1.5 steps was never gone (spans are merged so).
    """
    if node is None:
        return None
    starts = [span.first_ms for span in node.spans[1:]]
    for span, back_ms in zip(node.spans, [*starts, None], strict=False):
        end = span.last_ms + span.step_ms
        if end > after_ms and state.has_scrape_between(span.last_ms, back_ms):
            return end  # kube-state was read and did not show it
    return None


def _holds_of(pod: PodRecord, inventory: Inventory, end: _End) -> Iterable[Hold]:
    bound = _bound(pod)
    facts = node_facts(inventory.nodes.get(pod.node), bound)
    for resource, units in effective_requests(pod).items():
        yield Hold(
            uid=pod.uid,
            namespace=pod.namespace,
            pod=pod.name,
            node=pod.node,
            resource=resource,
            units=units,
            share=unit_share(resource, facts),
            created_ms=pod.created_ms,
            bound_ms=bound,
            ended_ms=end.ended_ms,
            booked_until_ms=end.booked_until_ms,
            ended_by=end.ended_by,
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
                if absent.get((result[j].uid, node), bind) < bind
            )
            for _, _, j in leaving:
                if held <= limit:
                    break
                held -= result[j].units
                result[j] = replace(
                    result[j], ended_ms=bind, booked_until_ms=bind, ended_by="gone"
                )
    return result
