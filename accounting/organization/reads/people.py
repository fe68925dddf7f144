"""People: accounts, roles and recent sign-ins."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth import get_user_model

from accounting.access.models.account import SignInOutcome, SignInRecord
from accounting.access.models.people import (
    Membership,
    OrganizationRole,
    Person,
    TeamRole,
)

LEAD_MARK = ":lead"


@dataclass(frozen=True, slots=True)
class PersonRow:
    """One person.

    Attributes:
        role: `admin`, `finance` or `viewer`.
        memberships: slug and name of each team, and whether they lead it.
        can_sign_in: active, and with a password.
    """

    id: int
    name: str
    role: str
    memberships: tuple[tuple[str, str, bool], ...]
    is_active: bool
    can_sign_in: bool
    last_sign_in: datetime | None

    def fields(self) -> dict[str, str | None]:
        """The row as the command prints it."""
        last = self.last_sign_in
        return {
            "name": self.name,
            "role": self.role,
            "teams": ", ".join(self.teams) or None,
            "state": self.state,
            "last_sign_in": last.isoformat(timespec="seconds") if last else None,
        }

    @property
    def teams(self) -> tuple[str, ...]:
        """Slugs, with `:lead` where they lead."""
        return tuple(
            f"{slug}{LEAD_MARK if leads else ''}" for slug, _, leads in self.memberships
        )

    @property
    def team_words(self) -> str:
        """`Search, Vision (lead)`."""
        return ", ".join(
            f"{name}{' (lead)' if leads else ''}" for _, name, leads in self.memberships
        )

    @property
    def leads(self) -> bool:
        """True if they lead a team."""
        return any(leads for *_, leads in self.memberships)

    @property
    def state(self) -> str:
        """Whether the person can sign in, as text."""
        if not self.is_active:
            return "deactivated"
        return "active" if self.can_sign_in else "has not chosen a password"


def person_rows(name: str | None = None) -> list[PersonRow]:
    """All people, or one person, by name; three queries."""
    users = get_user_model().objects.order_by("username")
    if name is not None:
        users = users.filter(username=name)
    roles = dict(Person.objects.values_list("user_id", "role"))
    teams: dict[int, list[tuple[str, str, bool]]] = {}
    for user_id, slug, team, role in Membership.objects.order_by(
        "team__slug"
    ).values_list("user_id", "team__slug", "team__name", "role"):
        teams.setdefault(user_id, []).append((slug, team, role == TeamRole.LEAD))
    return [
        PersonRow(
            id=user.pk,
            name=user.get_username(),
            role=role_word(roles.get(user.pk, OrganizationRole.NONE)),
            memberships=tuple(teams.get(user.pk, ())),
            is_active=user.is_active,
            can_sign_in=user.is_active and user.has_usable_password(),
            last_sign_in=user.last_login,
        )
        for user in users
    ]


def role_word(role: str) -> str:
    """The displayed name of a role; without one, viewer."""
    return "viewer" if role == OrganizationRole.NONE else role


def administrators() -> list[str]:
    """The active accounts with the role admin, by name."""
    rows = Person.objects.filter(role=OrganizationRole.ADMIN, user__is_active=True)
    return sorted(rows.values_list("user__username", flat=True))


def has_accounts() -> bool:
    """True if anybody can sign in, or has a link to do so."""
    return get_user_model().objects.filter(is_active=True).exists()


def sign_ins_of(account: str, limit: int = 10) -> list[SignInRecord]:
    """The newest sign-ins and failed attempts of one account."""
    rows = SignInRecord.objects.filter(account=account)
    return list(
        rows.exclude(outcome__in=(SignInOutcome.LINK, SignInOutcome.ENDED))[:limit]
    )
