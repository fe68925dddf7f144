"""GPUs beyond the capacity of their node, and GPUs on unknown nodes (rules.md N40).

Samples of an exporter alone do not make a GPU billable: kube-state must confirm it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from accounting.core.interval import FAR_MS, HOUR_MS, Interval, union, without
from accounting.core.issue import Issue
from accounting.metering.rules.holds.gpu_location import in_one_place
from accounting.metering.rules.holds.presence_record import PresenceRecord
from accounting.metering.rules.inventory.nodes import NodeLife, node_facts
from accounting.metering.rules.inventory.records import (
    Inventory,
    NodeRecord,
    SampleSpan,
)
from accounting.metering.rules.inventory.resource_claims import is_behind_resource
from accounting.metering.rules.units.gpu_units import gpu_count

Added = Mapping[str, Fraction]
Spans = Mapping[str, Sequence[SampleSpan]]  # of one node, by UUID
Claimed = Mapping[str, set[str]]  # UUIDs, by node


def most_gpus(record: NodeRecord | None, until_ms: int, added: Added) -> int | None:
    """The highest number of GPUs that a node's capacity has represented, up to an instant.

    The labels of the node determine what a unit is, and may change while the number of units
    stays the same. None if no capacity is known.
    """
    if record is None or not record.capacity:
        return None
    first_ms = record.capacity[0][0]
    changes = {at for at, _ in (*record.capacity, *record.labels)}
    counts = [
        gpu_count(node_facts(record, at), added)
        for at in sorted(changes)
        if first_ms <= at <= until_ms
    ]
    return max(counts, default=None)


def claimed_gpus(inventory: Inventory) -> dict[str, set[str]]:
    """The UUIDs that claims were allocated, by node ("" if not known).

    They are not part of the node's capacity. Only for claims that the API or kube-state
    shows; not for those that back an extended resource.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for claim in inventory.claims.values():
        if is_behind_resource(claim) or not (claim.is_observed or claim.is_shown):
            continue
        for device in claim.devices:
            if device.uuid:
                found[device.node].add(device.uuid)
    return dict(found)


def room_of(
    record: NodeRecord | None, uuids: Iterable[str], added: Added, claimed: Claimed
) -> int | None:
    """How many of the UUIDs that were sampled on a node may be present at the same time.

    As many as its capacity ever represented, plus those that claims were allocated. None if no
    capacity is known, or if it never represented a GPU: a capacity that remains after claims
    replaced a device plugin is not evidence.
    """
    most = most_gpus(record, FAR_MS, added)
    if record is None or not most:
        return None
    given = claimed.get(record.name, set()) | claimed.get("", set())
    return most + len(given.intersection(uuids))


def within_capacity(
    presences: Sequence[PresenceRecord],
    spans: Spans,
    room: int | None,
    lives: Sequence[NodeLife] = (),
) -> list[PresenceRecord]:
    """The presences of a node, at no time of more UUIDs than its capacity ever represented.

    If the node was replaced under its name, those that were first sampled before its newest object
    are excluded first: an exporter of the old machine may report for minutes. Then those with the
    latest first sample on the node, then those with the larger UUID. A later capacity applies to
    all time.

    Args:
        presences, spans: of the node.
        room: `room_of` it.
        lives: the objects of the node.
    """
    if room is None or len({presence.uuid for presence in presences}) <= room:
        return list(presences)
    first = {uuid: found[0].first_ms for uuid, found in spans.items()}
    edges = {FAR_MS if p.end_ms is None else p.end_ms for p in presences}
    edges.update(p.start_ms for p in presences)
    replaced = [life.first_ms for life in lives[1:]]
    edges.update(at for at in replaced if min(edges) < at < max(edges))
    kept: dict[str, list[PresenceRecord]] = defaultdict(list)
    for start, end in pairwise(sorted(edges)):
        there = [p for p in presences if _covers(p, start)]
        newest = max((at for at in replaced if at <= start), default=0)
        there.sort(key=lambda p: (first[p.uuid] < newest, first[p.uuid], p.uuid))
        for presence in there[:room]:
            pieces = kept[presence.uuid]
            if pieces and pieces[-1].end_ms == start:
                pieces[-1] = replace(pieces[-1], end_ms=end)
            else:
                pieces.append(replace(presence, start_ms=start, end_ms=end))
    return [
        replace(piece, end_ms=None) if piece.end_ms == FAR_MS else piece
        for pieces in kept.values()
        for piece in pieces
    ]


def _covers(presence: PresenceRecord, instant_ms: int) -> bool:
    end_ms = FAR_MS if presence.end_ms is None else presence.end_ms
    return presence.start_ms <= instant_ms < end_ms


def unknown_nodes(inventory: Inventory, sampled: Mapping[str, Spans]) -> set[str]:
    """Nodes that GPU samples name and that kube-state should show but never does.

    kube-state was seen for an hour while such a GPU was sampled, and it shows other nodes: no pod
    can hold anything there. Before the end of that hour the node may only be late.

    Args:
        inventory: evidence.
        sampled: spans by UUID, by the node that they name.
    """
    if not any(record.spans for record in inventory.nodes.values()):
        return set()
    scraped = [
        Interval(span.first_ms, span.last_ms + span.step_ms)
        for scraper in inventory.scrapers.values()
        for span in scraper.spans
    ]
    seen = union(scraped)
    return {
        node
        for node, spans in sampled.items()
        if not _is_shown(inventory.nodes.get(node))
        and any(_together_ms(found, seen) >= HOUR_MS for found in spans.values())
    }


def _is_shown(record: NodeRecord | None) -> bool:
    return record is not None and bool(record.spans)


def _together_ms(spans: Sequence[SampleSpan], seen: Sequence[Interval]) -> int:
    """How long a GPU was sampled while kube-state was seen."""
    return sum(
        common.length_ms
        for span in spans
        for period in seen
        if (
            common := Interval(span.first_ms, span.last_ms + span.step_ms).intersection(
                period
            )
        )
    )


def beyond_capacity(
    inventory: Inventory, presences: Iterable[PresenceRecord], period: Interval
) -> list[Issue]:
    """The GPUs that were sampled in a period beyond the capacity of their node."""
    there: dict[tuple[str, str], list[Interval]] = defaultdict(list)
    for presence in presences:
        end_ms = FAR_MS if presence.end_ms is None else presence.end_ms
        key = (presence.node, presence.uuid)
        there[key].append(Interval(presence.start_ms, end_ms))
    uuids: dict[str, dict[str, list[SampleSpan]]] = defaultdict(dict)
    for gpu in inventory.gpus.values():
        for node, spans in in_one_place(gpu.nodes()).items():
            uuids[node][gpu.uuid] = spans
    found: list[Issue] = []
    claimed, added = claimed_gpus(inventory), inventory.added
    for node, on_node in sorted(uuids.items()):
        room = room_of(inventory.nodes.get(node), on_node, added, claimed)
        if room is not None and len(on_node) > room:
            for uuid, spans in sorted(on_node.items()):
                found.extend(
                    _beyond(node, uuid, spans, there[node, uuid], period, room)
                )
    return found


def _beyond(
    node: str,
    uuid: str,
    spans: Iterable[SampleSpan],
    there: Iterable[Interval],
    period: Interval,
    room: int,
) -> Iterable[Issue]:
    sampled = [
        part
        for span in spans
        if (
            part := Interval(span.first_ms, span.last_ms + span.step_ms).intersection(
                period
            )
        )
    ]
    left = without(sampled, there)
    if left:
        yield Issue(
            code="gpu_beyond_capacity",
            subject=uuid,
            message=f"Sampled on the node {node}, whose capacity was never more than {room}"
            f" GPU{'' if room == 1 else 's'}. It is not billed.",
            first_ms=left[0].start_ms,
            last_ms=left[-1].end_ms,
            at_stake_ms=sum(part.length_ms for part in left),
            severity="error",
        )
