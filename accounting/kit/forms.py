"""Forms of admin pages and of the account page. They only validate and convert input."""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator

from accounting.access.models.teams import Team
from accounting.core.billing_calendar import DAY
from accounting.core.written_text import hidden_fault
from accounting.kit.reads.selection import FIRST, LAST

HIDDEN = "hidden"  # the code of the error about characters that cannot be seen
REASON = "Recorded in the audit log. 10 to 200 characters."


class AccessibleForm(forms.Form):
    """Links each field to its help and error text, and marks fields with errors."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prepare()
        for field in self.fields.values():
            _refuse_hidden(field)
        for name, bound in self.fields.items():
            described = []
            if bound.help_text:
                described.append(f"id_{name}_help")
            if self.is_bound and name in self.errors:
                bound.widget.attrs["aria-invalid"] = "true"
                described.append(f"id_{name}_error")
            if described:
                bound.widget.attrs["aria-describedby"] = " ".join(described)

    def prepare(self) -> None:
        """Set properties of fields that depend on the caller; runs before validation."""

    def offer(self, name: str, choices: Iterable[tuple[str, str]]) -> None:
        """Set what a field offers; for `prepare`.

        Raises:
            TypeError: the field has no choices.
        """
        field = self.fields[name]
        if not isinstance(field, forms.ChoiceField):
            raise TypeError(f"{name} has no choices")
        field.choices = list(choices)


def _refuse_hidden(field: forms.Field) -> None:
    """Let a field of text refuse characters that cannot be seen; a password may have any."""
    is_written = isinstance(field, forms.CharField) and not field.widget.is_hidden
    if not is_written or isinstance(field.widget, forms.PasswordInput):
        return
    has_lines = isinstance(field.widget, forms.Textarea)

    def check(value: str | list[str]) -> None:
        text = value if isinstance(value, str) else "\n".join(value)
        if fault := hidden_fault(text, has_lines=has_lines):
            raise forms.ValidationError(f"This text {fault}.", HIDDEN)

    field.validators = [*field.validators, check]


def between(first: date, after: date) -> tuple[MinValueValidator, MaxValueValidator]:
    """Validators of a day or an instant: the limits of the API (N30)."""
    text = "Enter a time between the years 1970 and 9998."
    return MinValueValidator(first, text), MaxValueValidator(after, text)


class DayField(forms.DateField):
    """A billing day that is a valid instant in every time zone."""

    def __init__(self, **options: Any) -> None:
        limits = between(FIRST.date() + DAY, LAST.date() - DAY)
        super().__init__(validators=limits, **options)


class TeamField(forms.ModelChoiceField):  # type: ignore[type-arg]  # generic in the stubs only
    """A choice of teams by their name, not by slug."""

    def label_from_instance(self, obj: Team) -> str:
        """The text of an option."""
        return obj.name


class EndForm(AccessibleForm):
    """The day on which something ends."""

    valid_to = DayField(
        label="Ends on",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="The first billing day without the rule.",
    )
    reason = forms.CharField(
        min_length=10,
        max_length=200,
        help_text=REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
    )


def tomorrow(today: date) -> date:
    """The default first day of a change: no shown number changes."""
    return today + timedelta(days=1)
