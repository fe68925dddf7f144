"""The holders of each part of a node's GPUs in a segment (rules.md N17-N20).

Parts that samples name are mapped first, then the pools: units without a GPU fill the GPUs that
have unmapped shares.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.core.ledger_line import ESTIMATED, INFERRED
from accounting.metering.rules.attribution.node_timeline import NodeTimeline
from accounting.metering.rules.attribution.segment import Segment
from accounting.metering.rules.units.geometry import NO_INSTANCE, GpuPart


class Holder(NamedTuple):
    """The holder of a share of a GPU in a segment; `flags` show how it was determined."""

    uid: str
    share: Fraction
    flags: int = 0


Holders = tuple[Holder, ...]
_NOTHING = Fraction(0)
Order = dict[GpuPart, tuple[bool, int, GpuPart]]


def holders_of(
    segment: Segment, order: Order, timeline: NodeTimeline
) -> tuple[dict[GpuPart, Holders], list[Issue]]:
    """The holders of every GPU and instance of a node in a segment.

    Args:
        segment: of the node.
        order: in which the parts of a pool are filled; empty if the order does not matter.
        timeline: of the node.
    """
    issues: list[Issue] = []
    found: dict[GpuPart, Holders] = dict.fromkeys(segment.parts, ())
    for part, items in segment.mapped.items():
        own = segment.parts[part]
        if len(items) == 1 and items[0][1] == own:  # the most frequent case
            uid = items[0][0]
            found[part] = (Holder(uid, own, _inferred(uid, segment, timeline)),)
            continue
        total = sum((s for _, s in items), _NOTHING)
        scale, flag = None, 0
        if total > own:
            scale = total / own
            whole = all(share == own for _, share in items)
            code = "two_on_exclusive" if whole else "too_many_holders"
            issues.append(_too_much(code, part_name(part), segment.period, "a GPU"))
            flag = ESTIMATED
        found[part] = tuple(
            Holder(
                uid,
                share / scale if scale else share,
                flag | _inferred(uid, segment, timeline),
            )
            for uid, share in items
        )
    if segment.pools:
        rooms = segment.rooms()
        for kind in sorted(segment.pools):
            issues.extend(_fill(kind, segment, rooms, order, timeline, found))
    return found, issues


def weighed(
    segment: Segment, holders: Mapping[GpuPart, Holders]
) -> tuple[Segment, dict[GpuPart, Holders]]:
    """A segment and its holders with the shares of the policy that is valid then."""
    factors = segment.factors
    parts = {p: share * factors.get(p, 1) for p, share in segment.parts.items()}
    stranded = dict(segment.stranded)
    for uuid in {part.uuid for part in factors}:
        left = 1 - sum(share for part, share in parts.items() if part.uuid == uuid)
        stranded[uuid] = Fraction(left)
    found = {
        part: tuple(h._replace(share=h.share * factors.get(part, 1)) for h in those)
        for part, those in holders.items()
    }
    left_over = {uuid: left for uuid, left in stranded.items() if left}
    return replace(segment, parts=parts, stranded=left_over), found


def _fill(  # all inputs that determine the filling of a pool
    kind: str,
    segment: Segment,
    rooms: dict[GpuPart, Fraction],
    order: Order,
    timeline: NodeTimeline,
    found: dict[GpuPart, Holders],
) -> list[Issue]:
    """Fill the unmapped shares of a pool's GPUs with its holds, placeholders last (N18, N20)."""
    pool = segment.pools[kind]
    issues: list[Issue] = []
    those, wanted, room = _asked(kind, segment, rooms, timeline)
    if _is_choice(those, wanted, room):
        those.sort(key=order.__getitem__)
    left = wanted
    flag = INFERRED | (ESTIMATED if len(pool) > 1 else 0)
    # Without a GPU on the node, nothing can be scaled.
    if wanted > room and segment.parts:
        code = "more_held_than_there"
        issues.append(_too_much(code, timeline.node, segment.period, "a node's GPUs"))
        flag |= ESTIMATED
    shares: dict[Fraction, list[Holder]] = {}  # by the unmapped share of a part
    for part in those:
        take = min(rooms[part], left)
        if not take:
            continue  # another kind of unit has filled this placeholder
        left -= take
        rooms[part] -= take
        if take not in shares:
            shares[take] = [
                Holder(item.uid, take * item.weight / wanted, flag) for item in pool
            ]
        found[part] = _joined(found[part], shares[take])
    return issues


def has_choice(segment: Segment, timeline: NodeTimeline) -> bool:
    """Whether the result depends on the order of a pool's GPUs (N18)."""
    if not segment.pools:
        return False
    if len(segment.pools) > 1 and timeline.placeholders:
        # Units of one kind on a placeholder are not available to another kind.
        return True
    rooms = segment.rooms()
    return any(
        _is_choice(*_asked(kind, segment, rooms, timeline)) for kind in segment.pools
    )


def _asked(
    kind: str,
    segment: Segment,
    rooms: Mapping[GpuPart, Fraction],
    timeline: NodeTimeline,
) -> tuple[list[GpuPart], Fraction, Fraction]:
    """The parts that can serve a pool, the shares that its holds need, and the unmapped shares."""
    those = [
        part
        for part in rooms
        if part.kind == kind or part.uuid in timeline.placeholders
    ]
    wanted = sum((item.weight for item in segment.pools[kind]), _NOTHING)
    return those, wanted, sum((rooms[part] for part in those), _NOTHING)


def _is_choice(parts: Sequence[GpuPart], wanted: Fraction, room: Fraction) -> bool:
    """True if some of several parts stay free; otherwise all unmapped shares are used."""
    return wanted < room and len(parts) > 1


def _joined(known: Holders, more: Sequence[Holder]) -> Holders:
    """Holders of a part, with each pod once."""
    if not known:
        return tuple(more)
    by_uid = {holder.uid: holder for holder in known}
    for holder in more:
        before = by_uid.get(holder.uid)
        if before is not None:
            share, flags = before.share + holder.share, before.flags | holder.flags
            holder = Holder(holder.uid, share, flags)  # noqa: PLW2901  # the merged holder replaces it
        by_uid[holder.uid] = holder
    return tuple(by_uid.values())


def _inferred(uid: str, segment: Segment, timeline: NodeTimeline) -> int:
    """The flag of time that only labels show (N13, N19)."""
    if not timeline.inferred:
        return 0
    at = segment.period.start_ms
    spans = timeline.inferred.get(uid, ())
    return INFERRED if any(span.contains(at) for span in spans) else 0


def part_name(part: GpuPart) -> str:
    """The name of a part in issues: its GPU, and the instance if it is one."""
    if part.instance == NO_INSTANCE:
        return part.uuid
    return f"{part.uuid}/{part.instance} ({part.kind})"


def _too_much(code: str, subject: str, period: Interval, what: str) -> Issue:
    return Issue(
        code=code,
        subject=subject,
        message=f"Allocations exceed {what}. They are scaled to it.",
        advice="Check the node's capacity, labels and pods at that time.",
        first_ms=period.start_ms,
        last_ms=period.end_ms,
        at_stake_ms=period.length_ms,
    )
