"""Forms of contests. They only validate and convert input."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from django import forms

from accounting.access.models.teams import Binding
from accounting.core.money import Money
from accounting.kit.forms import REASON
from accounting.kit.tags.units import money
from accounting.months.actions.contests import AnswerContest
from accounting.months.models.contest import AnswerKind, Contested
from accounting.months.models.entry import EntryKind
from accounting.months.pages.period_forms import (
    CHARGE,
    EntryAmountForm,
    PeriodReasonForm,
)
from accounting.months.reads.contested import Subject

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


class RuleField(forms.ModelChoiceField):  # type: ignore[type-arg]  # generic in the stubs only
    """A rule of attribution, by its number and what it says."""

    def label_from_instance(self, obj: Binding) -> str:
        """`Rule 3: vision-* to Vision`, by its position in the order of rules."""
        what = f"{obj.label}={obj.glob}" if obj.label else obj.glob
        return f"Rule {obj.position}: {what} to {obj.team.name}"


class ReasonAnswerForm(PeriodReasonForm):
    """The reason why the amount stays; other answers have fields besides."""

    def prepare(self) -> None:
        """The team reads the reason."""
        self.fields["reason"].help_text = f"The team reads it. {REASON}"


class RuleAnswerForm(ReasonAnswerForm):
    """The rule that was changed."""

    rule = RuleField(
        Binding.objects.select_related("team"),
        empty_label="Select a rule",
        label="Changed rule",
        help_text="Change it first, then choose it here.",
    )

    field_order = ("rule", "reason")


class EntryAnswerForm(ReasonAnswerForm, EntryAmountForm):
    """A credit or an extra charge; which of them is the answer itself."""

    field_order = ("kind", "amount", "billing_on", "reason")

    def prepare(self) -> None:
        """The kind is chosen before the other fields are shown."""
        super().prepare()
        self.fields["kind"].widget = forms.HiddenInput()


FORMS: Mapping[str, type[PeriodReasonForm]] = {
    EntryKind.CREDIT.value: EntryAnswerForm,
    CHARGE: EntryAnswerForm,
    AnswerKind.MAPPING.value: RuleAnswerForm,
    AnswerKind.REASON.value: ReasonAnswerForm,
}
"""The form of each answer (`accounting/months/rules/contest_words.py`)."""


def answer_form(
    answer: str, data: Mapping[str, Any] | None, today: date
) -> PeriodReasonForm | None:
    """The form of an answer, with its fields only; None for an answer that does not exist."""
    if answer not in FORMS:
        return None
    given = None if data is None else {**_texts(data), "kind": answer}
    return FORMS[answer](given, initial={"billing_on": today, "kind": answer})


def answer_of(form: PeriodReasonForm) -> AnswerContest:
    """What finance answers with a form that is valid."""
    chosen = form.cleaned_data
    reason = chosen["reason"]
    if isinstance(form, EntryAmountForm):
        _, amount = form.signed
        return AnswerContest(
            answer=AnswerKind.ENTRY,
            amount=amount,
            day=chosen["billing_on"],
            reason=reason,
        )
    if isinstance(form, RuleAnswerForm):
        rule = chosen["rule"]
        return AnswerContest(answer=AnswerKind.MAPPING, rule=rule, reason=reason)
    return AnswerContest(answer=AnswerKind.REASON, reason=reason)


def _texts(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: data[name] for name in data}
