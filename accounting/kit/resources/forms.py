"""The form of a verb's input (`accounting/kit/inputs.py`): a field for each member."""

from collections.abc import Container
from datetime import date
from decimal import Decimal
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from django import forms

from accounting.kit.forms import AccessibleForm, DayField
from accounting.kit.inputs import Value, values_of
from accounting.kit.outcomes import Refused


class InputForm(AccessibleForm):
    """A form whose fields are the members of an input, or make them."""

    takes: Any = None

    def clean(self) -> dict[str, Any] | None:
        """What is wrong together."""
        found = super().clean()
        check = getattr(self.takes, "check", None)
        if check and not self.errors:
            try:
                check(self.given)
            except Refused as error:
                self.refuse(error)
        return found

    @property
    def given(self) -> Any:
        """The input, from fields that are valid."""
        return self.takes(**self.values())

    def values(self) -> dict[str, Any]:
        """The members of the input."""
        return dict(self.cleaned_data)

    def refuse(self, error: Refused) -> None:
        """Show why an action refused it: beside a field, or above the form."""
        member = error.member if error.member in self.fields else None
        self.add_error(member, error.sentence)


@cache
def form_of(input_type: Any, without: Container[str] = ()) -> type[InputForm]:
    """The form of an input; `without` members that a subclass makes from other fields."""
    fields = {
        one.name: _field(one)
        for one in values_of(input_type)
        if one.name not in without
    }
    return type(
        f"{input_type.component_}Form", (InputForm,), fields | {"takes": input_type}
    )


def _field(value: Value) -> forms.Field:
    options: dict[str, Any] = {"required": value.is_required, **value.page}
    if value.default is not None and not value.is_required:
        options["initial"] = value.default
    type_ = value.type
    if get_origin(type_) in (Union, UnionType):
        (type_,) = (one for one in get_args(type_) if one is not NoneType)
    if value.choices is not None:
        choices: Any = value.choices
        return forms.ChoiceField(choices=choices.choices, **options)
    if type_ is date:
        return DayField(widget=forms.DateInput(attrs={"type": "date"}), **options)
    if type_ is Decimal and value.size:
        digits, places = value.size
        return forms.DecimalField(max_digits=digits, decimal_places=places, **options)
    shortest, longest = value.size or (0, None)
    if rows := options.pop("rows", 0):
        options["widget"] = forms.Textarea(attrs={"rows": rows})
    return forms.CharField(min_length=shortest or None, max_length=longest, **options)
