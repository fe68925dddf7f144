"""A YAML document whose every value remembers its line, and errors that name it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any
from unicodedata import category
from zoneinfo import ZoneInfo

import yaml

MOST_VALUES = 200_000  # of one document, aliases written out
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
_NO_LETTERS = ("Cc", "Cs")  # control characters and halves of characters


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong, and where."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


class DocumentError(ValueError):
    """A document cannot be used; carries every fault that was found."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = faults


@dataclass(slots=True)
class Entry:
    """One mapping of the document: its keys, values and lines; collects faults."""

    values: dict[str, Any]
    lines: dict[str, int]
    line: int
    faults: list[Fault] = field(default_factory=list)

    def allow(self, *names: str) -> None:
        """Complain about keys other than these."""
        for key in self.values:
            if key not in names:
                known = ", ".join(names)
                self.fail(key, f"unknown key {key!r}; known are {known}")

    def fail(self, key: str, message: str) -> None:
        """Note a fault at a key's line."""
        self.faults.append(Fault(self.lines.get(key, self.line), message))

    def text(self, key: str, *, default: str | None = None, longest: int = 253) -> str:
        """A short text; missing or empty without default is a fault."""
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        if value is None:
            self.fail(key, f"{key!r} is missing")
            return ""
        if isinstance(value, bool):
            self.fail(key, f"{key!r} is read as {value}; put it in quotes")
            return ""
        if isinstance(value, Entry | list):
            self.fail(key, f"{key!r} must be a text")
            return ""
        return self._checked(key, str(value), longest, may_be_empty=default is not None)

    def _checked(
        self, key: str, text: str, longest: int, *, may_be_empty: bool = False
    ) -> str:
        if not text.strip() and not may_be_empty:
            self.fail(key, f"{key!r} is empty")
        if len(text) > longest:
            self.fail(key, f"{key!r} is longer than {longest} characters")
        if any(category(letter) in _NO_LETTERS for letter in text):
            self.fail(key, f"{key!r} has a control character in it: {text!r}")
        return text

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        """One of some words."""
        value = self.text(key)
        if value and value not in allowed:
            self.fail(key, f"{key!r} is {value!r}; use {', '.join(allowed)}")
        return value

    def money(self, key: str) -> Decimal | None:
        """An amount per GPU-hour: not negative, at most six places (rules.md N28)."""
        value = self.values.get(key)
        if value is None:
            return None
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            shown = "" if isinstance(value, Entry | list) else f": {value!r}"
            self.fail(key, f"{key!r} is no number{shown}")
            return None
        if not number.is_finite() or number < 0:
            self.fail(key, f"{key!r} is negative or no finite number: {value!r}")
            return None
        if number.as_tuple().exponent < -6 or number >= 10**6:  # type: ignore[operator]
            self.fail(key, f"{key!r} has more than 6 places or is too large: {value!r}")
            return None
        return number

    def instant(self, key: str, zone: ZoneInfo, *, default: datetime) -> datetime:
        """An ISO time with offset, or a date: midnight in the billing time zone."""
        return self.instant_or_none(key, zone) or default

    def instant_or_none(self, key: str, zone: ZoneInfo) -> datetime | None:
        """The same without a default: None where it is missing, empty or wrong."""
        value = self.values.get(key)
        if value is None:
            return None
        try:
            instant = _instant(value, zone)
        except (ValueError, OverflowError):
            self.fail(key, f"{key!r} is no time or date: {value!r}; write 2026-10-01")
            return None
        if instant is None:
            self.fail(key, f"{key!r} has no offset; add Z for UTC")
            return None
        if not EARLIEST <= instant < LATEST:
            self.fail(key, f"{key!r} does not lie between 1970 and 9998: {value!r}")
            return None
        return instant

    def mapping(self, key: str) -> dict[str, Any]:
        """A mapping of plain values; missing is empty."""
        value = self.values.get(key)
        if value is None:
            return {}
        if not isinstance(value, Entry):
            self.fail(key, f"{key!r} must be a mapping")
            return {}
        return value.plain()

    def entries(self, key: str) -> Iterator["Entry"]:
        """The mappings of a list; missing is empty."""
        value = self.values.get(key)
        if value is None:
            return
        if not isinstance(value, list):
            self.fail(key, f"{key!r} must be a list")
            return
        for item in value:
            if isinstance(item, Entry):
                yield item
            else:
                self.fail(key, f"{key!r} must be a list of mappings")

    def texts(self, key: str, *, longest: int = 253) -> list[str]:
        """A list of texts; missing is empty."""
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or any(not isinstance(v, str) for v in value):
            self.fail(key, f"{key!r} must be a list of texts")
            return []
        return [self._checked(key, text, longest) for text in value]

    def plain(self) -> dict[str, Any]:
        """Its values without their lines."""
        return {key: _plain(value) for key, value in self.values.items()}


def _instant(value: Any, zone: ZoneInfo) -> datetime | None:
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


def once(entries: Iterable[Entry], key: str, what: str) -> None:
    """Complain where a second entry has the same value of a key."""
    seen: set[str] = set()
    for entry in entries:
        value = str(entry.values.get(key, ""))
        if value and value in seen:
            entry.fail(key, f"{what} {value!r} stands here twice")
        seen.add(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Entry):
        return value.plain()
    if isinstance(value, date):
        return value.isoformat()
    return [_plain(item) for item in value] if isinstance(value, list) else value


def decode(data: bytes) -> str:
    """The text of a file.

    Raises:
        DocumentError: it is not UTF-8; names the first line that is not.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = "not UTF-8 text; save the file as UTF-8"
        raise DocumentError([Fault(line, message)]) from error


def parse(text: str) -> Entry:
    """Read a document.

    Raises:
        DocumentError: not YAML, not a mapping, a key twice, or far too much of it.
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if not isinstance(node, yaml.MappingNode):
            message = "the document must be a mapping of sections, like `teams:`"
            raise DocumentError([Fault(1, message)])
        reader = _YamlReader()
        entry = reader.entry(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise DocumentError([Fault(line, f"not YAML: {error.problem}")]) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"not YAML: the character {error.character!r} is not text"
        raise DocumentError([Fault(line, message)]) from error
    except RecursionError as error:
        raise DocumentError([Fault(1, "nested too deeply")]) from error
    if reader.faults:
        raise DocumentError(reader.faults)
    return entry


class _YamlReader:
    """Turns YAML's nodes into values; an alias counts as often as it stands somewhere."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.left = MOST_VALUES

    def entry(self, node: yaml.MappingNode) -> Entry:
        """A mapping."""
        values: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.faults.append(Fault(line, "a key must be a text"))
                continue
            key = str(key_node.value)
            if key in values:
                self.faults.append(Fault(line, f"{key!r} stands here twice"))
            values[key], lines[key] = self.value(value_node), line
        return Entry(values, lines, node.start_mark.line + 1, self.faults)

    def value(self, node: yaml.Node) -> Any:
        """Any value.

        Raises:
            DocumentError: aliases stand for more values than anybody writes.
        """
        self.left -= 1
        if self.left < 0:
            message = f"more than {MOST_VALUES} values; do not nest aliases"
            raise DocumentError([Fault(node.start_mark.line + 1, message)])
        if isinstance(node, yaml.MappingNode):
            return self.entry(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item) for item in node.value]
        return self.scalar(node)

    def scalar(self, node: yaml.Node) -> Any:
        """A value without parts, as it is written where reading would change it."""
        if node.tag == "tag:yaml.org,2002:float":
            return str(node.value)  # money must not pass through binary floats
        try:
            value = yaml.SafeLoader("").construct_object(node)
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            problem = getattr(error, "problem", None) or error
            self.faults.append(
                Fault(node.start_mark.line + 1, f"not a value: {problem}")
            )
            return None
        if isinstance(value, bytes):
            self.faults.append(
                Fault(node.start_mark.line + 1, "binary values are not understood")
            )
            return None
        if type(value) is int and str(value) != node.value:
            return str(node.value)  # 0100 is a cost centre, not 64
        return value
