"""Inputs of verbs: the body of REST and the form of a page are made of them, and say the same."""

from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest
from rest_framework.exceptions import ErrorDetail

from accounting.kit.inputs import body, reason, value
from accounting.kit.outcomes import RefusalCode, Refused
from accounting.kit.resources.forms import form_of
from accounting.kit.serializers.declared import body_of


class Size(StrEnum):
    SMALL = "small"


@body("ThingBody")
class Thing:
    """A thing to make."""

    name: str = value(size=(1, 5), page={"label": "Its name"})
    note: str = value(size=(0, 5), default="")
    weight: Decimal = value(size=(4, 2))
    on: date | None = value("a day", default=None)
    size: str = value(choices=Size, default=Size.SMALL)
    reason: str = reason()

    def check(self) -> None:
        if self.name == self.note:
            raise Refused("they are the same", member="note")


GIVEN = {"name": "a", "weight": "1.5", "reason": "because it is needed"}


def test_a_body_makes_the_input() -> None:
    made = body_of(Thing)(data=GIVEN)
    assert made.is_valid()
    thing = Thing(**made.validated_data)
    assert (thing.name, thing.weight, thing.note) == ("a", Decimal("1.5"), "")
    assert (thing.on, thing.size) == (None, "small")
    assert body_of(Thing).__name__ == "ThingBodySerializer"
    assert made.fields["on"].help_text == "a day"


def test_a_form_makes_the_same_input() -> None:
    form = form_of(Thing, without=("size",))(GIVEN)
    assert form.is_valid()
    assert form.given == Thing(
        name="a", weight=Decimal("1.5"), reason="because it is needed"
    )
    assert form.fields["name"].label == "Its name"
    assert list(form.fields) == ["name", "note", "weight", "on", "reason"]


@pytest.mark.parametrize(
    ("more", "member"),
    [
        ({"name": ""}, "name"),
        ({"name": "longer"}, "name"),
        ({"weight": "123"}, "weight"),
        ({"on": "soon"}, "on"),
        ({"reason": "no"}, "reason"),
        ({"note": "a"}, "note"),  # wrong together
    ],
)
def test_both_name_the_member_that_is_wrong(more: dict[str, Any], member: str) -> None:
    made = body_of(Thing)(data=GIVEN | more)
    assert not made.is_valid()
    assert list(made.errors) == [member]
    form = form_of(Thing, without=("size",))(GIVEN | more)
    assert not form.is_valid()
    assert list(form.errors) == [member]


def test_a_refusal_is_a_sentence_on_pages() -> None:
    error = Refused("it is closed", RefusalCode.CONFLICT)
    assert (error.sentence, error.member) == ("It is closed.", "")
    assert Refused("x").code == RefusalCode.INVALID
    made = body_of(Thing)(data=GIVEN | {"note": "a"})
    made.is_valid()
    assert made.errors["note"] == [ErrorDetail("they are the same", code="invalid")]
