"""Which teams a person may read or edit. All access checks use this module; access is denied unless
granted.
"""

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import QuerySet

from accounting.access.models.people import (
    Membership,
    OrganizationRole,
    Person,
    TeamRole,
)
from accounting.access.models.teams import Team
from accounting.access.reserved_names import RESERVED_SLUGS
from accounting.core.read_once import read_once


@dataclass(frozen=True, slots=True)
class Scope:
    """What one request may read.

    Attributes:
        team_ids: the teams that it may read; None means all teams, unmapped usage and the
            platform's line.
        lead_of: the teams that the person leads.
        is_admin: may edit teams, bindings, prices, clusters.
        is_finance: reads every team, prices and exports.
    """

    team_ids: frozenset[int] | None
    lead_of: frozenset[int] = frozenset()
    is_admin: bool = False
    is_finance: bool = False

    @property
    def sees_all(self) -> bool:
        """True if the scope covers all teams."""
        return self.team_ids is None

    @property
    def sees_any(self) -> bool:
        """False for a person without a role and without a team."""
        return self.team_ids is None or bool(self.team_ids)

    def sees_team(self, team_id: int) -> bool:
        """True if the scope covers this team."""
        return self.team_ids is None or team_id in self.team_ids


EVERYTHING = Scope(team_ids=None, is_admin=True, is_finance=True)  # commands, workers
NOTHING = Scope(team_ids=frozenset())


@read_once
def person_of(user: AbstractBaseUser | AnonymousUser) -> Person | None:
    """Role and preferences of a user; None if the user has neither."""
    return Person.objects.filter(user_id=user.pk or 0).first()


def scope_of(user: AbstractBaseUser | AnonymousUser) -> Scope:
    """The scope of a user; two queries. A user without role or team can read nothing."""
    if not user.is_authenticated or not user.is_active:
        return NOTHING
    return scope_with(user, person_of(user))


@read_once
def scope_with(user: AbstractBaseUser | AnonymousUser, person: Person | None) -> Scope:
    """The scope of a user whose person is already loaded; one query."""
    if not user.is_authenticated or not user.is_active:
        return NOTHING
    role = person.role if person else OrganizationRole.NONE
    memberships = list(
        Membership.objects.filter(user_id=user.pk)
        .exclude(team__slug__in=RESERVED_SLUGS)  # no role in a team opens the platform
        .values_list("team_id", "role")
    )
    leads = frozenset(team for team, kind in memberships if kind == TeamRole.LEAD)
    if role == OrganizationRole.ADMIN:
        return Scope(None, leads, is_admin=True, is_finance=True)
    if role == OrganizationRole.FINANCE:
        return Scope(None, leads, is_finance=True)
    return Scope(frozenset(team for team, _ in memberships), leads)


def readable_teams(scope: Scope) -> QuerySet[Team]:
    """The teams that a scope may read; the page of any other team is 404, not 403."""
    teams = Team.objects.order_by("name", "pk")
    return teams if scope.team_ids is None else teams.filter(pk__in=scope.team_ids)
