"""Resources that an administrator adds to the ones that the product knows."""

from collections.abc import Mapping
from fractions import Fraction

from accounting.core.interval import FAR_MS, Interval
from accounting.kit.audit import Actor, act
from accounting.metering.models.cluster import AddedResource, Cluster
from accounting.metering.reads.resources import added_resources
from accounting.metering.tasks.windows import schedule


def set_resources(wanted: Mapping[str, Fraction], *, actor: Actor, reason: str) -> bool:
    """Replace the added resources; True if any differed.

    Samples of a resource are not used before it is added, so every window whose samples
    are available is recomputed.
    """
    with act(actor, reason):
        before = added_resources()
        if before == wanted:
            return False
        for row in AddedResource.objects.all():
            if wanted.get(row.resource) != row.share:
                row.delete()
        for resource, share in wanted.items():
            if before.get(resource) != share:
                AddedResource.objects.create(
                    resource=resource,
                    share_numerator=share.numerator,
                    share_denominator=share.denominator,
                )
        for cluster in Cluster.objects.all():
            schedule.mark_existing(cluster.pk, [Interval(0, FAR_MS)], "resources")
    return True
