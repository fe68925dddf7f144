"""Forms of people and teams. They only validate and convert input."""

from typing import Any

from django import forms
from django.contrib.auth import get_user_model

from accounting.access.models.people import TeamRole
from accounting.access.models.teams import Team
from accounting.kit.forms import AccessibleForm
from accounting.organization.actions.people import plain_name

ROLES = (
    ("viewer", "None: sees their own teams"),
    ("finance", "Finance: sees all teams, closes months"),
    ("admin", "Administrator: sees and changes everything"),
)
TEAM_ROLES = (
    (TeamRole.VIEWER, "Viewer: usage, quotas, money"),
    (TeamRole.LEAD, "Lead: also budget, savings"),
)
LEAVES = "leave"


class RoleForm(AccessibleForm):
    """The role of a person in the organization."""

    role = forms.ChoiceField(choices=ROLES, label="Role in the organization")


class MemberForm(AccessibleForm):
    """The role of a person in one team, or the end of it."""

    team = forms.ChoiceField(label="Team")
    team_role = forms.ChoiceField(
        choices=(*TEAM_ROLES, (LEAVES, "None: leaves the team")), label="Role in it"
    )

    def prepare(self) -> None:
        """Teams by name."""
        self.offer("team", _teams())


class PersonForm(RoleForm):
    """A new person."""

    name = forms.CharField(
        max_length=150,
        label="User name",
        help_text="Up to 150 letters, digits and @ . + - _, for example a mail address.",
    )
    team = forms.ChoiceField(required=False, label="Team")
    team_role = forms.ChoiceField(
        choices=TEAM_ROLES, required=False, label="Role in the team"
    )
    field_order = ("name", "role", "team", "team_role")

    def prepare(self) -> None:
        """Teams by name, or none."""
        self.offer("team", [("", "No team"), *_teams()])

    def clean_name(self) -> str:
        """A name that nobody has."""
        name = plain_name(self.cleaned_data["name"])
        if get_user_model().objects.filter(username=name).exists():
            raise forms.ValidationError(f"{name} has an account already.")
        return name

    @property
    def teams(self) -> dict[str, TeamRole | None]:
        """The role in the chosen team."""
        slug = self.cleaned_data["team"]
        role = self.cleaned_data["team_role"] or TeamRole.VIEWER
        return {slug: TeamRole(role)} if slug else {}


class TeamChangeForm(AccessibleForm):
    """Name, department and cost center of a team."""

    name = forms.CharField(max_length=200)
    department = forms.CharField(max_length=200, required=False)
    cost_centre = forms.CharField(max_length=100, required=False, label="Cost center")


class TeamForm(TeamChangeForm):
    """A new team."""

    slug = forms.SlugField(
        max_length=63,
        label="Short name",
        help_text="Lower-case letters, digits and -. In addresses and files; it never changes.",
    )
    field_order = ("name", "slug", "department", "cost_centre")


def _teams() -> list[tuple[Any, str]]:
    return list(Team.objects.order_by("name").values_list("slug", "name"))
