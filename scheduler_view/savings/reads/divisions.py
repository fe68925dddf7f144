"""How the GPUs of nodes are divided: into MIG instances, or shared (rules.md "Units")."""

from collections.abc import Collection

from accounting.metering.models.cluster import NodeFact
from accounting.metering.reads.resources import added_resources
from accounting.metering.rules.units.gpu_units import NodeFacts, unit_of
from accounting.metering.rules.units.resources import kubernetes_resource, sanitised
from scheduler_view.savings.rules.wording import Division


def divisions(nodes: Collection[int]) -> dict[int, Division]:
    """By number of the node, from its latest capacity and labels; whole ones are left out."""
    if not nodes:
        return {}
    added = added_resources()
    spellings = {sanitised(resource): resource for resource in added}
    found: dict[int, Division] = {}
    facts = NodeFact.objects.filter(node_id__in=nodes)
    for fact in facts.order_by("node_id", "-valid_from").distinct("node_id"):
        capacity = {
            kubernetes_resource(spelled, spellings) or spelled: int(units)
            for spelled, units in fact.capacity.items()
        }
        of_node = NodeFacts(capacity, fact.labels)
        units = [unit_of(resource, of_node, added) for resource in capacity]
        if any(unit and unit.kind for unit in units):
            found[fact.node_id] = Division.MIG
        elif any(unit and unit.is_shared for unit in units):
            found[fact.node_id] = Division.SHARED
    return found
