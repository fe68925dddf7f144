"""Forms of months: overrides, reopening, methods, credits and adjustments."""

from django import forms

from accounting.domain.billing.close_checks import RULES
from accounting.domain.billing.methods import METHODS
from accounting.forms import REASON, AccessibleForm, DayField
from accounting.models import EntryKind, Team


class PeriodReasonForm(AccessibleForm):
    """A reason alone; the actions check its length, too."""

    reason = forms.CharField(
        min_length=10,
        max_length=200,
        help_text=REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class OverrideForm(PeriodReasonForm):
    """Close despite a check."""

    check = forms.ChoiceField(
        choices=[(code, code) for code in RULES], widget=forms.HiddenInput
    )


class ConfirmForm(forms.Form):
    """The number of another person's request."""

    number = forms.IntegerField(min_value=1)


class MethodForm(AccessibleForm):
    """The method of a month that has not begun."""

    method = forms.ChoiceField(choices=[(one.id, one.id) for one in METHODS])


class EntryForm(PeriodReasonForm):
    """A credit or an adjustment of one team."""

    kind = forms.ChoiceField(choices=EntryKind.choices)
    team = forms.ModelChoiceField(Team.objects.order_by("name"), to_field_name="slug")
    billing_on = DayField(
        label="Billing day",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="A day of a month that is not closed.",
    )
    amount = forms.DecimalField(
        max_digits=20,
        decimal_places=4,
        help_text="A credit is below 0. The platform's statement gets the opposite amount.",
    )

    field_order = ("kind", "team", "billing_on", "amount", "reason")
