"""What an answer says, as a list of texts: without tokens, and without what is not said.

A page is its texts, the attributes that say something (titles, values, data) and the geometry of
its charts. Rows of JSON, CSV, XLSX and Parquet are one text each.
"""

import csv
import io
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pyarrow.parquet
from openpyxl import load_workbook

SAYING = {"title", "aria-label", "aria-valuenow", "aria-valuetext", "value", "content"}
GEOMETRY = {
    *("d", "points", "transform", "x", "y", "x1", "x2", "y1", "y2"),
    *("cx", "cy", "r", "width", "height"),
}
SILENT = ("script", "style")
REPEATED = {"data-th"}  # titles of columns, for phones
SECRET = re.compile(r"csrf|nonce|token", re.IGNORECASE)


class _Page(HTMLParser):
    """The texts of a page in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self._silent = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        is_json = values.get("type") == "application/json"
        if tag in SILENT and not is_json:
            self._silent = tag
        if SECRET.search(values.get("name", "") + values.get("id", "")):
            return
        for name, value in values.items():
            is_data = name.startswith("data-") and name not in REPEATED
            is_said = is_data or name in SAYING | GEOMETRY
            if value and is_said and not SECRET.search(name):
                self.said.append(f"{name}={' '.join(value.split())}")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._silent:
            self._silent = ""

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if text and not self._silent:
            self.said.append(text)


def said_by(kind: str, content: bytes) -> list[str]:
    """The texts of an answer.

    Args:
        kind: its content type.
        content: its bytes.
    """
    if "html" in kind:
        page = _Page()
        page.feed(content.decode())
        return page.said
    if "json" in kind:
        return [*_of_json("", json.loads(content or b"null"))]
    if "spreadsheet" in kind:
        return [*_of_workbook(content)]
    if "parquet" in kind:
        table = pyarrow.parquet.read_table(io.BytesIO(content))
        return [repr(row) for row in table.to_pylist()]
    text = content.decode(errors="replace")
    if "csv" in kind:
        return [json.dumps(row) for row in csv.reader(io.StringIO(text))]
    return text.splitlines()


def _of_json(place: str, value: Any) -> Iterator[str]:
    """One text for each row of a list, and for each other field."""
    if isinstance(value, dict):
        for name in sorted(value):
            if name not in ("request_id", "next"):
                yield from _of_json(f"{place}.{name}" if place else name, value[name])
    elif isinstance(value, list):
        for row in value:
            yield f"{place}[] {json.dumps(row, sort_keys=True)}"
    else:
        yield f"{place} {json.dumps(value)}"


def _of_workbook(content: bytes) -> Iterator[str]:
    book = load_workbook(io.BytesIO(content), read_only=True)
    for sheet in book.worksheets:
        for row in sheet.iter_rows(values_only=True):
            yield f"{sheet.title}: {row!r}"
