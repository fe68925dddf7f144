"""What the teams of a month are called when it is closed (money.md M29, M33)."""

from accounting.access.models.teams import Team
from accounting.months.models.period import PeriodRevision

Payers = dict[str, dict[str, str]]


def payers_of(revision: PeriodRevision) -> Payers:
    """Name, department and cost center of each team with a statement, by slug, as of now.

    `unmapped` and `platform` are not teams: they have no entry.
    """
    slugs = revision.statements.values("team")
    return {
        team.slug: {
            "name": team.name,
            "department": team.department,
            "cost_centre": team.cost_centre,
        }
        for team in Team.objects.filter(slug__in=slugs).order_by("slug")
    }
