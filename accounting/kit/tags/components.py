"""Components of pages: icons, badges, empty states, tables that scroll, bars of states."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from typing import Any
from urllib.parse import quote

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from accounting.kit.charts.bars import BarPart
from accounting.kit.charts.grids import GridCell

register = template.Library()

_INDENTED = re.compile(r"\n\s+")
"""The indentation of templates: half of the bytes of a long table."""


@register.simple_tag
@cache
def icon(name: str) -> SafeString:
    """One symbol of the sprite; decorative, next to its text.

    Kept for each name: a page has a hundred, and the address of the sprite does not change in a
    process.
    """
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false">'
        '<use href="{}#{}"></use></svg>',
        static("vendor/lucide/sprite.svg"),
        name,
    )


@register.simple_tag
def badge(tone: str, text: str) -> SafeString:
    """A state as a small label: tone `ok`, `warn`, `danger` or `mute`."""
    return format_html('<span class="badge {}">{}</span>', tone, text)


@register.simple_block_tag
def empty_state(content: str, symbol: str, title: str) -> SafeString:
    """The state of a page without rows: a symbol, a title, then advice and a button."""
    return format_html(
        '<div class="empty">{}<p class="empty-title">{}</p>{}</div>',
        icon(symbol),
        title,
        content,
    )


@register.simple_block_tag
def table_wrap(content: str, *title_id: str | int, label: str = "") -> SafeString:
    """A table that scrolls sideways, also by keyboard.

    Args:
        content: the table.
        title_id: parts of the id of the heading that names the table.
        label: its name if it has no heading.
    """
    if "<pre" not in content and "<textarea" not in content:
        content = mark_safe(_INDENTED.sub("\n", content))  # noqa: S308  # escaped before
    name, value = ("aria-label", label)
    if title_id:
        name, value = "aria-labelledby", "".join(str(part) for part in title_id)
    return format_html(
        '<div class="table-wrap" tabindex="0" role="group" {}="{}">{}</div>',
        name,
        value,
        content,
    )


_HATCHES = {
    "idle": "{slot}",
    "free": "0",
}  # by state: pattern of components/patterns.html


@register.simple_tag
def state_rect(kind: str, slot: int | str = 0, **box: float | str) -> SafeString:
    """One area of a picture with the pattern of a state.

    Args:
        kind: the state, a class `s-...` of components.css.
        slot: the color of the team, for idle time.
        box: `x`, `y`, `width`, `height` and `rx` as in SVG.
    """
    attributes = format_html_join("", ' {}="{}"', box.items())
    return format_html(
        '<rect class="s-{}"{}{}/>', kind, attributes, state_fill(kind, slot)
    )


@register.simple_tag
def state_fill(kind: str, slot: int | str = 0) -> SafeString:
    """The pattern of a state as an attribute of an area with a title; "" for a plain one."""
    hatch = _HATCHES.get(kind, "").format(slot=slot)
    return format_html(' fill="url(#hatch-{})"', hatch) if hatch else SafeString()


@register.simple_tag
def state_bar(
    parts: Sequence[BarPart], slot: int, text: str, css: str = "stackbar"
) -> SafeString:
    """A bar of states: solid busy, hatched idle, dashed no data, plain unallocated."""
    height = 14 if css == "stackbar" else 28
    rects = format_html_join(
        "",
        "{}",
        (
            (
                state_rect(
                    part.kind,
                    slot,
                    x=f"{part.x}%",
                    y=1,
                    width=f"{part.width}%",
                    height=height,
                    rx=2,
                ),
            )
            for part in parts
        ),
    )
    return format_html(
        '<svg class="{} t{}" role="img" aria-label="{}">{}</svg>',
        css,
        slot,
        text,
        rects,
    )


@register.simple_tag
def table_rows(rows: Iterable[Sequence[str]]) -> SafeString:
    """Rows of a chart's table: a heading, then numbers.

    Not a loop in a template: tables have hundreds of rows, and each node takes microseconds.
    """
    text = "\n".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f'<td class="n">{escape(cell)}</td>' for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return mark_safe(text)  # noqa: S308  # every cell is escaped


@register.simple_tag
def menu_links(parameter: str, names: Mapping[str, str], chosen: str) -> SafeString:
    """Links of a menu that set one parameter of the address.

    Args:
        parameter: its name.
        names: what each link is called, by value.
        chosen: the current value.
    """
    text = "".join(
        f'<a class="menu-item" href="?{parameter}={quote(value)}"'
        f"{_CURRENT if value == chosen else ''}>{escape(name)}</a>"
        for value, name in names.items()
    )
    return mark_safe(text)  # noqa: S308  # values are quoted, names escaped


_CURRENT = ' aria-current="true"'


@register.simple_tag
def options(choices: Iterable[Sequence[Any]], chosen: str = "") -> SafeString:
    """The options of a select: an organization has hundreds of teams.

    Args:
        choices: value, text, and whether it is selected, if several may be.
        chosen: the selected value.
    """
    text = "".join(
        f'<option value="{escape(value)}"'
        f"{' selected' if value == chosen or any(selected) else ''}>{escape(name)}</option>"
        for value, name, *selected in choices
    )
    return mark_safe(text)  # noqa: S308  # all text is escaped


_LOOKS = {"dark": "s-dark", "free": "s-rest"}  # others are the name of their class


@register.simple_tag
def week_squares(cells: Iterable[GridCell]) -> SafeString:
    """The 168 squares of a week, each with its text."""
    text = "".join(
        f'<rect class="{_LOOKS.get(cell.look, cell.look)}" x="{cell.x}" y="{cell.y}"'
        f' width="21.5" height="19" rx="3"><title>{escape(cell.text)}</title></rect>'
        for cell in cells
    )
    return mark_safe(text)  # noqa: S308  # the texts are escaped


@register.simple_tag
def meter(ratio: float | None) -> SafeString:
    """A share as a small bar next to its number."""
    width = 0 if ratio is None else round(ratio * 100, 1)
    return mark_safe(  # noqa: S308  # a number
        '<svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" '
        'aria-hidden="true" focusable="false"><rect class="track" width="100" height="8"/>'
        f'<rect class="fill" width="{width}" height="8"/></svg>'
    )


@register.simple_tag
def run_bar(read_ms: int, runs: Sequence[Any]) -> SafeString:
    """The duration of an ingest run, relative to the slowest of the list."""
    slowest = max((run.read_ms for run in runs), default=0)
    return meter(read_ms / slowest if slowest else None)
