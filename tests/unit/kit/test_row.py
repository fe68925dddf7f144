"""Serializers of rows: where members come from, and how values are written.

Which members each list has: tests/integration/api.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework import serializers

from accounting.core.interval import HOUR_MS
from accounting.core.rounding import half_even
from accounting.kit.serializers.row import (
    GpuHoursField,
    MoneyField,
    NumberField,
    RowSerializer,
    TextOrNullField,
)
from accounting.kit.texts import gpu_hours, instant


@dataclass(frozen=True, slots=True)
class Inner:
    number: float
    by_name: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outer:
    text: str
    held_ms: int
    amount: Decimal | None
    inner: Inner | None


class OuterSerializer(RowSerializer):
    text = TextOrNullField()
    hours = GpuHoursField(source="held_ms")
    amount = MoneyField(allow_null=True)
    number = NumberField(source="inner.number", allow_null=True)
    deep = serializers.IntegerField(source="inner.by_name.deep", allow_null=True)


def test_members_come_from_where_their_fields_say() -> None:
    row = Outer("x", HOUR_MS, Decimal(2), Inner(3, {"deep": 4}))
    found = OuterSerializer.one(row)
    assert list(found.items()) == [
        ("text", "x"),
        ("hours", "1.000000"),
        ("amount", "2.000000"),
        ("number", 3),
        ("deep", 4),
    ]
    assert isinstance(found["number"], int)  # a whole number stays whole


def test_what_is_not_there_is_null_on_every_way() -> None:
    row = Outer("", 0, None, None)
    assert OuterSerializer.one(row) == {
        "text": None,
        "hours": "0.000000",
        "amount": None,
        "number": None,
        "deep": None,
    }


def test_a_field_that_the_row_lacks_is_a_mistake_of_ours() -> None:
    class Wrong(RowSerializer):
        missing = serializers.CharField(allow_null=True)

    with pytest.raises(AttributeError, match="missing"):
        Wrong.one(Outer("", 0, None, None))


def test_rows_are_written_one_by_one() -> None:
    """A report of any length needs no list of its rows as text."""
    rows = iter([Outer("a", 0, None, None), Outer("b", 0, None, None)])
    found = OuterSerializer.each(rows)
    assert next(found)["text"] == "a"
    assert next(rows).text == "b"


@given(st.integers(min_value=0, max_value=10**17))
def test_gpu_hours_are_rounded_exactly(milliseconds: int) -> None:
    exact = half_even(Fraction(milliseconds, HOUR_MS), 6)
    assert gpu_hours(milliseconds) == f"{exact:f}"


def test_an_instant_has_milliseconds_only_where_it_needs_them() -> None:
    assert instant(0) == "1970-01-01T00:00:00Z"
    assert instant(1_001) == "1970-01-01T00:00:01.001Z"
