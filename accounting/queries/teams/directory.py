"""Teams, bindings, prices, clusters and namespaces without a team, as rows."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from accounting.access import Scope
from accounting.domain.core.money import amount_of
from accounting.domain.reports.rows import UsageRow
from accounting.domain.units.mig_profiles import Policy
from accounting.models import (
    Binding,
    Cluster,
    Membership,
    PriceKind,
    Team,
    TeamRole,
    UnitPrice,
)
from accounting.queries.gpus.fleet_count import fleets_by_cluster
from accounting.queries.paging import ALL_ROWS, Key, Seek, seek_rows
from accounting.queries.selection import Selection
from accounting.queries.share_policies import policies_now
from accounting.queries.usage.usage import usage_rows


@dataclass(frozen=True, slots=True)
class TeamRow:
    """One team that the person may read."""

    id: int
    slug: str
    name: str
    department: str
    cost_centre: str
    colour_slot: int
    leads: tuple[str, ...]


def team_key(row: TeamRow) -> Key:
    """The position of a team in `team_rows`."""
    return (row.slug,)


def team_rows(scope: Scope, seek: Seek = ALL_ROWS) -> list[TeamRow]:
    """Teams by slug; two queries."""
    teams = Team.objects.all()
    if scope.team_ids is not None:
        teams = teams.filter(pk__in=scope.team_ids)
    leads: dict[int, list[str]] = {}
    for team, name in (
        Membership.objects.filter(role=TeamRole.LEAD)
        .order_by("user__username")
        .values_list("team_id", "user__username")
    ):
        leads.setdefault(team, []).append(name)
    return [
        TeamRow(
            team.pk,
            team.slug,
            team.name,
            team.department,
            team.cost_centre,
            team.colour_slot,
            tuple(leads.get(team.pk, ())),
        )
        for team in seek_rows(teams, ("slug",), seek)
    ]


@dataclass(frozen=True, slots=True)
class BindingRow:
    """One rule that assigns usage to a team."""

    id: int
    position: int
    kind: str
    label: str
    glob: str
    team: str
    valid_from: datetime
    valid_to: datetime | None


def binding_key(row: BindingRow) -> Key:
    """The position of a rule in `binding_rows`."""
    return row.position, row.id


def binding_rows(scope: Scope, seek: Seek = ALL_ROWS) -> list[BindingRow]:
    """Rules in their order: all, or those of the person's teams."""
    rows = Binding.objects.select_related("team")
    if scope.team_ids is not None:
        rows = rows.filter(team_id__in=scope.team_ids)
    return [
        BindingRow(
            row.pk,
            row.position,
            row.kind,
            row.label,
            row.glob,
            row.team.slug,
            row.valid_from,
            row.valid_to,
        )
        for row in seek_rows(rows, ("position", "pk"), seek)
    ]


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One price. Only finance and admins see what a GPU costs, and the contract.

    `rate_per_gpu_hour` is None for a cost, `cost_per_gpu_hour` for a rate.
    """

    id: int
    kind: str
    price_list: str
    model: str
    profile: str
    lifecycle: str
    cluster: str
    tier: str
    currency: str
    rate_per_gpu_hour: Decimal | None
    cost_per_gpu_hour: Decimal | None
    valid_from: datetime
    valid_to: datetime | None
    source_note: str

    @property
    def only_for(self) -> tuple[str, ...]:
        """What it matches in addition to the model, in the order of N26; () is everything."""
        said = (self.cluster, self.profile, self.lifecycle, self.tier)
        return tuple(one for one in said if one)


def price_key(row: PriceRow) -> Key:
    """The position of a price in `price_rows`."""
    return row.model, row.valid_from.isoformat(), row.id


def price_rows(scope: Scope, seek: Seek = ALL_ROWS) -> list[PriceRow]:
    """Every price, by model and start."""
    if not scope.sees_any:
        return []
    rows = UnitPrice.objects.select_related("cluster", "price_list")
    if not scope.is_finance:
        rows = rows.filter(kind=PriceKind.RATE)
    return [
        PriceRow(
            row.pk,
            row.kind,
            row.price_list.name if row.price_list else "",
            row.model,
            row.profile,
            row.lifecycle,
            row.cluster.name if row.cluster else "",
            row.tier,
            row.currency,
            row.rate_per_gpu_hour if row.kind == PriceKind.RATE else None,
            row.rate_per_gpu_hour if row.kind == PriceKind.COST else None,
            row.valid_from,
            row.valid_to,
            row.source_note if scope.is_finance else "",
        )
        for row in seek_rows(rows, ("model", "valid_from", "pk"), seek)
    ]


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """One cluster and its current nodes and GPUs."""

    name: str
    is_demo: bool
    nodes: int
    gpus: int
    sources: int
    share_policy: str


def cluster_rows(scope: Scope) -> list[ClusterRow]:
    """Every cluster with its present nodes and GPUs."""
    if not scope.sees_any:
        return []
    fleets = fleets_by_cluster()
    rows = Cluster.objects.prefetch_related("sources").order_by("name")
    shares = policies_now()
    return [
        ClusterRow(
            row.name,
            row.is_demo,
            fleets[row.name].nodes if row.name in fleets else 0,
            fleets[row.name].gpus if row.name in fleets else 0,
            row.sources.count(),
            shares.get(row.pk, Policy.COMPUTE.value),
        )
        for row in rows
    ]


def unmapped_rows(selection: Selection) -> list[UsageRow]:
    """Namespaces without a team, the most expensive first; for people who see everything."""
    if not selection.scope.sees_all:
        return []
    found = [
        row
        for row in usage_rows(selection, ("team", "namespace"))
        if row.key["team"] == "unmapped"
    ]
    return sorted(found, key=lambda r: (-(amount_of(r.charge) or 0), -r.allocated_ms))
