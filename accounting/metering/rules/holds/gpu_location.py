"""One GPU is in one place: a UUID that two nodes show (rules.md N15).

A UUID that is sampled on another node has moved there. If both nodes still sample it (a
copied UUID, an exporter with another node's name), it is on the node where its samples started
last, until they end there: so its time is counted once, and data health lists it.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.metering.rules.inventory.records import Inventory, SampleSpan

Spans = Mapping[str, Sequence[SampleSpan]]  # by node


def in_one_place(spans: Spans) -> dict[str, list[SampleSpan]]:
    """The same spans; an earlier span is cut where a later one of another node overlaps it."""
    if len(spans) < 2:
        return {node: list(found) for node, found in spans.items()}
    ordered = sorted(
        (
            (span.first_ms, node, span)
            for node, found in spans.items()
            for span in found
        ),
        key=lambda item: item[:2],
    )
    kept: dict[str, list[SampleSpan]] = {node: [] for node in spans}
    for n, (_, node, span) in enumerate(ordered):
        pieces = [span]
        for _, other, later in ordered[n + 1 :]:
            if other != node:
                pieces = [part for piece in pieces for part in _without(piece, later)]
        kept[node].extend(pieces)
    return {node: found for node, found in kept.items() if found}


def _without(span: SampleSpan, later: SampleSpan) -> list[SampleSpan]:
    """The rest of a span around a later one: it ends where that one starts."""
    end_ms = later.last_ms + later.step_ms
    if later.first_ms > span.last_ms or end_ms <= span.first_ms:
        return [span]
    found = []
    if span.first_ms < later.first_ms:
        found.append(SampleSpan(span.first_ms, later.first_ms - 1, 1))
    if end_ms <= span.last_ms:
        found.append(SampleSpan(end_ms, span.last_ms, span.step_ms))
    return found


def misplaced(
    inventory: Inventory,
    period: Interval,
    *,
    is_seen: bool,
    names: Mapping[str, str] | None = None,
) -> list[Issue]:
    """GPUs that two nodes show at the same time, and those on unknown nodes.

    Args:
        inventory: the evidence.
        period: in which to look.
        is_seen: kube-state is seen in it; otherwise it is not known which nodes are missing.
        names: by UUID, the labels that name its node, where they differ.
    """
    found: list[Issue] = []
    for uuid, gpu in sorted(inventory.gpus.items()):
        nodes = gpu.nodes()
        found.extend(_twice(uuid, nodes, period))
        for node, spans in nodes.items():
            record = inventory.nodes.get(node)
            shown = [s for s in spans if _meet(s, period) is not None]
            if is_seen and shown and (record is None or not record.spans):
                called = (names or {}).get(uuid) or node or "(no name)"
                found.append(_foreign(uuid, called, shown, period))
    return found


def _meet(span: SampleSpan, period: Interval) -> Interval | None:
    return Interval(span.first_ms, span.last_ms + 1).intersection(period)


def _twice(uuid: str, nodes: Spans, period: Interval) -> list[Issue]:
    together: list[Interval] = []
    names: set[str] = set()
    for (one, spans), (other, others) in combinations(sorted(nodes.items()), 2):
        for a in spans:
            for b in others:
                low = max(a.first_ms, b.first_ms, period.start_ms)
                high = min(a.last_ms, b.last_ms, period.end_ms)
                if low < high:
                    together.append(Interval(low, high))
                    names |= {one, other}
    if not together:
        return []
    return [
        Issue(
            code="gpu_in_two_places",
            subject=uuid,
            message=f"Sampled at the same time on {', '.join(sorted(names))}. It is booked where "
            "its samples began last.",
            first_ms=min(part.start_ms for part in together),
            last_ms=max(part.end_ms for part in together),
            at_stake_ms=sum(part.length_ms for part in together),
        )
    ]


def _foreign(
    uuid: str, called: str, spans: Sequence[SampleSpan], period: Interval
) -> Issue:
    first = max(spans[0].first_ms, period.start_ms)
    last = min(spans[-1].last_ms, period.end_ms)
    return Issue(
        code="foreign_gpu",
        subject=uuid,
        message=f"Its samples name the node {called}, which kube-state-metrics does "
        "not report. No pod can hold it and no team is charged for it.",
        first_ms=first,
        last_ms=last,
        at_stake_ms=max(0, last - first),
        severity="error",
    )
