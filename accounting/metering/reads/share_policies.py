"""The share policies of clusters over time (`metering.rules.units.share_policy`)."""

from datetime import datetime

from django.db.models.functions import Now

from accounting.core.interval import to_ms
from accounting.kit.reads.selection import FIRST, LAST, Selection
from accounting.metering.models.cluster import Cluster, SharePolicy
from accounting.metering.rules.units.mig_profiles import Policy
from accounting.metering.rules.units.share_policy import Policies


def share_policies(cluster_id: int) -> Policies:
    """The policies of a cluster, each with its start (ms)."""
    rows = SharePolicy.objects.filter(cluster_id=cluster_id).order_by("valid_from")
    return [(to_ms(row.valid_from), Policy(row.policy)) for row in rows]


def policies_now() -> dict[int, str]:
    """The current policy of each cluster that ever set one, by the database's clock; one query."""
    rows = SharePolicy.objects.filter(valid_from__lte=Now()).order_by("valid_from")
    return dict(rows.values_list("cluster_id", "policy"))  # the last one remains


def policies_in(selection: Selection) -> tuple[str, ...]:
    """The ids of the policies that apply in a selection's clusters and period."""
    clusters = Cluster.objects.all()
    if names := selection.filters.get("cluster"):
        clusters = clusters.filter(name__in=names)
    period = selection.period
    low, high = (FIRST, LAST) if period is None else (period.start, period.end)
    starts: dict[int, list[tuple[datetime, str]]] = {
        pk: [] for pk in clusters.values_list("pk", flat=True)
    }
    rows = SharePolicy.objects.filter(cluster__in=starts, valid_from__lt=high)
    for row in rows.order_by("valid_from"):
        starts[row.cluster_id].append((row.valid_from, row.policy))
    found: set[str] = set()
    for known in starts.values():
        before = [name for at, name in known if at <= low][-1:] or [
            Policy.COMPUTE.value
        ]
        found.update(before, (name for at, name in known if at > low))
    return tuple(sorted(found))
