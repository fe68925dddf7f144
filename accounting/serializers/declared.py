"""The serializer of a declared row (`accounting/kit/rows.py`): a field for each member."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from django.db.models import Choices
from rest_framework import serializers

from accounting.domain.core.money import Money
from accounting.kit import texts
from accounting.kit.rows import RowColumn, TextOrNull, columns_of, is_declared
from accounting.serializers.row import (
    MoneyField,
    NumberField,
    RowSerializer,
    SecondsField,
    TextOrNullField,
)

_Field = serializers.Field[Any, Any, Any, Any]
_BY_TYPE: Mapping[type, type[Any]] = {
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: NumberField,
    str: serializers.CharField,
    date: serializers.DateField,
    datetime: SecondsField,
    Decimal: MoneyField,
    Money: MoneyField,
}


class WrittenField(serializers.CharField):
    """A value that a function writes as text."""

    def __init__(self, write: Callable[[Any], Any], **options: Any) -> None:
        super().__init__(**options)
        self.to_representation = write  # type: ignore[method-assign,assignment]


@cache
def serializer_of(row_type: type, *, is_detail: bool = False) -> type[RowSerializer]:
    """The serializer of a declared row; with its details, that of one item."""
    name = f"{vars(row_type)['component_']}{'Detail' if is_detail else ''}"
    fields = {
        one.name: _field_of(one)
        for one in columns_of(row_type)
        if is_detail or not one.is_detail
    }
    about = (row_type.__doc__ or "").partition("\n\n")[0]
    if is_detail:
        about = vars(row_type)["detail_"]
    return type(f"{name}Serializer", (RowSerializer,), {**fields, "__doc__": about})


def _field_of(column: RowColumn) -> _Field:
    options: dict[str, Any] = {"help_text": column.help} if column.help else {}
    if column.source != column.name:
        options["source"] = column.source
    if column.choices is not None:
        options["choices"] = _choices(column.choices)
    return _field(column.type, options)


def _field(type_: Any, options: dict[str, Any]) -> _Field:
    """A field for values of a type."""
    origin, inner = get_origin(type_), get_args(type_)
    if origin in (Union, UnionType):
        (type_,) = (one for one in inner if one is not NoneType)
        return _field(type_, {**options, "allow_null": True})
    if origin is Annotated and inner[1] is not texts.text_or_null:
        return WrittenField(inner[1], **options)
    if origin in (tuple, list) and not is_declared(inner[0]):
        return serializers.ListField(child=_field(inner[0], {}), **options)
    if origin in (dict, Mapping):
        return serializers.DictField(child=_field(inner[1], {}), **options)
    found: _Field = _class(type_, options)(**options)
    return found


def _class(type_: Any, options: Mapping[str, Any]) -> Callable[..., _Field]:
    if "choices" in options:
        return serializers.ChoiceField
    if type_ == TextOrNull:
        return TextOrNullField
    if get_origin(type_) in (tuple, list):
        return partial(serializer_of(get_args(type_)[0]), many=True)
    return serializer_of(type_) if is_declared(type_) else _BY_TYPE[type_]


def _choices(given: Any) -> Any:
    if isinstance(given, type) and issubclass(given, Choices):
        return given.choices
    if isinstance(given, type) and issubclass(given, Enum):
        return [one.value for one in given]
    return given
