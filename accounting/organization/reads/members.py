"""The members of a team."""

from dataclasses import dataclass

from accounting.access.models.people import Membership, TeamRole


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One person in one team."""

    id: int
    name: str
    username: str
    is_lead: bool


def member_rows(team_id: int) -> list[MemberRow]:
    """Leads first, then by name. The caller has checked that the team may be read."""
    rows = Membership.objects.filter(team_id=team_id).select_related("user")
    found = [
        MemberRow(
            row.user.pk,
            row.user.get_full_name() or row.user.get_username(),
            row.user.get_username(),
            row.role == TeamRole.LEAD,
        )
        for row in rows
    ]
    return sorted(found, key=lambda row: (not row.is_lead, row.name))
