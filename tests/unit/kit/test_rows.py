"""Declared rows: their members, in order, as REST, CSV and commands write them."""

from dataclasses import FrozenInstanceError
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any

import pytest
from rest_framework import serializers

from accounting.core.interval import HOUR_MS
from accounting.kit import texts
from accounting.kit.rows import (
    GpuHours,
    MsInstant,
    TextOrNull,
    column,
    columns_of,
    derived,
    listed,
    member,
)
from accounting.kit.serializers.declared import item_serializer_of, serializer_of


class Color(Enum):
    RED = "red"


@listed("Part")
class PartRow:
    """A part."""

    name: str = column()


@listed("Thing", detail="A thing with its parts.")
class ThingRow:
    """A thing.

    Attributes:
        secret: for the program alone.
    """

    id: int = column()
    on: date = column("a day")
    at: datetime | None = column(name="seen_at")
    part: PartRow | None = column()
    part_name = derived(str | None, "part.name", "of the part")
    amount: Decimal | None = column()
    twice: Annotated[int, str] = column()

    @member("as text")
    def tags(self) -> list[str]:
        return sorted(self.words)

    held: GpuHours = column(name="gpu_hours")
    start: MsInstant = column()
    note: TextOrNull = column()
    color: str = column(choices=Color)
    counts: dict[str, int] = column()
    parts: tuple[PartRow, ...] = column(is_detail=True)
    words: frozenset[str]


def thing(part: PartRow | None) -> ThingRow:
    return ThingRow(
        id=1,
        on=date(2026, 11, 1),
        at=datetime(2026, 11, 1, 10, tzinfo=UTC),
        part=part,
        amount=Decimal("1.5"),
        twice=2,
        held=HOUR_MS,
        start=0,
        note="",
        color="red",
        counts={"a": 1},
        parts=(PartRow(name="x"),),
        words=frozenset({"b", "a"}),
    )


def test_members_are_in_the_order_of_the_class() -> None:
    assert serializer_of(ThingRow).one(thing(PartRow(name="p"))) == {
        "id": 1,
        "on": "2026-11-01",
        "seen_at": "2026-11-01T10:00:00Z",
        "part": {"name": "p"},
        "part_name": "p",
        "amount": "1.500000",
        "twice": "2",
        "tags": ["a", "b"],
        "gpu_hours": "1.000000",
        "start": "1970-01-01T00:00:00Z",
        "note": None,
        "color": "red",
        "counts": {"a": 1},
    }
    names = [one.name for one in columns_of(ThingRow)]
    assert names == [*serializer_of(ThingRow).one(thing(None)), "parts"]


def test_an_item_has_details_besides() -> None:
    item = item_serializer_of(ThingRow)
    assert item.one(thing(None))["parts"] == [{"name": "x"}]
    assert item.__doc__ == "A thing with its parts."
    assert item_serializer_of(PartRow) is serializer_of(PartRow)
    assert item.__name__ == "ThingDetailSerializer"


def test_what_is_not_there_is_null() -> None:
    found = serializer_of(ThingRow).one(thing(None))
    assert (found["part"], found["part_name"]) == (None, None)


def test_a_row_is_a_frozen_dataclass_with_its_members_as_attributes() -> None:
    one = thing(PartRow(name="p"))
    assert (one.part_name, one.tags) == ("p", ["a", "b"])
    with pytest.raises(FrozenInstanceError):
        one.id = 2  # type: ignore[misc]
    assert not hasattr(one, "__dict__")


def test_the_document_says_what_the_row_says() -> None:
    made = serializer_of(ThingRow)
    fields = made().fields
    assert made.__doc__ == "A thing."
    assert fields["on"].help_text == "a day"
    assert fields["seen_at"].allow_null
    assert not fields["id"].allow_null
    color: Any = fields["color"]
    assert list(color.choices) == ["red"]
    assert isinstance(fields["gpu_hours"], serializers.CharField)
    assert serializer_of(ThingRow) is made  # one component for all of its addresses


def test_texts_of_instants_and_blanks() -> None:
    at = datetime(2026, 11, 1, 10, 0, 0, 5000, tzinfo=UTC)
    assert texts.moment(at) == "2026-11-01T10:00:00.005Z"
    assert texts.iso(at.replace(microsecond=0)) == "2026-11-01T10:00:00+00:00"
    assert texts.text_or_null("") is None
