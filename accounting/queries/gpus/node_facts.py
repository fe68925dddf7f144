"""What the nodes that are there now last said of themselves: capacity, model, labels."""

from collections.abc import Mapping, Sequence

from django.db.models import Exists, F, OuterRef

from accounting.domain.core.read_once import read_together
from accounting.models import GpuPresence, NodeFact


@read_together
def present_facts(clusters: Sequence[int]) -> Mapping[int, Sequence[NodeFact]]:
    """The latest facts of each node of a cluster with a present GPU, or that never had any."""
    presences = GpuPresence.objects.filter(node=OuterRef("node"))
    rows = (
        NodeFact.objects.filter(
            Exists(presences.filter(end_ms=None)) | ~Exists(presences),
            node__cluster__in=clusters,
        )
        .annotate(cluster=F("node__cluster"))
        .order_by("node_id", "-valid_from")
        .distinct("node_id")
    )
    found: dict[int, list[NodeFact]] = {one: [] for one in clusters}
    for fact in rows:
        found[fact.cluster].append(fact)
    return found
