"""Members of a gang that hold GPUs while others are missing, and gangs over too many nodes.

scheduling.md S20, S27.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scheduler_view.savings.rules.finding import WasteRule
from scheduler_view.savings.rules.pieces import Claim


@dataclass(frozen=True, slots=True)
class GangMember:
    """One pod of a gang.

    Attributes:
        pod: number of the pod.
        made_ms: when it was created, or first seen.
        gone_ms: when it ended; None while it exists.
        bound_ms: since when it holds its units; None if it never did.
        succeeded: it ended because its work was done.
        node, units: where it was bound, and how many units it held.
    """

    pod: int
    made_ms: int
    gone_ms: int | None = None
    bound_ms: int | None = None
    succeeded: bool = False
    node: str = ""
    units: int = 0


@dataclass(frozen=True, slots=True)
class Gang:
    """Pods that are of use only together.

    Attributes:
        members: of all attempts.
        size: declared; None where it is not: the most members that existed at once count.
        free: free units by node at its first bind, without the gang; empty if not known.
    """

    members: tuple[GangMember, ...]
    size: int | None = None
    free: Mapping[str, int] | None = None

    @property
    def needed(self) -> int:
        """How many members must hold their units."""
        return self.size or most_at_once(self.members)


def most_at_once(members: Iterable[GangMember]) -> int:
    """The largest number of members that existed at the same instant."""
    changes: list[tuple[int, int]] = []
    for one in members:
        changes.append((one.made_ms, 1))
        if one.gone_ms is not None:
            changes.append((one.gone_ms, -1))
    most = now = 0
    for _, change in sorted(changes):  # at one instant, ends come first
        now += change
        most = max(most, now)
    return most


def incomplete(gang: Gang, until_ms: int) -> dict[int, list[Claim]]:
    """The ranges in which bound members of a gang waited for others, by pod (S20).

    A member that succeeded is not missing; one that failed is, until another one is bound. The
    gang ends with its last member.

    Args:
        until_ms: now: where ranges that have not ended are cut.
    """
    needed = gang.needed
    held = [one for one in gang.members if one.bound_ms is not None]
    edges = {
        edge for one in held for edge in (one.bound_ms, one.gone_ms) if edge is not None
    }
    points = sorted({*edges, until_ms})
    found: dict[int, list[Claim]] = {}
    for start, end in _open_ranges(held, points, needed, until_ms):
        for one in held:
            bound = one.bound_ms if one.bound_ms is not None else end
            gone = until_ms if one.gone_ms is None else one.gone_ms
            low, high = max(start, bound), min(end, gone)
            if low < high:
                present = _bound_at(held, low)
                evidence = {"bound": present, "size": needed}
                claim = Claim(
                    WasteRule.GANG, low, high, takes_busy=True, evidence=evidence
                )
                found.setdefault(one.pod, []).append(claim)
    return found


def _open_ranges(
    held: Sequence[GangMember], points: Sequence[int], needed: int, until_ms: int
) -> list[tuple[int, int]]:
    """Maximal ranges with some, and too few, members bound."""
    found: list[tuple[int, int]] = []
    for start, end in pairwise(points):
        if end > until_ms:
            break
        bound = _bound_at(held, start)
        done = sum(
            1
            for one in held
            if one.succeeded and one.gone_ms is not None and one.gone_ms <= start
        )
        if bound and bound + done < needed:
            if found and found[-1][1] == start:
                found[-1] = (found[-1][0], end)
            else:
                found.append((start, end))
    return found


def _bound_at(held: Iterable[GangMember], at_ms: int) -> int:
    return sum(
        1
        for one in held
        if one.bound_ms is not None
        and one.bound_ms <= at_ms
        and (one.gone_ms is None or at_ms < one.gone_ms)
    )


def least_nodes(pods: Iterable[int], free: Mapping[str, int]) -> int | None:
    """The fewest nodes that hold pods of these units: greedy by most free, in whole pods.

    None if they do not fit.
    """
    left = sorted(pods, reverse=True)
    nodes = 0
    for _, units in sorted(free.items(), key=lambda item: (-item[1], item[0])):
        if not left:
            break
        room, waiting = units, []
        for pod in left:
            if pod <= room:
                room -= pod
            else:
                waiting.append(pod)
        nodes += len(waiting) < len(left)
        left = waiting
    return None if left else nodes


def spread(gang: Gang, until_ms: int) -> dict[int, list[Claim]]:
    """The holds of a gang on more nodes than it needed at its first bind, by pod (S27)."""
    first = [
        one
        for one in sorted(gang.members, key=lambda one: (one.bound_ms or 0, one.pod))
        if one.bound_ms is not None
    ][: gang.needed]
    nodes = {one.node for one in first}
    if gang.free is None or len(nodes) < 2:
        return {}
    fewest = least_nodes([one.units for one in first], gang.free)
    if fewest is None or fewest >= len(nodes):
        return {}
    evidence = {"nodes": len(nodes), "fewest_nodes": fewest}
    return {
        one.pod: [
            Claim(
                WasteRule.SPREAD,
                one.bound_ms or 0,
                until_ms if one.gone_ms is None else one.gone_ms,
                takes_busy=True,
                evidence=evidence,
            )
        ]
        for one in first
    }
