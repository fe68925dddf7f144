"""Rows that lists show: what is said about each value, once, beside the value.

A row is a frozen dataclass. What is written in it as `column`, `derived` or `member` is a member
of REST, CSV and commands, in this order; a field without one is for the program alone. The type
says how a value is written; where it does not say enough, it is annotated with the function that
writes it.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from functools import cache
from types import NoneType
from typing import (
    Annotated,
    Any,
    Generic,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from accounting.kit import texts

Choices = type[Enum] | Iterable[str]
_Row = TypeVar("_Row", bound=type)
_Value = TypeVar("_Value")

NOT_KNOWN = "Not known"

TextOrNull = Annotated[str, texts.text_or_null]
"""A text; null if it is empty."""

GpuHours = Annotated[int, texts.gpu_hours]
"""Milliseconds, written as GPU-hours with six places."""

Moment = Annotated[datetime, texts.moment]
"""An instant, written as ISO 8601, UTC, with milliseconds where they are not zero."""

OffsetInstant = Annotated[datetime, texts.iso]
"""An instant, written as ISO 8601 with its offset."""

MsInstant = Annotated[int, texts.instant]
"""Milliseconds since 1970, written as ISO 8601, UTC."""


@dataclass(frozen=True, slots=True)
class RowColumn:
    """One member of a row.

    Attributes:
        name: in JSON and CSV.
        type: what it is; with `| None` it may be null.
        source: where the row has it: attributes, separated by dots; None on the way is null.
        help: for the OpenAPI document.
        choices: the only values that it can have.
        is_detail: a member of the item only, not of the list.
        head: the title of its column on a page, if not its name.
        show: the filter that writes it there, if not the one of its type.
        missing: what a page says instead of null.
    """

    name: str
    type: Any
    source: str
    help: str
    choices: Choices | None
    is_detail: bool = False
    head: str = ""
    show: str = ""
    missing: str = NOT_KNOWN


class Derived(Generic[_Value]):
    """A member that a row does not store."""

    def __init__(self, column: RowColumn, read: Callable[[Any], _Value]) -> None:
        self.column, self.read = column, read

    def __get__(self, found: Any, owner: type) -> _Value:
        """The value of a row."""
        del owner
        return self if found is None else self.read(found)  # type: ignore[return-value]  # of the class: itself


def column(
    help: str = "",  # noqa: A002  # as the framework calls it
    *,
    name: str = "",
    choices: Choices | None = None,
    is_detail: bool = False,
    **rest: Any,
) -> Any:
    """A field of a row that is a member; `name` if the member has another name.

    `rest` are `head`, `show` and `missing`; `default` and `default_factory` of a dataclass.
    """
    page = {key: rest.pop(key) for key in ("head", "show", "missing") if key in rest}
    said = RowColumn(name, None, "", help, choices, is_detail, **page)
    return dataclasses.field(metadata={RowColumn: said}, **rest)


def derived(
    type_: Any,
    source: str,
    help: str = "",  # noqa: A002  # as the framework calls it
    *,
    name: str = "",
    choices: Choices | None = None,
    **page: str,
) -> Any:
    """A member that is read along a path, such as `outlook.forecast.low`; None on it is null."""

    def read(found: Any) -> Any:
        for attribute in source.split("."):
            if isinstance(found, Mapping):
                found = found[attribute]
            elif found is not None:
                found = getattr(found, attribute)
        return found

    said = RowColumn(name, type_, source, help, choices, **page)  # type: ignore[arg-type]  # no bool
    return Derived(said, read)


def member(
    help: str = "",  # noqa: A002  # as the framework calls it
    *,
    name: str = "",
    choices: Choices | None = None,
    **page: str,
) -> Callable[[Callable[[Any], _Value]], Derived[_Value]]:
    """A property of a row that is a member; its type is what it returns."""

    def declare(read: Callable[[Any], _Value]) -> Derived[_Value]:
        type_ = get_type_hints(read, include_extras=True)["return"]
        said = RowColumn(name, type_, "", help, choices, **page)  # type: ignore[arg-type]  # no bool
        return Derived(said, read)

    return declare


@dataclass_transform(
    frozen_default=True,
    kw_only_default=True,
    field_specifiers=(column, dataclasses.field),
)
def listed(component: str, *, detail: str = "") -> Callable[[_Row], _Row]:
    """A frozen dataclass whose members are declared; it is made with keywords.

    Args:
        component: its name in the OpenAPI document.
        detail: what an item with the members of `is_detail` is, for the same.
    """

    def declare(cls: _Row) -> _Row:
        said = [*_said(cls)]  # before the dataclass takes its fields out of the class
        made: Any = dataclass(frozen=True, slots=True, kw_only=True)(cls)
        made.component_, made.detail_, made.columns_ = component, detail, said
        return made  # type: ignore[no-any-return]  # the same class

    return declare


def _said(cls: type) -> Iterable[RowColumn]:
    for name, value in vars(cls).items():
        if isinstance(value, Derived):
            found = value.column
            yield replace(found, name=found.name or name, source=found.source or name)
        elif isinstance(value, dataclasses.Field) and RowColumn in value.metadata:
            found = value.metadata[RowColumn]
            yield replace(found, name=found.name or name, source=name)


def is_declared(type_: Any) -> bool:
    """Whether it is a class of rows whose members are declared."""
    return isinstance(type_, type) and "columns_" in vars(type_)


@cache
def columns_of(row_type: type) -> tuple[RowColumn, ...]:
    """The members of a row, in their order."""
    hints = get_type_hints(row_type, include_extras=True)
    said: list[RowColumn] = vars(row_type)["columns_"]
    return tuple(
        replace(one, type=hints[one.source] if one.type is None else one.type)
        for one in said
    )


def plain_type(type_: Any) -> tuple[Any, Any, bool]:
    """The class of a member's values, the function that writes them or None, and whether null is.

    Of a union without null, a list and the like the class is `object`.
    """
    inner = get_args(type_)
    may_be_none = NoneType in inner
    if may_be_none:
        (type_,) = (one for one in inner if one is not NoneType)
        inner = get_args(type_)
    writer = inner[1] if get_origin(type_) is Annotated else None
    base = inner[0] if writer else type_
    return (base if isinstance(base, type) else object), writer, may_be_none
