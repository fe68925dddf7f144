"""Forms of months: overrides, reopening, methods, credits and extra charges."""

from decimal import Decimal
from typing import Any

from django import forms

from accounting.access.models.teams import Team
from accounting.core.money import Money
from accounting.kit.forms import REASON, AccessibleForm, DayField, TeamField
from accounting.months.actions.entries import (
    EntryAmountError,
    PreviewChanged,
    check_entry,
)
from accounting.months.models.entry import EntryKind
from accounting.months.reads.entry_effect import EntryEffect, entry_effect
from accounting.months.rules.close_checks import RULES
from accounting.months.rules.methods import METHODS
from accounting.months.tasks.periods import PeriodError

CHARGE = "charge"
ENTRY_CHOICES = (
    (EntryKind.CREDIT.value, "Credit: the team pays less"),
    (CHARGE, "Extra charge: the team pays more"),
)


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


SIGNS = "+-\N{MINUS SIGN}"
_SIGNED = (
    "Enter the amount without a sign. Whether the team pays less or more is chosen as a credit or "
    "an extra charge."
)


class UnsignedAmountField(forms.DecimalField):
    """An amount above 0. A sign is refused: what it means is chosen in words."""

    widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})

    def to_python(self, value: Any) -> Any:
        """The amount; a sign is an error of its own, before "enter a number"."""
        text = str(value or "").strip()
        if text.startswith(tuple(SIGNS)) or text.endswith(tuple(SIGNS)):
            raise forms.ValidationError(_SIGNED)
        return super().to_python(value)


class EntryAmountForm(PeriodReasonForm):
    """The amount of an entry, in words and without a sign (money.md M25)."""

    kind = forms.ChoiceField(
        label="Credit or extra charge",
        choices=[("", "Select one"), *ENTRY_CHOICES],
        error_messages={"required": "Choose a credit or an extra charge."},
    )
    billing_on = DayField(
        label="Billing day",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="A day of a month that is not closed.",
    )
    amount = UnsignedAmountField(
        max_digits=20,
        decimal_places=4,
        help_text="Without a sign. The platform's statement gets the opposite amount.",
    )

    is_refused = False  # by an action, so that there is no preview either

    @property
    def signed(self) -> tuple[str, Decimal]:
        """The kind of entry, and its amount with the sign that was chosen in words."""
        amount: Decimal = self.cleaned_data["amount"]
        if self.cleaned_data["kind"] == EntryKind.CREDIT:
            return EntryKind.CREDIT, -amount
        return EntryKind.ADJUSTMENT, amount

    def previewed(self, team: Team) -> EntryEffect | None:
        """What the entry would do; None, with an error of the form, where it is not possible."""
        kind, amount = self.signed
        billing_on = self.cleaned_data["billing_on"]
        try:
            currency = check_entry(kind, billing_on, amount)
        except PeriodError as error:
            self.refuse(error)
            return None
        return entry_effect(team, billing_on, Money(amount, currency))

    def refuse(self, error: PeriodError) -> None:
        """Show why an action refused it: beside the amount, or the form as a whole."""
        text = str(error)
        self.is_refused = not isinstance(error, PreviewChanged)
        where = "amount" if isinstance(error, EntryAmountError) else None
        self.add_error(where, f"{text[:1].upper()}{text[1:]}.")

    @property
    def values(self) -> list[tuple[str, Any]]:
        """Names and values as they were sent, to send just these again."""
        return [(field.html_name, field.value()) for field in self]


class EntryForm(EntryAmountForm):
    """A credit or an extra charge of one team."""

    team = TeamField(
        Team.objects.order_by("name"), to_field_name="slug", empty_label="Select a team"
    )

    field_order = ("kind", "team", "amount", "billing_on", "reason")
