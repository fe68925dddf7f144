"""Which GPUs and instances a hold has: those whose samples name its pod (rules.md N17)."""

from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

from accounting.domain.geometry import Part
from accounting.domain.hold import Hold
from accounting.domain.label import Labels
from accounting.domain.period import Period
from accounting.domain.series import Times

Place = tuple[Part, str]  # a GPU or instance, and its vgpu: stands for one unit (N17)


NOT_CLAIMED: frozenset[Part] = frozenset()


def claimed_parts(holds: Iterable[Hold]) -> dict[str, frozenset[Part]]:
    """What each pod, by uid, has by its claims: labels there speak for no other hold of it."""
    found: dict[str, frozenset[Part]] = {}
    for hold in holds:
        if hold.parts:
            found[hold.uid] = found.get(hold.uid, NOT_CLAIMED) | frozenset(hold.parts)
    return found


def mapped_places(
    hold: Hold,
    labels: Labels,
    *,
    is_only: bool = True,
    claimed: frozenset[Part] = NOT_CLAIMED,
) -> list[Place]:
    """The places that a hold has for its whole life, most named first (N17).

    A label counts on the hold's node and, where the sample carries one, with its uid; on a
    shared GPU as `Labels.counting` says. At most one place for each unit.

    Args:
        hold: whose places.
        labels: of the cluster.
        is_only: the pod holds nothing else; else a place must be of the hold's kind.
        claimed: what the pod has by claims.
    """
    if hold.parts:
        return [(part, "") for part in hold.parts][: hold.units]
    times_of: dict[Place, list[Times]] = defaultdict(list)
    places = labels.of(hold.namespace, hold.pod, hold.uid, hold.node)
    for namespace, name, uid in hold.names:
        places = [*places, *labels.of(namespace, name, uid, hold.node)]
    for named in places:
        if named.part in claimed:
            continue
        if is_only or named.part.kind == hold.kind:
            times = labels.counting(named, is_shared=hold.is_shared).times
            low, high = np.searchsorted(times, [hold.bound_ms, hold.booked_until_ms])
            times_of[named.part, named.vgpu].append(times[int(low) : int(high)])
    counts = {
        place: len(parts[0])
        if len(parts) == 1
        else len(np.unique(np.concatenate(parts)))
        for place, parts in times_of.items()
    }
    ordered = sorted(counts, key=lambda place: (-counts[place], place))
    return [place for place in ordered if counts[place]][: hold.units]


def remapped(
    pairs: Iterable[tuple[Hold, Hold]], before: Labels, after: Labels
) -> list[Period]:
    """Where holds have other places than they had: all their time, since N17 looks at it all.

    Args:
        pairs: each hold as it was and as it is, all holds of their pods among them.
        before, after: the labels that they were and are mapped by.
    """
    every = list(pairs)
    if not every:
        return []
    held = Counter(now.uid for _, now in every)
    was_claimed, is_claimed = (
        claimed_parts(holds) for holds in zip(*every, strict=True)
    )
    found: list[Period] = []
    for was, now in every:
        is_only = held[now.uid] == 1
        had = was_claimed.get(was.uid, NOT_CLAIMED)
        has = is_claimed.get(now.uid, NOT_CLAIMED)
        old = mapped_places(was, before, is_only=is_only, claimed=had)
        new = mapped_places(now, after, is_only=is_only, claimed=has)
        if set(old) != set(new):
            start = min(was.bound_ms, now.bound_ms)
            end = max(was.booked_until_ms, now.booked_until_ms)
            found.append(Period(start, end))
    return found
