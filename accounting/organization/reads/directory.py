"""Teams, bindings, prices, clusters and namespaces without a team, as rows."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import prefetch_related_objects

from accounting.access import Scope
from accounting.domain.core.money import amount_of
from accounting.domain.reports.rows import UsageRow
from accounting.domain.units.mig_profiles import Policy
from accounting.kit.rows import OffsetInstant, column, listed
from accounting.models import (
    Binding,
    BindingKind,
    Membership,
    PriceKind,
    Team,
    TeamRole,
    UnitPrice,
)
from accounting.queries.clusters import clusters_named
from accounting.queries.gpus.fleet_count import fleets_by_cluster
from accounting.queries.paging import ALL_ROWS, Key, Seek, seek_rows
from accounting.queries.selection import Selection
from accounting.queries.share_policies import policies_now
from accounting.queries.usage.usage import usage_rows


@listed("Team")
class TeamRow:
    """A team."""

    slug: str = column()
    name: str = column()
    department: str = column()
    cost_centre: str = column()
    leads: tuple[str, ...] = column()
    id: int
    colour_slot: int


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
            id=team.pk,
            slug=team.slug,
            name=team.name,
            department=team.department,
            cost_centre=team.cost_centre,
            colour_slot=team.colour_slot,
            leads=tuple(leads.get(team.pk, ())),
        )
        for team in seek_rows(teams, ("slug",), seek)
    ]


@listed("Binding")
class BindingRow:
    """A rule that assigns usage to a team."""

    id: int = column()
    position: int = column()
    kind: str = column(choices=BindingKind)
    label: str = column()
    glob: str = column()
    team: str = column()
    valid_from: OffsetInstant = column()
    valid_to: OffsetInstant | None = column()


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
            id=row.pk,
            position=row.position,
            kind=row.kind,
            label=row.label,
            glob=row.glob,
            team=row.team.slug,
            valid_from=row.valid_from,
            valid_to=row.valid_to,
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


@listed("Cluster")
class ClusterRow:
    """A cluster and its current resources."""

    name: str = column()
    is_demo: bool = column()
    nodes: int = column()
    gpus: int = column()
    sources: int = column()
    share_policy: str = column()


def cluster_rows(scope: Scope) -> list[ClusterRow]:
    """Every cluster with its present nodes and GPUs."""
    if not scope.sees_any:
        return []
    fleets = fleets_by_cluster()
    rows = clusters_named()
    prefetch_related_objects(rows, "sources")
    shares = policies_now()
    return [
        ClusterRow(
            name=row.name,
            is_demo=row.is_demo,
            nodes=fleets[row.name].nodes if row.name in fleets else 0,
            gpus=fleets[row.name].gpus if row.name in fleets else 0,
            sources=row.sources.count(),
            share_policy=shares.get(row.pk, Policy.COMPUTE.value),
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
