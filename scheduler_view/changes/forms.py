"""Forms of quotas and tiers. They only validate and convert input."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.http import QueryDict

from accounting.kit.forms import REASON, AccessibleForm, between
from accounting.kit.reads.selection import FIRST, LAST
from scheduler_view.changes.rules.edit import Draft, Edit
from scheduler_view.quotas.rules.tiers import LEAST, MOST

Values = dict[str, Any]
PARTS = 5  # team, resource, tier, version, gpus as shown
LONGEST_NUMBER = 7  # digits; `quantity.MOST_GPUS` has as many


class ReasonForm(AccessibleForm):
    """The reason; with the same limits as `changes.actions.change_sets`."""

    reason = forms.CharField(
        min_length=10,
        max_length=200,
        help_text=REASON,
        error_messages={"required": "Enter a reason of 10 to 200 characters."},
    )


class EditsForm(ReasonForm):
    """Fields of every form with edits: the reason, and an open change set to join.

    Edits that join a change set need no separate reason.
    """

    use_required_attribute = False  # depends on the change set to join
    reason = forms.CharField(
        min_length=10, max_length=200, help_text=REASON, required=False
    )
    into = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1)

    def clean_reason(self) -> str:
        """The reason, required only for a new change set."""
        reason: str = self.cleaned_data["reason"]
        if not reason and not self.data.get("into"):
            raise forms.ValidationError("Enter a reason of 10 to 200 characters.")
        return reason


class PlanForm(EditsForm):
    """The form of quota edits: also start and end."""

    starts_at = forms.DateTimeField(required=False, validators=between(FIRST, LAST))
    ends_at = forms.DateTimeField(required=False, validators=between(FIRST, LAST))

    def draft(self, edits: Sequence[Edit]) -> Draft:
        """The edits with the other fields of the form."""
        given = self.cleaned_data
        return Draft(
            edits,
            given["reason"],
            starts_at=given["starts_at"],
            ends_at=given["ends_at"],
        )


class RequestForm(ReasonForm):
    """A lead's request: resource, number, end and reason."""

    what = forms.ChoiceField(
        label="Pool",
        error_messages={
            "required": "Choose a resource.",
            "invalid_choice": "This resource is not available. Select one from the list.",
        },
    )
    gpus = forms.CharField(
        label="New quota",
        error_messages={"required": "Enter a number, for example 32."},
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    ends_at = forms.DateTimeField(
        required=False,
        label="Until",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
        error_messages={"invalid": "Select a date and a time."},
    )
    field_order = ("what", "gpus", "ends_at", "reason")

    def __init__(
        self,
        *args: Any,
        choices: Sequence[tuple[str, str]],
        numbers: Mapping[str, int],
        **kwargs: Any,
    ) -> None:
        self.offered, self.numbers = choices, numbers
        super().__init__(*args, **kwargs)

    def prepare(self) -> None:
        """The resources of one team."""
        self.offer("what", self.offered)
        self.fields["reason"].widget.attrs["autocomplete"] = "off"

    def clean_gpus(self) -> int:
        """An integer that differs from the current quota."""
        text = str(self.cleaned_data["gpus"]).strip().replace(",", "")
        if not (text.isascii() and text.isdecimal()) or len(text) > LONGEST_NUMBER:
            raise forms.ValidationError(
                f"{text[:20]} is not a whole number. Enter a number such as 32."
            )
        number = int(text)
        if self.numbers.get(self.cleaned_data.get("what", "")) == number:
            raise forms.ValidationError(
                f"The quota is already {number:,}. Enter a different number."
            )
        return number


class TierForm(EditsForm):
    """One desired tier."""

    name = forms.CharField(
        max_length=63,
        help_text="Lowercase letters, digits and dashes. Pods use its PriorityClass, whose name "
        "has a version: batch-v2.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    value = forms.IntegerField(
        min_value=LEAST,
        max_value=MOST,
        help_text=f"Higher values have priority. At most {MOST:,}.",
    )
    preempts = forms.BooleanField(
        required=False,
        label="Can preempt lower tiers",
        help_text="If not selected, its pods wait instead. They can still be preempted.",
    )
    is_default = forms.BooleanField(
        required=False,
        label="Default for pods without a class",
        help_text="A cluster can have one default tier.",
    )
    description = forms.CharField(max_length=500, required=False)
    in_place = forms.BooleanField(
        required=False,
        label="Replace the class and keep its name",
        help_text="Deletes and recreates the class instead of creating a new version. Running "
        "pods keep their value. In between, new pods that use the class are rejected.",
    )

    def edit(self, version: int | None) -> Values:
        """The edit, as in the API."""
        names = ("name", "value", "preempts", "is_default", "description", "in_place")
        values = {name: self.cleaned_data[name] for name in names}
        return {"kind": "tier", "version": version, **values}


def changed_quotas(posted: QueryDict) -> list[Values]:
    """Quota edits, as in the API; an unchanged number is not an edit.

    The name of an input has the quota and its previous value, so that an edit from an old page is
    recognized.
    """
    found = list(_new(posted))
    for name, value in posted.items():
        kind, _, rest = name.partition("|")
        parts = rest.split("|")
        if kind not in ("q", "r") or len(parts) != PARTS:
            continue
        if kind == "r":
            found.append(_edit(parts, None))
        elif str(value).strip() != parts[-1] and f"r|{rest}" not in posted:
            found.append(_edit(parts, str(value)))
    return found


def _edit(parts: list[str], typed: str | None) -> Values:
    team, resource, tier, version, _ = parts
    return {
        "kind": "quota",
        "team": team,
        "resource": resource,
        "tier": tier,
        "gpus": None if typed is None else _number(typed),
        "version": int(version) if version.isdecimal() and len(version) < 19 else None,
    }


def _new(posted: QueryDict) -> Iterator[Values]:
    rows = zip(
        *(
            posted.getlist(f"new-{name}")
            for name in ("team", "resource", "tier", "gpus")
        ),
        strict=False,
    )
    for team, resource, tier, gpus in rows:
        if team or gpus.strip():
            yield {
                "kind": "quota",
                "team": team,
                "resource": resource,
                "tier": tier,
                "gpus": _number(gpus),
            }


def _number(text: str) -> int | str:
    """An integer if the text is one; else the text, so that the fault can name it."""
    bare = text.strip().replace(",", "")
    return int(bare) if bare.isascii() and bare.isdecimal() and len(bare) < 19 else text
