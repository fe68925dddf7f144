"""Tables of pages as people read them: cells by column, the total row apart."""

import re
from dataclasses import dataclass, field
from decimal import Decimal
from html.parser import HTMLParser

MINUS = "\N{MINUS SIGN}"
AMOUNT = re.compile(rf"({MINUS}|-)?(<)?€([\d,]+(?:\.\d+)?)")
EXACT = re.compile(rf"^({MINUS}|-)?()(\d[\d,]*\.\d{{6}})\b")
EXTRA = ("cell-sub", "phone-only", "vh")  # beside the amount of a cell


@dataclass
class Table:
    """Rows of text; those of departments, whose teams follow, are left out."""

    title: str = ""
    heads: list[str] = field(default_factory=list)
    body: list[list[str]] = field(default_factory=list)
    foot: list[list[str]] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self._outer: list[tuple[Table, str]] = []  # tables around this one
        self._part = ""
        self._row: list[str] = []
        self._cell: list[str] | None = None
        self._span = 1
        self._hidden = 0
        self._skips = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        css = (values.get("class") or "").split()
        if tag == "table":
            self.tables.append(Table())
            self._outer.append((self.tables[-1], self._part))
        elif tag in ("thead", "tbody", "tfoot"):
            self._part = tag
        elif tag == "tr":
            self._row, self._skips = [], "dept" in css
        elif tag in ("td", "th"):
            self._cell, self._span = [], int(values.get("colspan") or 1)
        elif (
            self._cell is not None
            and tag in ("span", "div")
            and (self._hidden or any(one in css for one in EXTRA))
        ):
            self._hidden += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._part, self._row = self._outer.pop()[1], []
        elif tag in ("span", "div") and self._hidden:
            self._hidden -= 1
        elif tag in ("td", "th") and self._cell is not None:
            text = " ".join("".join(self._cell).split())
            self._row += [text] * self._span
            self._cell = None
        elif tag == "tr" and self._outer and self._row and not self._skips:
            table = self._outer[-1][0]
            if self._part == "thead":
                table.heads = self._row
            else:
                rows = table.foot if self._part == "tfoot" else table.body
                rows.append(self._row)

    def handle_data(self, data: str) -> None:
        if self._cell is not None and not self._hidden:
            self._cell.append(data)


def tables_of(html: str) -> list[Table]:
    """Every table of a page."""
    reader = _Reader()
    reader.feed(html)
    return reader.tables


def amount_in(text: str) -> Decimal | None:
    """The amount of money in a cell; None without one. Less than a cent is no amount to add."""
    found = AMOUNT.search(text) or EXACT.search(text)
    if found is None:
        return None
    assert not found[2], f"{text!r} cannot be added"
    value = Decimal(found[3].replace(",", ""))
    return -value if found[1] else value


def wrong_totals(html: str) -> tuple[list[str], int]:
    """Columns of money whose rows do not come to the last row of the table; how many were added."""
    wrong, added = [], 0
    for table in tables_of(html):
        if not table.foot or not table.body:
            continue
        for column, text in enumerate(table.foot[-1]):
            total = amount_in(text)
            if total is None:
                continue
            cells = [row[column] if column < len(row) else "" for row in table.body]
            amounts = [amount_in(one) or Decimal(0) for one in cells]
            added += 1
            if sum(amounts, Decimal(0)) != total:
                name = table.heads[column] if column < len(table.heads) else column
                wrong.append(f"{name}: {sum(amounts, Decimal(0))} is not {total}")
    return wrong, added
