"""A weekly mail as plain text and as HTML: complete without images, with all styles inline."""

from collections.abc import Iterator
from textwrap import wrap
from typing import NamedTuple

from django.template.loader import render_to_string

from portal.weekly.figures import WeeklyMail
from portal.weekly.sections import WeeklyRow, WeeklySection

WIDTH = 76  # characters of a line of plain text (RFC 5322 2.1.1 recommends at most 78)
_FONT = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;"
_TEXT = f"{_FONT}font-size:14px;line-height:20px;color:#14181F;"
_SMALL = f"{_FONT}font-size:12px;line-height:16px;font-weight:400;color:#5F6978;"
_CELL = f"{_TEXT}padding:7px 0;"
_NUMBER = f"{_CELL}padding-left:12px;white-space:nowrap;"
_LINE = "border-bottom:1px solid #DDE2E8;"
STYLES = {
    "body": "margin:0;background:#F6F7F9",
    "card": "width:600px;max-width:100%;margin:16px auto;border:1px solid #DDE2E8;"
    "border-collapse:separate;border-radius:8px",
    "top": f"{_SMALL}padding:20px 24px 0",
    "lede": f"{_FONT}padding:8px 24px 16px;font-size:18px;line-height:28px;color:#14181F",
    "box": "padding:0 24px",
    "fact": f"{_FONT}padding:0 8px 0 0;color:#14181F",
    "value": "font-size:20px;line-height:28px;font-weight:600",
    "small": _SMALL,
    "budget": f"{_SMALL}padding-top:12px",
    "title": f"{_FONT}font-size:16px;line-height:24px;font-weight:600;color:#14181F;"
    "padding:24px 24px 4px",
    "cell": f"{_CELL}{_LINE}",
    "number": f"{_NUMBER}{_LINE}",
    "action": f"{_CELL}{_LINE}padding-left:12px",
    "sum": _CELL,
    "sum_number": _NUMBER,
    "strong": "font-weight:600",
    "link": f"{_FONT}color:#0B57D0;font-size:14px;text-decoration:underline",
    "buttons": "padding:20px 24px 24px",
    "button": f"{_FONT}display:inline-block;padding:9px 16px;color:#FFFFFF;font-size:14px;"
    "line-height:20px;font-weight:600;text-decoration:none",
    "foot": f"{_SMALL}padding:16px 24px 20px;border-top:1px solid #DDE2E8;line-height:18px",
    "quiet": "color:#5F6978",
}
"""Colors of the light theme: mail programs have no variables."""


class Letter(NamedTuple):
    """A mail to send."""

    subject: str
    text: str
    html: str


def letter_of(mail: WeeklyMail) -> Letter:
    """Subject and both bodies."""
    html = render_to_string("weekly/mail.html", {"mail": mail, "css": STYLES})
    return Letter(mail.subject, "\n".join(_lines(mail)), html)


def _lines(mail: WeeklyMail) -> Iterator[str]:
    yield f"GPU Ledger, {mail.team}, {mail.week}"
    yield ""
    told = ("".join(text for text, _ in one) for one in mail.sentences)
    yield from wrap(" ".join(told), WIDTH)
    yield ""
    for fact in mail.facts:
        below = f"   {fact.below}" if fact.below else ""
        yield f"{fact.name:<12}{fact.value:>14}{below}"
    yield ""
    yield from wrap(mail.budget, WIDTH)
    for section in mail.sections:
        yield ""
        yield section.title.upper()
        if section.below:
            yield section.below
        yield from _table(section)
    yield ""
    yield f"Open {mail.team}: {mail.team_url}"
    yield f"Times are {mail.zone}. A running month can change until it is closed."
    yield mail.why
    yield f"Stop this mail: {mail.choices_url}"
    yield ""


def _table(section: WeeklySection) -> Iterator[str]:
    rows = [*section.rows, *([section.total] if section.total else [])]
    sizes = [
        max((len(text) for text in column), default=0)
        for column in zip(*(_cells(row, rows) for row in rows), strict=True)
    ]
    room = WIDTH - 2 - sum(size + 2 for size in sizes)
    for row in rows:
        cells = zip(_cells(row, rows), sizes, strict=True)
        numbers = "".join(f"  {text:>{size}}" for text, size in cells)
        yield f"  {row.name:<{max(room, 20)}}{numbers}".rstrip()
        below = ", ".join(filter(None, [row.below, *(under for _, under in row.cells)]))
        yield from wrap(below, WIDTH, initial_indent="    ", subsequent_indent="    ")
        if row.link:
            yield f"    {row.link[0]}: {row.link[1]}"


def _cells(row: WeeklyRow, rows: list[WeeklyRow]) -> list[str]:
    """The numbers of a row; as many as the widest row has."""
    count = max(len(one.cells) for one in rows)
    found = [text for text, _ in row.cells]
    return found + [""] * (count - len(found))
