"""A price list as CSV text: its header, its rows, and the options that read it (money.md M19)."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from accounting.prices.rules.price_offers import FIELDS, PRICE, Columns, PriceFileError

MOST_ROWS = 1_000_000
_DECIMAL_COMMA = re.compile(r"\d+,\d+")


def columns_of(
    header: Sequence[str],
    maps: Sequence[str] = (),
    sets: Sequence[str] = (),
    wheres: Sequence[str] = (),
) -> Columns:
    """How the columns of a file become fields.

    Args:
        header: the names of the columns; those that are fields need no option.
        maps: FIELD=COLUMN; per_gpu_hour=COLUMN or COLUMN:LIFECYCLE may repeat.
        sets: FIELD=VALUE, for all rows, also if there is a column for it.
        wheres: COLUMN=VALUE: only such rows; two of one column allow both values.

    Raises:
        PriceFileError: an option or a header that cannot be used.
    """
    named = {name: name for name in header if name in FIELDS and name != PRICE}
    prices: list[tuple[str, str]] = []
    for text in maps:
        name, value = _pair(text, "--map", "FIELD=COLUMN")
        _must(name, FIELDS, "field")
        if name == PRICE:
            column, lifecycle = _split(value, header)
            prices.append((_must(column, header, "column"), lifecycle))
        else:
            named[name] = _must(value, header, "column")
    constants = _constants(sets)
    if PRICE in constants:
        prices = [("", "")]
    elif not prices and PRICE in header:
        prices = [(PRICE, "")]
    named = {name: column for name, column in named.items() if name not in constants}
    for name in ("model", "valid_from"):
        if name not in named and name not in constants:
            listed = ", ".join(one for one in header if one)
            raise PriceFileError(
                f"no column for {name}: use --map or --set. The columns are: {listed}"
            )
    if not prices:
        raise PriceFileError(f"no column for {PRICE}: use --map {PRICE}=COLUMN")
    return Columns(named, tuple(prices), constants, _wanted(wheres, header))


def rows_of(
    lines: Iterable[str], most_rows: int = MOST_ROWS
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The rows of a file with the number of their line; first, as line 1, its header.

    Cells are separated by commas; by semicolons if only these are in the header, as spreadsheets
    write where the comma is the decimal mark. A cell `0,61` is then the number 0.61.

    Raises:
        PriceFileError: no header, a row with more or fewer cells, too many rows, bytes that are
            not UTF-8.
    """
    reader, read_cell = _reader(lines)
    try:
        header = [name.strip() for name in next(reader, [])]
        if not any(header):
            raise PriceFileError("the file has no header")
        twice = {name for name in header if name and header.count(name) > 1}
        if twice:
            raise PriceFileError(f"the column {min(twice)!r} is there more than once")
        yield 1, dict.fromkeys(header, "")
        number = blank = 0
        for cells in reader:
            number, blank = number + bool(cells), blank + (not cells)
            if number > most_rows:
                raise PriceFileError(f"more than {most_rows:,} rows: split the file")
            if blank > most_rows:  # they take time, too
                raise PriceFileError(f"more than {most_rows:,} blank lines")
            if not cells:
                continue
            if len(cells) != len(header):
                raise PriceFileError(
                    f"line {reader.line_num}: {len(cells)} cells, and the header has {len(header)}"
                )
            values = map(read_cell, cells)
            yield reader.line_num, dict(zip(header, values, strict=True))
    except csv.Error as error:
        raise PriceFileError(
            f"line {reader.line_num}: not valid CSV: {error}"
        ) from None
    except UnicodeDecodeError as error:
        raise PriceFileError(_not_utf8(error)) from None


def _reader(lines: Iterable[str]) -> tuple[Any, Callable[[str], str]]:
    """A reader of the cells, and what a cell of such a file means.

    Raises:
        PriceFileError: the first line is not UTF-8.
    """
    following = iter(lines)
    try:
        first = next(following, "")
    except UnicodeDecodeError as error:
        raise PriceFileError(_not_utf8(error)) from None
    every = chain([first] if first else (), following)
    if ";" in first and "," not in first:
        return csv.reader(every, strict=True, delimiter=";"), _with_point
    return csv.reader(every, strict=True), str


def _with_point(cell: str) -> str:
    """A number with a decimal comma as one with a point; any other cell as it is."""
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell.strip()) else cell


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"not UTF-8: byte {error.start}; save the file as CSV in UTF-8"


def aliases_of(texts: Sequence[str]) -> dict[str, str]:
    """The models that texts are said to name, from TEXT=MODEL.

    Raises:
        PriceFileError: not in this form.
    """
    found = {}
    for text in texts:
        name, equals, model = text.rpartition("=")
        if not equals or not name.strip() or not model.strip():
            raise PriceFileError(f"--alias {text!r}: write TEXT=MODEL")
        found[name.strip()] = model.strip()
    return found


def _constants(sets: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in sets:
        name, value = _pair(text, "--set", "FIELD=VALUE")
        found[_must(name, FIELDS, "field")] = value
    return found


def _wanted(wheres: Sequence[str], header: Sequence[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for text in wheres:
        column, value = _pair(text, "--where", "COLUMN=VALUE")
        values = found.get(_must(column, header, "column"), frozenset())
        found[column] = values | {value}
    return found


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise PriceFileError(f"{option} {text!r}: write {form}")
    return name.strip(), value.strip()


def _split(value: str, header: Sequence[str]) -> tuple[str, str]:
    """A price column and its lifecycle; a column whose own name has a colon stays whole."""
    if value in header:
        return value, ""
    column, colon, lifecycle = value.rpartition(":")
    return (column, lifecycle) if colon else (value, "")


def _must(name: str, known: Sequence[str], what: str) -> str:
    if name not in known:
        listed = ", ".join(one for one in known if one)
        raise PriceFileError(f"{what} {name!r} is not known; use one of: {listed}")
    return name
