"""Which teams a person may read or edit: all access goes through here. Deny unless granted."""

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import QuerySet

from accounting.models import Membership, OrganisationRole, Person, Team, TeamRole


@dataclass(frozen=True, slots=True)
class Scope:
    """What one request may see.

    Attributes:
        team_ids: the teams it may read; None means every team, unmapped usage and the
            platform's line as well.
        lead_of: the teams it leads.
        is_admin: may edit teams, bindings, prices, clusters.
        is_finance: reads every team, prices and exports.
    """

    team_ids: frozenset[int] | None
    lead_of: frozenset[int] = frozenset()
    is_admin: bool = False
    is_finance: bool = False

    @property
    def sees_all(self) -> bool:
        """True when nothing is hidden from it."""
        return self.team_ids is None

    @property
    def sees_any(self) -> bool:
        """False for somebody without a role and without a team: they see nothing."""
        return self.team_ids is None or bool(self.team_ids)

    def sees_team(self, team_id: int) -> bool:
        """True when it may read this team."""
        return self.team_ids is None or team_id in self.team_ids


EVERYTHING = Scope(team_ids=None, is_admin=True, is_finance=True)  # commands, workers
NOTHING = Scope(team_ids=frozenset())


def person_of(user: AbstractBaseUser | AnonymousUser) -> Person | None:
    """Role and preferences of a user; None for one that has neither."""
    return Person.objects.filter(user_id=user.pk or 0).first()


def scope_of(user: AbstractBaseUser | AnonymousUser) -> Scope:
    """The scope of a user; two queries. One without role or team sees nothing."""
    if not user.is_authenticated or not user.is_active:
        return NOTHING
    return scope_with(user, person_of(user))


def scope_with(user: AbstractBaseUser | AnonymousUser, person: Person | None) -> Scope:
    """The scope of a user whose person is read already; one query."""
    if not user.is_authenticated or not user.is_active:
        return NOTHING
    role = person.role if person else OrganisationRole.NONE
    memberships = list(
        Membership.objects.filter(user_id=user.pk).values_list("team_id", "role")
    )
    leads = frozenset(team for team, kind in memberships if kind == TeamRole.LEAD)
    if role == OrganisationRole.ADMIN:
        return Scope(None, leads, is_admin=True, is_finance=True)
    if role == OrganisationRole.FINANCE:
        return Scope(None, leads, is_finance=True)
    return Scope(frozenset(team for team, _ in memberships), leads)


def readable_teams(scope: Scope) -> QuerySet[Team]:
    """The teams that a scope may read; another team's page is 404, not 403."""
    teams = Team.objects.order_by("name", "pk")
    return teams if scope.team_ids is None else teams.filter(pk__in=scope.team_ids)
