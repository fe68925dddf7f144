"""A YAML document whose every value remembers its line, and errors that name it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

import yaml


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
        """A short text; missing without default is a fault."""
        if key not in self.values or self.values[key] is None:
            if default is None:
                self.fail(key, f"{key!r} is missing")
            return default or ""
        value = self.values[key]
        if isinstance(value, bool | Mapping | list):
            self.fail(key, f"{key!r} must be a text")
            return default or ""
        if len(str(value)) > longest:
            self.fail(key, f"{key!r} is longer than {longest} characters")
        return str(value)

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
            self.fail(key, f"{key!r} is no number: {value!r}")
            return None
        if not number.is_finite() or number < 0:
            self.fail(key, f"{key!r} is negative or no finite number: {value!r}")
            return None
        if number.as_tuple().exponent < -6 or number >= 10**6:  # type: ignore[operator]
            self.fail(key, f"{key!r} has more than 6 places or is too large: {value!r}")
            return None
        return number

    def instant(  # noqa: PLR0911  # one way out for each form of a time
        self, key: str, zone: ZoneInfo, *, default: datetime
    ) -> datetime:
        """An ISO time with offset, or a date: midnight in the billing time zone."""
        value = self.values.get(key)
        if value is None:
            return default
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                self.fail(key, f"{key!r} is no time or date: {value!r}")
                return default
        if isinstance(value, datetime):
            if value.tzinfo is None and value.time() == time():
                return value.replace(tzinfo=zone)
            if value.tzinfo is None:
                self.fail(key, f"{key!r} has no offset; add Z for UTC")
                return default
            return value.astimezone(UTC)
        if isinstance(value, date):
            return datetime.combine(value, time(), tzinfo=zone)
        self.fail(key, f"{key!r} is no time or date: {value!r}")
        return default

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

    def texts(self, key: str) -> list[str]:
        """A list of texts; missing is empty."""
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or any(not isinstance(v, str) for v in value):
            self.fail(key, f"{key!r} must be a list of texts")
            return []
        return value

    def plain(self) -> dict[str, Any]:
        """Its values without their lines."""
        return {key: _plain(value) for key, value in self.values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Entry):
        return value.plain()
    return [_plain(item) for item in value] if isinstance(value, list) else value


def parse(text: str) -> Entry:
    """Read a document.

    Raises:
        DocumentError: not YAML, not a mapping, or a key twice.
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = 1 if mark is None else mark.line + 1
        raise DocumentError([Fault(line, f"not YAML: {error.problem}")]) from error
    if not isinstance(node, yaml.MappingNode):
        raise DocumentError([Fault(1, "the document must be a mapping of sections")])
    faults: list[Fault] = []
    entry = _entry(node, faults)
    if faults:
        raise DocumentError(faults)
    return entry


def _entry(node: yaml.MappingNode, faults: list[Fault]) -> Entry:
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key_node, value_node in node.value:
        key, line = str(key_node.value), key_node.start_mark.line + 1
        if key in values:
            faults.append(Fault(line, f"{key!r} stands here twice"))
        values[key], lines[key] = _value(value_node, faults), line
    return Entry(values, lines, node.start_mark.line + 1, faults)


def _value(node: yaml.Node, faults: list[Fault]) -> Any:
    if isinstance(node, yaml.MappingNode):
        return _entry(node, faults)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, faults) for item in node.value]
    if node.tag == "tag:yaml.org,2002:float":
        return str(node.value)  # money must not pass through binary floats
    try:
        loader = yaml.SafeLoader("")
        return loader.construct_object(node)
    except (yaml.YAMLError, ValueError) as error:
        faults.append(Fault(node.start_mark.line + 1, f"not a value: {error}"))
        return None
