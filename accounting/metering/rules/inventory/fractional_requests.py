"""Parts of GPUs that pods request by other means than units: KAI's and HAMi's (trap T21).

KAI: annotations on a pod without a GPU request; a reservation pod in a namespace of KAI
requests the whole GPU for it, and both have the label of one GPU group. HAMi: a unit
of `nvidia.com/gpu` with `nvidia.com/gpucores` (percent) or `nvidia.com/gpumem` (MiB).
Sources: KAI-Scheduler `docs/gpu-sharing`; HAMi `docs/config.md`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

from accounting.metering.rules.inventory.records import Inventory, PodRecord
from accounting.metering.rules.units.gpu_units import NodeFacts, number_in
from accounting.metering.rules.units.resources import CORES, MEMORY, MEMORY_PERCENT

FRACTIONS = ("gpu_fraction", "gpu_memory", "gpu_fraction_num_devices")
_RESERVING = frozenset({"kai-resource-reservation", "runai-reservation"})
_GROUPS = ("label_runai_gpu_group", "label_runai_io_gpu_group")


def is_reservation(namespace: str) -> bool:
    """True for the namespaces of reservation pods, which hold nothing themselves."""
    return namespace in _RESERVING


def annotated(pod: PodRecord, facts: NodeFacts) -> tuple[int, Fraction] | None:
    """Devices and the share of each that a pod's annotations request; None without any."""
    share = annotated_share(pod, facts)
    if share is None or not 0 < share <= 1:
        return None
    devices = number_in(pod.annotations.get("gpu_fraction_num_devices", ""))
    return devices if 0 < devices < 100 else 1, share


def annotated_share(pod: PodRecord, facts: NodeFacts) -> Fraction | None:
    """The share of a GPU in the annotations, even if it is not possible."""
    share = _ratio(pod.annotations.get("gpu_fraction", ""))
    total = facts.number("gpu_memory")
    memory = number_in(pod.annotations.get("gpu_memory", ""))
    if share is None and memory and total:
        share = Fraction(memory, total)
    return share


def _ratio(text: str) -> Fraction | None:
    digits = text.replace(".", "", 1)
    is_plain = digits.isascii() and digits.isdecimal() and len(text) <= 10
    return Fraction(text) if is_plain else None


def requested(pod: PodRecord, facts: NodeFacts) -> Fraction | None:
    """The share of each of its GPUs to which a pod's requests limit it; None without any."""
    asked = {
        name: max((n for (_, _, r), n in pod.requests.items() if r == name), default=0)
        for name in (CORES, MEMORY, MEMORY_PERCENT)
    }
    total = facts.number("gpu_memory")
    percent = asked[CORES] or asked[MEMORY_PERCENT]
    if percent:
        return min(Fraction(percent, 100), Fraction(1))
    if asked[MEMORY] and total:
        return min(Fraction(asked[MEMORY], total), Fraction(1))
    return None


def reservations(inventory: Inventory) -> Mapping[str, Sequence[PodRecord]]:
    """All reservation pods, by node."""
    found: dict[str, list[PodRecord]] = defaultdict(list)
    for pod in inventory.pods.values():
        if is_reservation(pod.namespace):
            found[pod.node].append(pod)
    return found


def stand_ins(
    pod: PodRecord, reserved: Mapping[str, Sequence[PodRecord]]
) -> tuple[PodRecord, ...]:
    """The reservation pods that samples name instead of a pod: of its node and group.

    Args:
        pod: of any namespace.
        reserved: from `reservations`.
    """
    groups = _groups(pod)
    here = reserved.get(pod.node, ()) if groups else ()
    return tuple(other for other in here if groups & _groups(other))


def _groups(pod: PodRecord) -> set[str]:
    return {
        labels[key] for _, labels in pod.labels for key in _GROUPS if labels.get(key)
    }
