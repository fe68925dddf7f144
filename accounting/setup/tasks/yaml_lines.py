"""A YAML document with the line of every value, validated by pydantic models."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from yaml.constructor import SafeConstructor

MOST_VALUES = 200_000  # of one document, with aliases expanded
Location = tuple[str | int, ...]  # keys and list indexes, from the document root
Model = TypeVar("Model", bound=BaseModel)
_TEXTS = {  # messages by pydantic's error type; other errors keep pydantic's message
    "missing": "missing",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "literal_error": "must be {expected}",
    "string_type": "must be text; put it in quotes",
    "decimal_parsing": "{input!r} is not a number",
    "decimal_type": "{input!r} is not a number",
    "float_parsing": "{input!r} is not a number",
    "float_type": "{input!r} is not a number",
    "int_parsing": "{input!r} is not a whole number",
    "int_type": "{input!r} is not a whole number",
    "finite_number": "must be a finite number",
    "greater_than": "must be above {gt:g}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le:g}",
    "decimal_max_places": "must have at most {decimal_places} decimal places",
    "too_long": "longer than {max_length} characters",
    "value_error": "{error}",
    "fault": "{text}",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, and its location."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


class DocumentError(ValueError):
    """A document that cannot be used, with all faults that were found."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = sorted(faults, key=lambda fault: fault.line)


@dataclass(frozen=True, slots=True)
class Document:
    """The values of a document, and the line of each."""

    values: dict[str, Any]
    lines: dict[Location, int]

    def line(self, location: Sequence[str | int]) -> int:
        """The line of a value, or of the closest value around it."""
        place = tuple(location)
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def read(self, model: type[Model], context: object) -> Model:
        """The document as a model.

        Raises:
            DocumentError: every fault, each with its line.
        """
        try:
            return model.model_validate(self.values, context=context)
        except ValidationError as error:
            faults = [self._fault(one, model) for one in error.errors()]
            raise DocumentError(faults) from error

    def _fault(self, error: ErrorDetails, model: type[BaseModel]) -> Fault:
        context = error.get("ctx", {})
        keys = (part for part in error["loc"] if part != "[key]")
        location = (*keys, *context.get("keys", ()))
        if error["type"] == "extra_forbidden":
            known = ", ".join(_keys_at(model, location[:-1]))
            message = f"unknown key {location[-1]!r}; use one of: {known}"
        else:
            text = _TEXTS.get(error["type"], error["msg"]).format_map(
                {"input": error["input"], **context}
            )
            message = f"{_name(location)}: {text}"
        return Fault(self.line(location), message)


def _name(location: Location) -> str:
    """The keys below the last list item: `timeout_s`, `kubernetes.reader`."""
    keys: list[str] = []
    for part in reversed(location):
        if isinstance(part, str):
            keys.insert(0, part)
        elif keys:
            break
    return ".".join(keys)


def _keys_at(model: Any, location: Location) -> list[str]:
    """The keys that the model at a location accepts."""
    for part in location:
        if isinstance(part, str):
            fields = {
                one.alias or name: one for name, one in model.model_fields.items()
            }
            model = _model_in(fields[part].annotation)
    return [one.alias or name for name, one in model.model_fields.items()]


def _model_in(annotation: Any) -> Any:
    """The model in `Model | None`, `tuple[Model, ...]` and the like."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


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


def parse(text: str) -> Document:
    """Read a document.

    Raises:
        DocumentError: not YAML, not a mapping, a duplicate key, or too many values.
    """
    reader = _YamlReader()
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if not isinstance(node, yaml.MappingNode):
            message = "the document must be a mapping of sections, like `teams:`"
            raise DocumentError([Fault(1, message)])
        values = reader.mapping(node, ())
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
    return Document(values, reader.lines)


@dataclass(slots=True)
class _YamlReader:
    """Converts YAML nodes to values; an alias counts each time it is used."""

    faults: list[Fault] = field(default_factory=list)
    lines: dict[Location, int] = field(default_factory=dict)
    scalars: SafeConstructor = field(default_factory=SafeConstructor)

    def mapping(self, node: yaml.MappingNode, location: Location) -> dict[str, Any]:
        """A mapping; the line of a value is the line of its key."""
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.faults.append(Fault(line, "a key must be text"))
                continue
            key = str(key_node.value)
            if key in values:
                self.faults.append(Fault(line, f"duplicate key {key!r}"))
            values[key] = self.value(value_node, (*location, key), line)
        return values

    def value(self, node: yaml.Node, location: Location, line: int) -> Any:
        """Any value.

        Raises:
            DocumentError: aliases expand to too many values.
        """
        self.lines[location] = line
        if len(self.lines) > MOST_VALUES:
            message = f"more than {MOST_VALUES} values; do not nest aliases"
            raise DocumentError([Fault(node.start_mark.line + 1, message)])
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, location)
        if isinstance(node, yaml.SequenceNode):
            return [
                self.value(item, (*location, i), item.start_mark.line + 1)
                for i, item in enumerate(node.value)
            ]
        return self._scalar(node)

    def _scalar(self, node: yaml.Node) -> Any:
        """A scalar value, as text if YAML would change it."""
        if node.tag == "tag:yaml.org,2002:float":
            return str(node.value)  # money must not be converted to binary floats
        line = node.start_mark.line + 1
        try:
            value = self.scalars.construct_object(node)
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            problem = getattr(error, "problem", None) or error
            self.faults.append(Fault(line, f"not a value: {problem}"))
            # it keeps a node that failed, and would take an alias of it for a recursion
            self.scalars = SafeConstructor()
            return None
        if isinstance(value, bytes):
            self.faults.append(Fault(line, "binary values are not supported"))
            return None
        if type(value) is int and str(value) != node.value:
            return str(node.value)  # 0100 is a cost center, not 64
        return value


def plain(value: Any) -> Any:
    """A value that JSON can represent: dates become text."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value
