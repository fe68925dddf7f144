"""The desired quotas of teams in thousandths of a GPU (money.md M23)."""

from fractions import Fraction

from accounting.core.rounding import half_even
from accounting.metering.models.cluster import Cluster
from accounting.metering.rules.units.gpu_units import unit_of
from scheduler_view.clusters.rules.quota_key import is_dra
from scheduler_view.quotas.models import QuotaTarget
from scheduler_view.quotas.reads.supply import Supply, supply_of


def milli_gpus_of(cluster: Cluster) -> dict[int, int]:
    """The quota of each team in a cluster, by team id.

    A unit of a resource is its mean share of a GPU on the cluster's nodes. Of a resource the quota
    for all pods counts; without one, the sum of the quotas of its tiers.
    """
    supply = supply_of(cluster)
    units: dict[tuple[int, str], dict[bool, int]] = {}
    for target in QuotaTarget.objects.filter(cluster=cluster):
        sums = units.setdefault((target.team_id, target.resource), {})
        is_of_all = target.tier == ""
        sums[is_of_all] = sums.get(is_of_all, 0) + target.gpus
    exact: dict[int, Fraction] = {}
    for (team, resource), sums in units.items():
        count = sums.get(True, sums.get(False, 0))
        share = _share(resource, supply)
        exact[team] = exact.get(team, Fraction(0)) + count * share * 1000
    return {team: int(half_even(amount, 0)) for team, amount in exact.items()}


def _share(resource: str, supply: Supply) -> Fraction:
    """The mean share of a GPU of one unit; 1 where no node has it."""
    shares, count = Fraction(0), 0
    for kind in supply.kinds:
        units = kind.facts.capacity.get(resource, 0) * kind.nodes
        unit = None if is_dra(resource) else unit_of(resource, kind.facts, supply.added)
        if unit is not None and units:
            shares += unit.share * units
            count += units
    return shares / count if count else Fraction(1)
