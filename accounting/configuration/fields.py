"""The kinds of values that files have: text, money, instants; and what sections share.

A validator raises ValueError with the message; `yaml_lines` puts the line and key before it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Annotated, Any, ClassVar
from unicodedata import category
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StrictStr,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from accounting.sources.address import fault_of

EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
LONG_AGO = EARLIEST
_NOT_TEXT = ("Cc", "Cs")  # control characters and halves of surrogate pairs


@dataclass(frozen=True, slots=True)
class FileContext:
    """What the values of a file are checked against.

    Attributes:
        zone: in which a date begins.
        names: "team" and "cluster" -> the names that the file may use.
        seen: what may be there once, and was.
    """

    zone: ZoneInfo
    names: Mapping[str, Collection[str]] = field(default_factory=dict)
    seen: set[object] = field(default_factory=set)


class Section(BaseModel):
    """A mapping of a file. Unknown keys are refused; a key without a value is left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    keeps_empty: ClassVar[frozenset[str]] = frozenset()  # keys for which None counts

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        return {
            key: value
            for key, value in values.items()
            if value is not None or key in cls.keeps_empty or key not in _keys(cls)
        }


def _keys(model: type[Section]) -> set[str]:
    return {one.alias or name for name, one in model.model_fields.items()}


def fault(message: str, *keys: str | int) -> PydanticCustomError:
    """What a validator of a whole section raises: a fault at one of its keys."""
    return PydanticCustomError("fault", "{text}", {"text": message, "keys": keys})


def must(accept: Callable[[str], object], message: str) -> AfterValidator:
    """A check of one value; the message follows the value."""

    def check(value: str) -> str:
        if not accept(value):
            raise ValueError(f"{value!r} {message}")
        return value

    return AfterValidator(check)


def context_of(info: ValidationInfo) -> FileContext:
    """The context of a validation."""
    found: FileContext = info.context  # type: ignore[assignment]  # `Document.read` gives it
    return found


def refuse_second(info: ValidationInfo, key: object, message: str, *at: str) -> None:
    """Refuse what was in the file before, at a key of its section."""
    if key in context_of(info).seen:
        raise fault(message, *at)
    context_of(info).seen.add(key)


def new(what: str) -> AfterValidator:
    """A name that one thing of this kind has in a file."""

    def check(name: str, info: ValidationInfo) -> str:
        refuse_second(info, (what, name), f"duplicate {what} {name!r}")
        return name

    return AfterValidator(check)


def existing(what: str, advice: str) -> AfterValidator:
    """The name of a thing that the file or the ledger has; "" stands for all.

    `{known}` in the advice becomes the names that there are.
    """

    def check(name: str, info: ValidationInfo) -> str:
        names = context_of(info).names[what]
        if name and name not in names:
            listed = ", ".join(sorted(names)) or "none"
            what_to_do = advice.format(known=listed)
            raise ValueError(f"no {what} is called {name!r}; {what_to_do}")
        return name

    return AfterValidator(check)


def text_of(value: object) -> str:
    """A scalar value as text.

    Raises:
        ValueError: it is missing, a list, a mapping, a word that YAML reads as true or
            false, or has a control character.
    """
    if isinstance(value, bool):
        raise ValueError(f"read as {value}; put it in quotes")  # noqa: TRY004  # as below
    if isinstance(value, dict | list):
        raise ValueError("must be text")  # noqa: TRY004  # pydantic collects ValueError
    if value is None:
        raise ValueError("missing")
    text = str(value)
    if any(category(letter) in _NOT_TEXT for letter in text):
        raise ValueError(f"contains a control character: {text!r}")
    return text


def _address(url: str) -> str:
    if found := fault_of(url):
        raise ValueError(found)
    return url


def _instant(value: object, info: ValidationInfo) -> datetime:
    """An ISO time with offset, or a date: midnight in the billing time zone."""
    try:
        instant = _instant_or_none(value, context_of(info).zone)
    except (ValueError, OverflowError):
        raise ValueError(
            f"'{value}' is not a valid time or date; write 2026-10-01"
        ) from None
    if instant is None:
        raise ValueError("the time has no offset; add Z for UTC")
    if not EARLIEST <= instant < LATEST:
        raise ValueError(f"'{value}' must be between 1970 and 9998")
    return instant


def _instant_or_none(value: object, zone: ZoneInfo) -> datetime | None:
    """The instant that is written; None for a time of day without offset.

    Raises:
        ValueError, OverflowError: there is no such time.
    """
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            return value.astimezone(UTC)
        return value.replace(tzinfo=zone) if value.time() == time() else None
    if isinstance(value, date):
        return datetime.combine(value, time(), tzinfo=zone)
    raise ValueError(value)


def _no_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError(f"read as {value}; write a number")  # noqa: TRY004  # pydantic
    return value


Number = BeforeValidator(_no_bool)  # beside the type: `yes` is not 1
Note = Annotated[str, BeforeValidator(text_of)]  # may be empty
Text = Annotated[Note, must(str.strip, "is empty")]
Address = Annotated[Text, AfterValidator(_address)]
Texts = dict[str, StrictStr]
Money = Annotated[  # per GPU-hour (rules.md N28)
    Decimal, Field(ge=0, lt=10**6, decimal_places=6), Number
]
Instant = Annotated[datetime, PlainValidator(_instant)]
