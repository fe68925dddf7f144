"""Serializers of declared rows and inputs (`accounting/kit`): a field for each member."""

from collections import abc
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from django.db.models import Choices, Model
from rest_framework import serializers

from accounting.core.money import Money
from accounting.kit import texts
from accounting.kit.inputs import Value, values_of
from accounting.kit.outcomes import Refused
from accounting.kit.rows import RowColumn, columns_of, is_declared
from accounting.kit.serializers.row import (
    IsoField,
    IsoMillisecondsField,
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
    Any: serializers.JSONField,
}
_LISTS = (tuple, list, abc.Sequence)
_BY_WRITER: Mapping[Any, type[Any]] = {
    texts.text_or_null: TextOrNullField,
    texts.iso: IsoField,
    texts.iso_ms: IsoMillisecondsField,
}


class WrittenField(serializers.CharField):
    """A value that a function writes as text."""

    def __init__(self, write: Callable[[Any], Any], **options: Any) -> None:
        super().__init__(**options)
        self.write = write

    def to_representation(self, value: Any) -> Any:
        return self.write(value)


def serializer_of(row_type: Any) -> type[RowSerializer]:
    """The serializer of a declared row; one that is written by hand is itself."""
    if issubclass(row_type, RowSerializer):
        by_hand: type[RowSerializer] = row_type
        return by_hand
    return _serializer(row_type, is_detail=False)


def item_serializer_of(row_type: type) -> type[RowSerializer]:
    """That of one item, with its details, if there are some."""
    is_detail = bool(vars(row_type).get("detail_"))
    return (
        _serializer(row_type, is_detail=True) if is_detail else serializer_of(row_type)
    )


@cache  # the same row is the same component at each address
def _serializer(row_type: type, *, is_detail: bool) -> type[RowSerializer]:
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


@cache
def body_of(input_type: Any) -> type[serializers.Serializer[Any]]:
    """The serializer of the body that a verb takes; its values make the input."""

    def validate(
        self: serializers.Serializer[Any], attrs: dict[str, Any]
    ) -> dict[str, Any]:
        """What is wrong together."""
        del self
        try:
            check = getattr(input_type(**attrs), "check", None)
            if check:
                check()
        except Refused as error:
            raise serializers.ValidationError({error.member: str(error)}) from error
        return attrs

    return type(
        f"{input_type.component_}Serializer",
        (serializers.Serializer,),
        {one.name: _body_field(one) for one in values_of(input_type)}
        | {"__doc__": input_type.__doc__, "validate": validate},
    )


def _body_field(value: Value) -> _Field:
    options: dict[str, Any] = {"help_text": value.help} if value.help else {}
    if not value.is_required:
        options |= {"default": value.default} if value.default else {"required": False}
    type_ = value.type
    if get_origin(type_) in (Union, UnionType):
        (type_,) = (one for one in get_args(type_) if one is not NoneType)
    if value.choices is not None:
        return serializers.ChoiceField(_choices(value.choices), **options)
    if issubclass(type_, Model):
        options["queryset"] = type_._default_manager.all()  # noqa: SLF001  # Django's name
        if value.by:
            return serializers.SlugRelatedField(value.by, **options)
        return serializers.PrimaryKeyRelatedField(**options)
    if value.size and type_ is Decimal:
        return serializers.DecimalField(*value.size, **options)
    if value.size:
        shortest, longest = value.size
        options |= {"min_length": shortest} if shortest > 1 else {}
        options |= {"allow_blank": True} if not shortest else {}
        options["max_length"] = longest
    found: _Field = _BY_TYPE[type_](**options)
    return found


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
    if origin in _LISTS and not is_declared(inner[0]):
        return serializers.ListField(child=_field(inner[0], {}), **options)
    if origin in (dict, abc.Mapping) and inner[1] is Any:
        return serializers.DictField(**options)
    if origin in (dict, abc.Mapping):
        return serializers.DictField(child=_field(inner[1], {}), **options)
    found: _Field = _class(type_, options)(**options)
    return found


def _class(type_: Any, options: Mapping[str, Any]) -> Callable[..., _Field]:
    if "choices" in options:
        return serializers.ChoiceField
    origin, inner = get_origin(type_), get_args(type_)
    if origin is Annotated and is_declared(inner[1]):
        return serializer_of(inner[1])
    if origin is Annotated:
        return _BY_WRITER.get(inner[1]) or partial(WrittenField, inner[1])
    if origin in _LISTS:
        return partial(serializer_of(inner[0]), many=True)
    if is_declared(type_):
        return serializer_of(type_)
    return next(_BY_TYPE[one] for one in type_.__mro__ if one in _BY_TYPE)


def _choices(given: Any) -> Any:
    if isinstance(given, type) and issubclass(given, Choices):
        return given.choices
    if isinstance(given, type) and issubclass(given, Enum):
        return [one.value for one in given]
    return given
