"""Teams, bindings, prices, clusters and namespaces without a team, as rows."""

from accounting.access.models.people import Membership, TeamRole
from accounting.access.models.teams import Binding, BindingKind, Team
from accounting.access.scope import Scope
from accounting.kit.reads.paging import ALL_ROWS, Key, Seek, seek_rows
from accounting.kit.rows import OffsetInstant, column, listed


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
