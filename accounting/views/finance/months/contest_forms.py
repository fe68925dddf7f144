"""Forms of contests. They only validate and convert input."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from accounting.domain.core.money import Money
from accounting.forms import REASON, AccessibleForm, DayField
from accounting.models import AnswerKind, Binding, Contested
from accounting.queries.finance.months.contested import Subject
from accounting.templatetags.units import money
from accounting.views.finance.months.period_forms import PeriodReasonForm

A_LINE = f"{Contested.LINE}:"


class ContestForm(PeriodReasonForm):
    """What is contested, and why."""

    what = forms.ChoiceField(label="What do you contest?")
    line = forms.CharField(
        max_length=32,
        required=False,
        label="Id of the line",
        help_text="Only for a line: its line_id in the file of charges.",
    )

    field_order = ("what", "line", "reason")

    def __init__(
        self, *args: Any, subjects: Iterable[Subject], currency: str, **kwargs: Any
    ) -> None:
        """Offer the statement, each of its rows, and a line."""
        self.choices = [
            (f"{one.of}:{one.key}", _label(one, currency)) for one in subjects
        ]
        super().__init__(*args, **kwargs)

    def prepare(self) -> None:
        """What can be chosen, before it is validated."""
        field: Any = self.fields["what"]
        field.choices = [*self.choices, (A_LINE, "A line of the file of charges")]

    def clean(self) -> dict[str, Any] | None:
        """A line needs its id, and nothing else has one."""
        found = super().clean()
        chosen = self.cleaned_data
        is_line = chosen.get("what") == A_LINE
        if is_line and not chosen.get("line"):
            self.add_error("line", "Enter the id of the line that you contest.")
        if not is_line and "what" in chosen and chosen.get("line"):
            self.add_error(
                "line", 'Choose "A line of the file of charges", or leave this empty.'
            )
        return found

    @property
    def subject(self) -> tuple[str, str]:
        """Kind and key of what was chosen."""
        of, _, key = self.cleaned_data["what"].partition(":")
        return of, self.cleaned_data["line"] if of == Contested.LINE else key


def _label(one: Subject, currency: str) -> str:
    amount = "No price" if one.amount is None else money(Money(one.amount, currency))
    return f"{one.title} ({amount})"


class RuleField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A rule of attribution, by its number and what it says."""

    def label_from_instance(self, obj: Binding) -> str:
        """`Rule 3: vision-* to Vision`."""
        what = f"{obj.label}={obj.glob}" if obj.label else obj.glob
        return f"Rule {obj.pk}: {what} to {obj.team.name}"


class AnswerForm(AccessibleForm):
    """What finance answers; an entry has an amount and a day, a mapping a rule."""

    answer = forms.ChoiceField(choices=AnswerKind.choices)
    amount = forms.DecimalField(
        max_digits=20,
        decimal_places=4,
        required=False,
        help_text="Only for a credit (below 0) or an adjustment. The platform's statement gets the "
        "opposite amount.",
    )
    billing_on = DayField(
        label="Billing day",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="Only for a credit or an adjustment: a day of a month that is not closed.",
    )
    rule = RuleField(
        Binding.objects.select_related("team"),
        required=False,
        empty_label="None",
        label="Changed rule",
        help_text="Only for a changed rule: change it first, then choose it here.",
    )
    reason = PeriodReasonForm.base_fields["reason"]

    NEEDED: Mapping[str, tuple[str, ...]] = {
        AnswerKind.ENTRY: ("amount", "billing_on"),
        AnswerKind.MAPPING: ("rule",),
    }

    def prepare(self) -> None:
        """The team reads the reason."""
        self.fields["reason"].help_text = f"The team reads it. {REASON}"

    def clean(self) -> dict[str, Any] | None:
        """Each kind of answer has its fields."""
        found = super().clean()
        chosen = self.cleaned_data
        for name in self.NEEDED.get(chosen.get("answer", ""), ()):
            if name not in self.errors and chosen.get(name) is None:
                self.add_error(name, "This answer needs it.")
        return found
