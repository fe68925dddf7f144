"""The form of a new budget."""

from typing import Any

from django import forms

from accounting.access.models.teams import Team
from accounting.budgets.actions.budgets import SetBudget
from accounting.kit.resources.forms import form_of


class BudgetForm(form_of(SetBudget, without=("team", "department"))):  # type: ignore[misc]  # made at run time
    """A new budget; its team or department is chosen in one field."""

    of = forms.ChoiceField(label="Team or department")

    field_order = ("of", "unit", "measure", "amount", "from_on", "reason")

    def prepare(self) -> None:
        """The choices: departments, and teams by name."""
        teams = list(Team.objects.order_by("name"))
        departments = sorted({team.department for team in teams} - {""})
        field: Any = self.fields["of"]
        field.choices = [
            ("", "Select a team or a department"),
            ("Departments", [(f"department:{one}", one) for one in departments]),
            ("Teams", [(f"team:{one.slug}", one.name) for one in teams]),
        ]

    def values(self) -> dict[str, Any]:
        """With the team or department that was chosen."""
        found = super().values()
        kind, _, name = found.pop("of").partition(":")
        if kind == "department":
            return {**found, "department": name}
        return {**found, "team": Team.objects.get(slug=name)}
