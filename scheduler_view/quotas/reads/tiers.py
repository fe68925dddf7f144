"""Priority tiers as rows, highest first."""

from collections.abc import Mapping

from accounting.kit.rows import column, listed
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.clusters import clusters_named
from scheduler_view.quotas.mapping import tier_of
from scheduler_view.quotas.models import Tier
from scheduler_view.quotas.reads.desired import quota_targets, tiers
from scheduler_view.quotas.reads.resource_use import pods_by_class
from scheduler_view.quotas.rules.tiers import PREEMPTS


@listed("TierRow")
class TierRow:
    """One priority tier.

    Attributes:
        class_name: the PriorityClass that new pods name.
        old_classes: earlier versions, which pods may still have.
        pods: running GPU pods by class.
        quotas: number of quotas for this tier only.
    """

    cluster: str = column()
    name: str = column(head="Tier")
    value: int = column()
    preempts: bool = column(head="Others")
    is_default: bool = column()
    description: str = column()
    class_name: str = column("PriorityClass of new pods", head="PriorityClass")
    old_classes: tuple[str, ...] = column()
    pods: dict[str, int] = column(head="GPU pods now")
    quotas: int = column()
    version: int = column("pass it with an edit", head="Set by")

    @property
    def message(self) -> str:
        """The effect of its pods on others."""
        return "preempts lower tiers" if self.preempts else "does not preempt"


def tier_rows(*, cluster: str = "") -> list[TierRow]:
    """Tiers of all clusters, or of one; readable by everybody who is signed in."""
    found: list[TierRow] = []
    for one in clusters_named(cluster):
        rows = tiers(one)
        pods = pods_by_class(one.pk) if rows else {}
        quotas = [target.tier for target in quota_targets(one)]
        found += [_row(one, row, pods, quotas.count(row.name)) for row in rows]
    return found


def _row(cluster: Cluster, row: Tier, pods: Mapping[str, int], quotas: int) -> TierRow:
    state = tier_of(row)
    return TierRow(
        cluster=cluster.name,
        name=row.name,
        value=row.value,
        preempts=state.spec.policy == PREEMPTS,
        is_default=row.is_default,
        description=row.description,
        class_name=row.class_name,
        old_classes=tuple(row.old_classes),
        pods={name: pods[name] for name in state.classes if name in pods},
        quotas=quotas,
        version=row.version,
    )
