"""Resources that an administrator names, beside those that the product knows."""

from collections.abc import Mapping
from fractions import Fraction

from accounting.actions import windows
from accounting.audit import Actor, act
from accounting.domain.period import Period, to_ms
from accounting.models import AddedResource, Cluster, SourceKind
from accounting.queries.resources import added_resources
from accounting.queries.windows import database_now

END_MS = 253_402_300_799_000  # the year 9999
ASKED_AGAIN_MS = 7 * 86_400_000  # Prometheus may have forgotten what is older (N1)


def set_resources(wanted: Mapping[str, Fraction], *, actor: Actor, reason: str) -> bool:
    """Make these the added resources; True when any differed.

    Samples of a resource are no evidence before it is named, so every window whose samples
    are at hand is computed anew: all that the product keeps, and a week of Prometheus'.
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
        now_ms = to_ms(database_now())
        for cluster in Cluster.objects.all():
            is_asked = cluster.sources.filter(
                kind=SourceKind.PROMETHEUS, is_active=True
            ).exists()
            start_ms = now_ms - ASKED_AGAIN_MS if is_asked else 0
            windows.mark_existing(cluster.pk, [Period(start_ms, END_MS)], "resources")
    return True
