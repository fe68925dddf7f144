"""Forms of budgets. They only validate and convert input."""

from typing import Any

from django import forms

from accounting.forms import REASON, AccessibleForm, DayField
from accounting.models import BudgetMeasure, BudgetUnit, Team


class AmountForm(AccessibleForm):
    """An amount from a period on."""

    amount = forms.DecimalField(
        max_digits=18,
        decimal_places=6,
        min_value=0,
        help_text="For each period, in the billing currency or in GPU-hours.",
    )
    from_on = DayField(
        required=False,
        label="From the period with this day",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="If empty, the current period.",
    )
    reason = forms.CharField(
        min_length=10,
        max_length=200,
        help_text=REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class BudgetForm(AmountForm):
    """A new budget of a team or a department."""

    of = forms.ChoiceField(label="Team or department")
    unit = forms.ChoiceField(choices=BudgetUnit.choices, label="For each")
    measure = forms.ChoiceField(choices=BudgetMeasure.choices, label="Measured in")

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

    @property
    def payer(self) -> dict[str, Any]:
        """The chosen team or department, as arguments of an action."""
        kind, _, name = self.cleaned_data["of"].partition(":")
        if kind == "department":
            return {"department": name}
        return {"team": Team.objects.get(slug=name)}


class EndBudgetForm(AccessibleForm):
    """Why a budget ends."""

    reason = AmountForm.base_fields["reason"]
