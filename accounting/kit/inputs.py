"""What a verb takes: declared once for the body of REST, the form of a page, and files.

An input is a frozen dataclass whose fields are `value`. It may have a method `check`, which raises
`Refused` for values that are wrong together.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform, get_type_hints

from accounting.kit.rows import Choices

_Input = TypeVar("_Input", bound=type)
MISSING = dataclasses.MISSING
REASON = "Recorded in the audit log. 10 to 200 characters."


@dataclass(frozen=True, slots=True)
class Value:
    """One member of an input.

    Attributes:
        name: of the attribute, the member of a body and the field of a form.
        type: what it is; `| None` if it may be missing.
        default: `MISSING` if it is required; None or "" if it is optional.
        help: for the OpenAPI document.
        choices: the only values that it can have.
        size: of a decimal: its digits, and those of them after the point; of a text: the shortest,
            0 if it may be empty, and the longest.
        by: of a row of a table: the field that names it; "" for its number.
        page: options of the form's field: its label, help and widget.
    """

    name: str
    type: Any
    default: Any
    help: str
    choices: Choices | None
    size: tuple[int, int] | None
    by: str
    page: Mapping[str, Any]

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is MISSING


def value(
    help: str = "",  # noqa: A002  # as the framework calls it
    *,
    default: Any = MISSING,
    choices: Choices | None = None,
    size: tuple[int, int] | None = None,
    by: str = "",
    page: Mapping[str, Any] | None = None,
) -> Any:
    """A member of an input."""
    said = Value("", None, default, help, choices, size, by, page or {})
    return dataclasses.field(default=default, metadata={Value: said})


def reason(page_help: str = REASON) -> Any:
    """Why a person does it, for the audit log."""
    return value(size=(10, 200), page={"help_text": page_help, "rows": 2})


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(value, reason)
)
def body(component: str) -> Callable[[_Input], _Input]:
    """A frozen dataclass of what a verb takes.

    Args:
        component: its name in the OpenAPI document.
    """

    def declare(cls: _Input) -> _Input:
        made: Any = dataclass(frozen=True, slots=True, kw_only=True)(cls)
        made.component_ = component
        return made  # type: ignore[no-any-return]  # the same class

    return declare


def values_of(input_type: Any) -> tuple[Value, ...]:
    """The members of an input, in their order."""
    hints = get_type_hints(input_type, include_extras=True)
    return tuple(
        dataclasses.replace(
            field.metadata[Value], name=field.name, type=hints[field.name]
        )
        for field in dataclasses.fields(input_type)
    )
