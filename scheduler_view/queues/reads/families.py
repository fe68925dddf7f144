"""The family of waiting work (rules.md N41)."""

from collections.abc import Sequence

from accounting.metering.models.pod import Workload
from accounting.metering.rules.inventory.families import family_of
from scheduler_view.queues.reads.queued_units import QueuedUnitRow


def of_family(
    rows: Sequence[QueuedUnitRow], namespace: str, family: str
) -> list[QueuedUnitRow]:
    """The units of one family, in their order; one query.

    The family of a unit whose pods were seen is that of its workload, which a label may name; of
    another one it is what its name says.
    """
    here = [row for row in rows if row.namespace == namespace]
    if not here:
        return []
    seen = Workload.objects.filter(
        namespace__name=namespace, name__in={row.name for row in here}
    )
    known = {
        (cluster, kind, name): found
        for cluster, kind, name, found in seen.values_list(
            "cluster__name", "kind", "name", "family"
        )
    }
    return [
        row
        for row in here
        if (
            known.get((row.cluster, row.kind, row.name))
            or family_of(row.name, row.kind)
        )
        == family
    ]
