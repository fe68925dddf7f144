"""Which GPUs and instances a hold has: those whose samples name its pod (rules.md N17)."""

from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.inventory.labels import Labels
from accounting.metering.rules.samples.series import Times
from accounting.metering.rules.units.geometry import GpuPart

Place = tuple[
    GpuPart, str
]  # a GPU or instance, and its vgpu: represents one unit (N17)


NOT_CLAIMED: frozenset[GpuPart] = frozenset()


def claimed_parts(holds: Iterable[Hold]) -> dict[str, frozenset[GpuPart]]:
    """The devices of each pod's claims, by uid; their labels count for no other hold of it."""
    found: dict[str, frozenset[GpuPart]] = {}
    for hold in holds:
        if hold.parts:
            found[hold.uid] = found.get(hold.uid, NOT_CLAIMED) | frozenset(hold.parts)
    return found


def named_times(hold: Hold, labels: Labels) -> dict[Place, Times]:
    """The distinct sample times within a hold at which each place names it (N17).

    A label counts on the hold's node only and, if the sample has a uid, for that uid only; on a
    shared GPU as in `Labels.counting`.
    """
    times_of: dict[Place, list[Times]] = defaultdict(list)
    places = labels.of(hold.namespace, hold.pod, hold.uid, hold.node)
    for namespace, name, uid in hold.names:
        places = [*places, *labels.of(namespace, name, uid, hold.node)]
    for named in places:
        times = labels.counting(named, is_shared=hold.is_shared).times
        low, high = np.searchsorted(times, [hold.bound_ms, hold.booked_until_ms])
        if high > low:
            times_of[named.part, named.vgpu].append(times[int(low) : int(high)])
    return {
        place: parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
        for place, parts in times_of.items()
    }


def mapped_places(
    hold: Hold,
    labels: Labels,
    *,
    is_only: bool = True,
    claimed: frozenset[GpuPart] = NOT_CLAIMED,
) -> list[Place]:
    """The places of a hold, for its whole duration, the one with the most samples first (N17).

    At most one place for each unit. Samples of other hours count too (`hold.named`).

    Args:
        hold: the hold.
        labels: of the cluster.
        is_only: the pod has no other hold; otherwise a place must be of the hold's kind.
        claimed: devices of the pod's claims: labels there are used for no other hold of it.
    """
    if hold.parts:
        return [(part, "") for part in hold.parts][: hold.units]
    counts = Counter(hold.named)
    for place, times in named_times(hold, labels).items():
        counts[place] += len(times)
    allowed = [
        place
        for place, count in counts.items()
        if count and place[0] not in claimed and (is_only or place[0].kind == hold.kind)
    ]
    return sorted(allowed, key=lambda place: (-counts[place], place))[: hold.units]
