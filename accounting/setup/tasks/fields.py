"""Types of values in files: text, money, instants; and the base class of sections.

A validator raises ValueError with the message; `yaml_lines` adds the line and key.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, ClassVar
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

from accounting.core.billing_calendar import midnight
from accounting.core.written_text import hidden_fault
from accounting.metering.sources.address import fault_of

EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
LONG_AGO = EARLIEST
WINDOW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class FileContext:
    """The context of the validation of a file.

    Attributes:
        zone: of dates without a time.
        names: "team" and "cluster" -> the names that the file may use.
        seen: keys that must be unique and were found.
    """

    zone: ZoneInfo
    names: Mapping[str, Collection[str]] = field(default_factory=dict)
    seen: set[object] = field(default_factory=set)


class Section(BaseModel):
    """A mapping of a file. Unknown keys are rejected; a key without a value counts as missing."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    keeps_empty: ClassVar[frozenset[str]] = frozenset()  # None is a value

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
    """The error of a validator of a whole section: a fault at one of its keys."""
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
    """Reject a duplicate in the file, at a key of its section."""
    if key in context_of(info).seen:
        raise fault(message, *at)
    context_of(info).seen.add(key)


def new(what: str) -> AfterValidator:
    """A name that must be unique in a file for this kind of object."""

    def check(name: str, info: ValidationInfo) -> str:
        refuse_second(info, (what, name), f"duplicate {what} {name!r}")
        return name

    return AfterValidator(check)


def existing(what: str, advice: str) -> AfterValidator:
    """The name of an existing object of the file or the ledger; "" means all.

    `{known}` in the advice becomes the existing names.
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
        ValueError: the value is missing, a list, a mapping, a YAML boolean, or has a character
            that cannot be seen.
    """
    if isinstance(value, bool):
        raise ValueError(f"read as {value}; put it in quotes")  # noqa: TRY004  # as below
    if isinstance(value, dict | list):
        raise ValueError("must be text")  # noqa: TRY004  # pydantic collects ValueError
    if value is None:
        raise ValueError("missing")
    text = str(value)
    if found := hidden_fault(text):
        raise ValueError(f"{text!r} {found}")
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
    """The instant of a text; None for a time of day without offset.

    Raises:
        ValueError, OverflowError: the time does not exist.
    """
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            return value.astimezone(UTC)
        return midnight(value, zone) if value.time() == time() else None
    if isinstance(value, date):
        return midnight(value, zone)
    raise ValueError(value)


def _on_border(instant: datetime) -> datetime:
    if instant.timestamp() % WINDOW.total_seconds():
        raise ValueError(
            f"'{instant.isoformat()}' must align to a five-minute boundary"
        )
    return instant


def _day(value: object) -> date:
    """A billing day."""
    if type(value) is date:
        return value
    try:
        return date.fromisoformat(text_of(value))
    except ValueError:
        raise ValueError(f"'{value}' is not a valid date; write 2026-10-01") from None


def _no_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError(f"read as {value}; write a number")  # noqa: TRY004  # pydantic
    return value


Number = BeforeValidator(_no_bool)  # strict type: `yes` is not 1
Note = Annotated[str, BeforeValidator(text_of)]  # may be empty
Text = Annotated[Note, must(str.strip, "is empty")]
Address = Annotated[Text, AfterValidator(_address)]
Texts = dict[str, StrictStr]
Money = Annotated[  # per GPU-hour (rules.md N28)
    Decimal, Field(ge=0, lt=10**6, decimal_places=6), Number
]
Rate = Annotated[  # of a conversion (money.md M1)
    Decimal, Field(gt=0, lt=10**10, decimal_places=10), Number
]
Day = Annotated[date, PlainValidator(_day)]
Instant = Annotated[datetime, PlainValidator(_instant)]
Border = Annotated[Instant, AfterValidator(_on_border)]  # of a price (money.md M15)
