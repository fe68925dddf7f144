"""Request bodies: JSON, parsed strictly, so that views get only values to store; files."""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from typing import IO, Any, NoReturn, cast

from rest_framework import exceptions
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from accounting.core.written_text import hidden_fault

DEEPEST = 32  # levels; a change set has five
WIDEST = 2**63  # larger numbers fit in none of our columns
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")  # PostgreSQL and UTF-8 support neither
_WITH_LINES = ("reason", "text")  # members that a page has as a field of several lines


class BodyError(exceptions.ParseError):
    """A body that is not acceptable JSON.

    Attributes:
        pointer: the member that is not valid (RFC 6901, as a fragment): `#/edits/0/team`.
    """

    def __init__(self, detail: str, pointer: str = "#") -> None:
        super().__init__(detail)
        self.pointer = pointer


class StrictJsonParser(BaseParser):
    """UTF-8, no duplicate keys, numbers of 64 bits, at most 32 levels, no NUL, valid characters."""

    media_type = "application/json"
    renderer_class = JSONRenderer

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The body as values.

        Raises:
            BodyError: the body is not valid; with the fault and its location.
        """
        del media_type, parser_context
        try:
            found = json.loads(
                stream.read().decode(),
                object_pairs_hook=_members,
                parse_constant=_refuse_constant,
            )
        except UnicodeDecodeError as error:
            raise BodyError(f"The body is not UTF-8 (byte {error.start}).") from error
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise BodyError(f"The body is not JSON: {error.msg} ({place}).") from error
        except RecursionError as error:
            raise BodyError("The body is nested too deeply.") from error
        except ValueError as error:  # Python reads no integers of 5,000 digits
            raise BodyError("A number in the body is too large.") from error
        for pointer, value in _walk(found):
            _check(pointer, value)
        return found


MOST_FILE_BYTES = 64 << 20  # of a file that a request sends; commands read larger ones
_IN_MEMORY = 1 << 20
_BLOCK = 64 << 10


class FileTooLarge(exceptions.APIException):
    """A file that a request cannot process."""

    status_code = 413
    default_detail = "The file is larger than 64 MB: compress it, or use the command."


class FileParser(BaseParser):
    """A body that is a file; `request.data` is an open temporary file, to be closed."""

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The body, read in blocks.

        Raises:
            FileTooLarge: more than 64 MB.
        """
        del media_type, parser_context
        file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # the view closes it
        size = 0
        while block := stream.read(_BLOCK):
            size += len(block)
            if size > MOST_FILE_BYTES:
                file.close()
                raise FileTooLarge
            file.write(block)
        return file


class CsvFileParser(FileParser):
    """CSV text."""

    media_type = "text/csv"


class GzipFileParser(FileParser):
    """CSV text, compressed."""

    media_type = "application/gzip"


class ParquetFileParser(FileParser):
    """Parquet."""

    media_type = "application/vnd.apache.parquet"


FILE_PARSERS = (CsvFileParser, GzipFileParser, ParquetFileParser)


def file_of(request: Request) -> IO[bytes]:
    """The open file of a request that `FILE_PARSERS` read; the caller closes it.

    Raises:
        ParseError: the body is empty: REST framework then asks no parser.
    """
    if not hasattr(request.data, "read"):
        raise exceptions.ParseError("The body is empty: send the file as the body.")
    return cast("IO[bytes]", request.data)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise BodyError(f"Duplicate member {_shown(name)!r}.")
        found[name] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise BodyError(f"The body is not JSON: {name} is not a number.")


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Every value and every name with its pointer, without recursion.

    Raises:
        BodyError: deeper than 32 levels.
    """
    waiting: list[tuple[str, int, Any]] = [("#", 0, value)]
    while waiting:
        pointer, depth, one = waiting.pop()
        yield pointer, one
        if isinstance(one, dict | list) and depth >= DEEPEST:
            raise BodyError(f"The body is nested deeper than {DEEPEST} levels.")
        if isinstance(one, dict):
            for name, inner in one.items():
                yield pointer, name
                waiting.append((f"{pointer}/{_shown(name)}", depth + 1, inner))
        elif isinstance(one, list):
            waiting += [(f"{pointer}/{i}", depth + 1, v) for i, v in enumerate(one)]


def _check(pointer: str, value: Any) -> None:
    if isinstance(value, str):
        if found := _NOT_TEXT.search(value):
            code = f"U+{ord(found[0]):04X}"
            raise BodyError(
                f"{pointer}: the character {code} cannot be stored.", pointer
            )
        has_lines = pointer.rsplit("/", 1)[-1] in _WITH_LINES
        if fault := hidden_fault(value, has_lines=has_lines):
            raise BodyError(f"{pointer}: the text {fault}.", pointer)
    elif isinstance(value, int | float) and not -WIDEST <= value < WIDEST:
        raise BodyError(f"{pointer}: numbers can have at most 64 bits.", pointer)


def _shown(name: str) -> str:
    """A name that is safe in a response and as one part of a pointer."""
    plain = _NOT_TEXT.sub("\N{REPLACEMENT CHARACTER}", name)[:100]
    return plain.replace("~", "~0").replace("/", "~1")
