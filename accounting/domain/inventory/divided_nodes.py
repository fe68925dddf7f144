"""How many cards a node of HAMi has, according to samples (rules.md "Units"; trap T32).

HAMi offers each card several times, and the node's capacity is the product. GPU feature
discovery, which would say how many cards there are, is not a part of HAMi.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from accounting.domain.inventory.records import Inventory, NodeRecord, SampleSpan
from accounting.domain.units.gpu_units import HAMI_NODE, SAMPLED_CARDS
from accounting.domain.units.resources import PART_RESOURCES


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
    spans: dict[str, list[SampleSpan]] = defaultdict(list)
    for gpu in inventory.gpus.values() if divided else ():
        for name, found in gpu.nodes().items():
            if name in divided:
                spans[name].extend(found)
    for name, node in inventory.nodes.items():
        cards = _most(spans[name]) if name in divided else 0
        if node.cards != cards:
            node.cards = cards
            changed.add(name)
    return changed


def sampled_cards(node: NodeRecord) -> dict[str, str]:
    """The cards of a node of HAMi, as a label of the node; at any time, those that it ever had."""
    return {SAMPLED_CARDS: str(node.cards)} if node.cards else {}


def _is_of_hami(node: NodeRecord) -> bool:
    key, value = HAMI_NODE
    return node.is_divided or any(shown.get(key) == value for _, shown in node.labels)


def _most(spans: Sequence[SampleSpan]) -> int:
    """How many spans there are at one time, at most."""
    changes = [(span.first_ms, 1) for span in spans]
    changes += [(span.last_ms + span.step_ms, -1) for span in spans]
    now = most = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most
