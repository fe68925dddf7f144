"""How many cards a node of HAMi has, according to samples (rules.md "Units"; trap T32).

HAMi offers each card several times, and the node's capacity is the product. GPU feature
discovery, which would say how many cards there are, is not a part of HAMi.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from accounting.core.interval import FAR_MS, HOUR_MS
from accounting.metering.rules.inventory.records import (
    Inventory,
    NodeRecord,
    SampleSpan,
)
from accounting.metering.rules.units.gpu_units import HAMI_NODE, SAMPLED_CARDS
from accounting.metering.rules.units.resources import PART_RESOURCES

MOST_GPUS = 16  # no node has more of them: a larger capacity is of replicas


def note_divided(inventory: Inventory, uids: Iterable[str] = ()) -> set[str]:
    """Update which nodes are of HAMi, and their cards; returns the names of changed nodes.

    Args:
        inventory: changed in place.
        uids: of pods whose records changed: their requests may show that a node is of HAMi.
    """
    changed: set[str] = set()
    for uid in uids:
        pod = inventory.pods[uid]
        node = inventory.nodes.get(pod.node)
        asks = any(resource in PART_RESOURCES for _, _, resource in pod.requests)
        if node is not None and asks and not node.is_divided:
            node.is_divided = True
            changed.add(node.name)
    divided = {name for name, node in inventory.nodes.items() if _is_of_hami(node)}
    spans: dict[str, list[Sequence[SampleSpan]]] = defaultdict(list)
    for gpu in inventory.gpus.values() if divided else ():
        for name, found in gpu.nodes().items():
            if name in divided:
                spans[name].append(found)
    for name, node in inventory.nodes.items():
        cards = _most(spans[name], node.spans) if name in divided else 0
        if node.cards != cards:
            node.cards = cards
            changed.add(name)
    return changed


def sampled_cards(node: NodeRecord) -> dict[str, str]:
    """The cards of a node of HAMi, as a label of the node; at any time, those that it ever had."""
    return {SAMPLED_CARDS: str(node.cards)} if node.cards else {}


def _is_of_hami(node: NodeRecord) -> bool:
    """By a pod that requested parts, or by the label and a capacity that no GPUs have.

    The label alone is also what people write on plain nodes.
    """
    key, value = HAMI_NODE
    is_labeled = any(shown.get(key) == value for _, shown in node.labels)
    units = (shown.get("nvidia.com/gpu", 0) for _, shown in node.capacity)
    return node.is_divided or (is_labeled and max(units, default=0) > MOST_GPUS)


def _most(cards: Sequence[Sequence[SampleSpan]], objects: Sequence[SampleSpan]) -> int:
    """How many cards of a node were sampled at one time, at most.

    Cards that were sampled before the node was last absent are not counted beside newer ones until
    they have been sampled for an hour since: an exporter of a replaced machine reports for minutes.
    """
    absent = [span.last_ms for span in objects[:-1]]
    return max(_most_within(cards, *edges) for edges in pairwise([0, *absent, FAR_MS]))


def _most_within(
    cards: Sequence[Sequence[SampleSpan]], start_ms: int, end_ms: int
) -> int:
    changes: list[tuple[int, int, int, int]] = []
    for spans in cards:
        is_old = spans[0].first_ms <= start_ms
        is_newest = not is_old or spans[-1].last_ms >= start_ms + HOUR_MS
        for span in spans:
            first = max(span.first_ms, start_ms)
            last = min(span.last_ms + span.step_ms, end_ms)
            if first < last:
                changes.append((first, 1, is_old, is_newest))
                changes.append((last, -1, is_old, is_newest))
    old = newest = most = 0
    for _, change, of_old, of_newest in sorted(changes):
        old += change * of_old
        newest += change * of_newest
        most = max(most, old, newest)
    return most
