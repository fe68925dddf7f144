"""The GPU requests of a pod: units of each resource, and what one unit is on its node."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction

from accounting.metering.rules.inventory.records import PodRecord
from accounting.metering.rules.units.gpu_units import GpuUnit, NodeFacts, unit_of
from accounting.metering.rules.units.resources import PART_RESOURCES


def effective_requests(pod: PodRecord) -> dict[str, int]:
    """Units of each GPU resource that the scheduler reserves for a pod's whole lifetime.

    sidecars + max(sum of main, largest init): kube-state does not show the order of init
    containers, so sidecars count as started before each of them (rules.md "Requests").
    """
    main: dict[str, int] = defaultdict(int)
    side: dict[str, int] = defaultdict(int)
    init: dict[str, int] = defaultdict(int)
    for (kind, container, resource), units in pod.requests.items():
        if kind == "main":
            main[resource] += units
        elif container in pod.sidecars:
            side[resource] += units
        else:
            init[resource] = max(init[resource], units)
    resources = {*main, *side, *init} - PART_RESOURCES
    found = {r: side[r] + max(main[r], init[r]) for r in sorted(resources)}
    return {resource: units for resource, units in found.items() if units > 0}


def units_of(
    pod: PodRecord, facts: NodeFacts, added: Mapping[str, Fraction]
) -> Iterable[tuple[str, int, GpuUnit]]:
    """The resources that a pod holds: name, units, and what one unit is on its node."""
    for resource, units in effective_requests(pod).items():
        unit = unit_of(resource, facts, added)
        if unit is not None:
            yield resource, units, unit
