"""When a pod's holds start and end (rules.md N10, N11, N13)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from accounting.core.interval import FAR_MS, WINDOW_MS
from accounting.metering.rules.inventory.kube_state.visibility import (
    KubeState,
    pod_shown,
)
from accounting.metering.rules.inventory.labels import LabeledSlot, Labels
from accounting.metering.rules.inventory.nodes import NodeLife, node_facts
from accounting.metering.rules.inventory.records import NodeRecord, PodRecord
from accounting.metering.rules.inventory.requests import units_of
from accounting.metering.rules.units.gpu_units import NodeFacts


@dataclass(frozen=True, slots=True)
class End:
    """Where a pod's holds end; `ended_ms` is None while they last or the end is not known (N11)."""

    ended_ms: int | None
    booked_until_ms: int
    ended_by: str
    inferred_from_ms: int | None = None


def end_of(  # noqa: PLR0913, PLR0917  # all that is known of a pod
    pod: PodRecord,
    node: NodeRecord | None,
    state: KubeState,
    labels: Labels,
    until_ms: int,
    lives: Sequence[NodeLife] = (),
    others: Sequence[PodRecord] = (),
) -> End:
    """The earliest of the ends of N11; labels continue a hold while kube-state is not seen (N13).

    Args:
        pod: the holder.
        node: of the hold.
        state: kube-state's scrapes.
        labels: of GPU samples.
        until_ms: where the data end.
        lives: of the node's name; a node object that ended before a sample of the pod did not end
            its hold.
        others: pods that GPU samples name instead of it: KAI's reservation pods.
    """
    bound = bound_ms(pod)
    if is_refused(pod):
        return End(bound, bound, pod.terminal_phase)
    facts = node_facts(node, bound)
    named = [
        slot
        for one in (pod, *others)
        for slot in labels.of(one.namespace, one.name, one.uid, pod.node)
    ]
    ends: list[tuple[int, int, str]] = []
    if pod.terminal_first_ms is not None:
        finished = pod.completion_ms
        at = pod.terminal_first_ms if finished is None else finished
        ends.append((at, 0, pod.terminal_phase))
    if state.is_lacked(pod_shown(pod), pod.last_ms):
        step = state.step_at(pod.last_ms, pod.scrapers)
        ends.append((pod.last_ms + step, 1, "gone"))
    gone = [life.end_ms for life in lives if life.end_ms is not None]
    ends.extend((at, 1, "gone") for at in gone if at > max(bound, pod.last_ms))
    if not ends:
        unseen = state.unseen_from_ms(pod.last_ms) or pod.last_ms
        # a shard of other objects that is back does not show an end
        kept = _kept_until(pod, facts, labels, named, unseen, None)
        end = max(bound, min(kept, until_ms))
        return End(None, end, "", unseen if end > unseen else None)
    at, _, by = min(ends)
    at = max(at, bound)
    kept = at
    if by == "gone" and not state.is_seen(at):
        kept = _kept_until(pod, facts, labels, named, at, state.seen_again_ms(at))
    return End(kept, kept, by, at if kept > at else None)


def _kept_until(
    pod: PodRecord,
    facts: NodeFacts,
    labels: Labels,
    named: Iterable[LabeledSlot],
    since_ms: int,
    back_ms: int | None,
) -> int:
    """One step after the last sample with a pod's label before kube-state is seen again."""
    latest = since_ms
    units = units_of(pod, facts, {})  # a unit of an added resource is never shared
    is_shared = any(unit.is_shared for _, _, unit in units)
    for slot in named:
        shown = labels.counting(slot, is_shared=is_shared)
        times = shown.times
        low, high = np.searchsorted(times, [bound_ms(pod), back_ms or FAR_MS])
        if high > low:
            ends = times[int(low) : int(high)] + shown.steps[int(low) : int(high)]
            latest = max(latest, int(ends.max()))
    return latest if back_ms is None else min(latest, back_ms)


def bound_ms(pod: PodRecord) -> int:
    """The bind (N10): the scheduled time, else the first sample that shows a node."""
    if pod.scheduled_ms is not None:
        return pod.scheduled_ms
    return pod.first_ms if pod.node_first_ms is None else pod.node_first_ms


REFUSALS = (
    frozenset(  # of the kubelet's admission; others are also reasons of pods that ran
        {
            *("UnexpectedAdmissionError", "NodeAffinity", "TopologyAffinityError"),
            *("SMTAlignmentError", "NodeName", "NodePorts", "TaintToleration"),
            *("AppArmor", "SysctlForbidden", "InvalidNodeInfo", "PodOSNotSupported"),
        }
    )
)


def is_refused(pod: PodRecord) -> bool:
    """True for a pod that the kubelet refused at once: it never had a device (N11, trap T34).

    kube-state names few of the kubelet's reasons: without one, such a pod failed within five
    minutes of its bind, and no samples of GPUs named it before. A pod that ran, or whose containers
    ended, was not refused.
    """
    failed = pod.terminal_first_ms
    if failed is None or pod.terminal_phase != "Failed" or pod.has_run:
        return False
    if pod.completion_ms is not None:
        return False
    if pod.failed_reason in REFUSALS or pod.failed_reason.startswith("OutOf"):
        return True
    return not pod.was_named and failed - bound_ms(pod) <= WINDOW_MS
