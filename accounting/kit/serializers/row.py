"""The base of row serializers: from a frozen row to the members of a JSON object.

A serializer is the only place that defines how a row is shown: its fields name the members, in
order, and their source in the row; the schema, JSON, CSV and commands derive from it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC
from functools import cached_property, partial
from operator import attrgetter
from typing import Any

from rest_framework import serializers

from accounting.core.interval import to_ms
from accounting.kit import texts

Members = dict[str, Any]
_Read = Callable[[Any], Any]


class RowSerializer(serializers.Serializer[Any]):
    """Serializes rows; does not parse request bodies.

    A report has tens of thousands of rows. So the reader of each field is determined once, not for
    every row as in the framework: 5,000 rows of `usage` take 60 ms instead of 370 ms.
    """

    @cached_property
    def _writers(self) -> tuple[tuple[str, _Read, _Read | None], ...]:
        return tuple(
            (
                str(name),
                _reader(field),
                None if type(field) in _AS_THEY_ARE else field.to_representation,
            )
            for name, field in self.measures().items()
        )

    def measures(self) -> dict[str, Any]:
        """The fields that are read from a row: all except the keys of a report."""
        return dict(self.fields.items())

    def to_representation(self, instance: Any) -> Members:
        """The members of one row, in the order of the fields."""
        found = {}
        for name, read, write in self._writers:
            value = read(instance)
            found[name] = value if value is None or write is None else write(value)
        return found

    @classmethod
    def each(cls, rows: Iterable[Any]) -> Iterator[Members]:
        """Rows one by one, as JSON, CSV and commands print them."""
        return map(cls().to_representation, rows)

    @classmethod
    def one(cls, row: Any) -> Members:
        """One row."""
        return cls().to_representation(row)


def _reader(field: serializers.Field[Any, Any, Any, Any]) -> _Read:
    """A function that reads the value of a field from a row; None along the path gives None."""
    path: list[str] = field.source_attrs  # set by bind()
    if not path:
        return _itself
    if len(path) == 1:
        return attrgetter(path[0])
    first, *rest = path
    return partial(_through, attrgetter(first), rest)


def _itself(row: Any) -> Any:
    return row


def _through(first: _Read, rest: Sequence[str], row: Any) -> Any:
    value = first(row)
    for name in rest:
        if value is None:
            return None
        value = value[name] if isinstance(value, dict) else getattr(value, name)
    return value


class NumberField(serializers.FloatField):
    """A number, unchanged: an integer stays an integer."""

    def to_representation(self, value: Any) -> Any:
        """The number itself."""
        return value


# Rows are typed: converting an integer to an integer would only take time.
_AS_THEY_ARE = frozenset(
    {serializers.IntegerField, serializers.BooleanField, NumberField}
)


class GpuHoursField(serializers.CharField):
    """Milliseconds as GPU-hours."""

    def to_representation(self, value: Any) -> str:
        """Six places."""
        return texts.gpu_hours(value)


class MoneyField(serializers.CharField):
    """An amount of money; null if not known."""

    def to_representation(self, value: Any) -> str:
        """Six places."""
        return texts.amount(value)


class PayableField(serializers.CharField):
    """What is paid: with the places of the currency's minor unit (money.md M1)."""

    def to_representation(self, value: Any) -> str:
        """`12.30` of EUR, `12` of JPY; the value is `Money`."""
        return texts.payable(value)


class TextOrNullField(serializers.CharField):
    """A text; null if it is empty."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "allow_null": True})

    def to_representation(self, value: str) -> Any:
        """The text or None."""
        return value or None


class MillisecondsField(serializers.CharField):
    """Milliseconds since 1970 as ISO 8601, UTC."""

    def to_representation(self, value: Any) -> str:
        """`2026-10-01T10:00:00Z`."""
        return texts.instant(value)


class MomentField(serializers.CharField):
    """An instant as ISO 8601, UTC."""

    def to_representation(self, value: Any) -> str:
        """`2026-10-01T10:00:00Z`."""
        return texts.instant(to_ms(value))


class SecondsField(serializers.DateTimeField):
    """An instant as ISO 8601, UTC, to the second."""

    def to_representation(self, value: Any) -> str:
        """`2026-10-01T10:00:00Z`."""
        text: str = value.astimezone(UTC).isoformat(timespec="seconds")
        return text.replace("+00:00", "Z")


class IsoField(serializers.DateTimeField):
    """An instant as ISO 8601 with its offset."""

    def to_representation(self, value: Any) -> str:
        """`2026-10-01T10:00:00+00:00`."""
        return texts.iso(value)


class IsoMillisecondsField(serializers.DateTimeField):
    """An instant as ISO 8601, UTC, to the millisecond."""

    def to_representation(self, value: Any) -> str:
        """`2026-10-01T10:00:00.000Z`."""
        return texts.iso_ms(value)
