"""People who close months in tests."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from accounting.access.models.people import (
    Membership,
    OrganizationRole,
    Person,
    TeamRole,
)
from accounting.access.models.teams import Team


def person(name: str, role: str = OrganizationRole.FINANCE) -> User:
    """A person with a role."""
    user, _ = User.objects.get_or_create(username=name)
    Person.objects.get_or_create(user=user, defaults={"role": role})
    return user


def reopening(at: datetime) -> dict[str, Any]:
    """The fields of a revision that two people have opened again."""
    return {
        "reopened_at": at,
        "reopened_by": person("anna"),
        "reopen_confirmed_by": person("bert"),
        "reopen_reason": "a price list was missing",
    }


def lead_of(team: str, name: str) -> User:
    """A person without a role who leads a team."""
    user = person(name, OrganizationRole.NONE)
    team_id = Team.objects.get(slug=team).pk
    Membership.objects.create(user=user, team_id=team_id, role=TeamRole.LEAD)
    return user
