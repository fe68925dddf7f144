"""The table of a list: heads, formats and alignment come from its declared row (`kit/rows.py`).

    {% list_table page.lines "lists-title" "name kind price_count actions?is_admin" css="stacks" %}
      {% cell "kind" %}{% if row.kind == "cost" %}Costs{% else %}Rates{% endif %}{% endcell %}
      {% cell "actions" head="Actions" is_quiet=True css="n" %}<a ...>{% endcell %}
    {% endlist_table %}

The columns are members of the row, in their order; one with `?` only is shown where that is true.
`href` is the name of the page of a row, by its `id`.
A cell that a filter cannot write is a `cell`, which has the `row`, and the `line` around it if the
lines of the page have more than a row.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from html import escape
from typing import Any

from django import template
from django.template import Context, Engine, Node, NodeList, TemplateSyntaxError
from django.template.base import FilterExpression, Parser, Token, token_kwargs
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from accounting.core.money import Money
from accounting.kit import texts
from accounting.kit.rows import RowColumn, columns_of, plain_type
from accounting.kit.tags.components import table_wrap

register = template.Library()

_FORMATS: Mapping[Any, str] = {
    bool: 'yesno:"Yes,No"',
    int: "count",
    date: "day",
    datetime: "moment",
    Decimal: "money:row.currency",
    Money: "money",
    texts.gpu_hours: "gpu_hours",
    texts.instant: "moment",
    texts.moment: "moment",
    texts.iso: "moment",
}
_NUMBERS = (int, float, Decimal, Money)
_OF_HEADS = {"n", "text", "wide-only"}


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table.

    Attributes:
        head: its title; `is_quiet` if only screen readers say it.
        css: classes of its cells.
        nodes: what writes a cell.
    """

    head: str
    css: str
    nodes: NodeList
    is_quiet: bool = False

    @property
    def html(self) -> str:
        """The cell of the head."""
        head = escape(self.head)
        if self.is_quiet:
            return f'<th scope="col"><span class="vh">{head}</span></th>'
        css = " ".join(one for one in self.css.split() if one in _OF_HEADS)
        return f'<th scope="col"{_class(css)}>{head}</th>'

    def cell(self, context: Context, *, is_first: bool, stacks: bool) -> str:
        """The cell of a row; on a phone its head is beside it, if it is not empty."""
        text = self.nodes.render(context).strip()
        if is_first:
            return f'<th scope="row"{_class(self.css)}>{text}</th>'
        beside = stacks and text and not self.is_quiet
        title = f' data-th="{escape(self.head)}"' if beside else ""
        return f"<td{title}{_class(self.css)}>{text}</td>"


def _class(css: str) -> str:
    return f' class="{escape(css)}"' if css else ""


@cache
def _declared(row_type: type) -> Mapping[str, TableColumn]:
    return {one.name: _column(one) for one in columns_of(row_type)}


def _column(said: RowColumn) -> TableColumn:
    base, writer, may_be_none = plain_type(said.type)
    form = said.show or _FORMATS.get(writer, "" if writer else _FORMATS.get(base, ""))
    text = f"{{{{ row.{said.source}{'|' if form else ''}{form} }}}}"
    if may_be_none:
        missing = f'<span class="nodata">{said.missing}</span>'
        text = f"{{% if row.{said.source} is None %}}{missing}{{% else %}}{text}{{% endif %}}"
    is_number = issubclass(base, _NUMBERS) and base is not bool and form != "moment"
    nowrap = "nowrap" if form in ("day", "moment") else ""
    head = said.head or said.name.replace("_", " ").capitalize()
    nodes = Engine.get_default().from_string(text).nodelist
    return TableColumn(head, "n" if is_number else nowrap, nodes)


class CellNode(Node):
    """A cell that a page writes; its head is declared, or said here."""

    def __init__(self, name: str, options: Mapping[str, Any], nodes: NodeList) -> None:
        self.name, self.options, self.nodelist = name, options, nodes

    def column(self, context: Context, declared: TableColumn | None) -> TableColumn:
        """The column, as it is said here or declared."""
        said = {name: value.resolve(context) for name, value in self.options.items()}
        if declared:
            said = {"head": declared.head, "css": declared.css, **said}
        return TableColumn(**{"css": "", **said, "nodes": self.nodelist})


class TableNode(Node):
    """A table of rows."""

    child_nodelists = ("cells",)

    def __init__(
        self,
        lines: FilterExpression,
        title: FilterExpression,
        names: FilterExpression,
        options: Mapping[str, FilterExpression],
        cells: NodeList,
    ) -> None:
        self.lines, self.title, self.names = lines, title, names
        self.options, self.cells = options, cells

    def render(self, context: Context) -> SafeString:
        """The table, if it has a line."""
        lines = [*self.lines.resolve(context)]
        if not lines:
            return mark_safe("")
        said = {name: value.resolve(context) for name, value in self.options.items()}
        css, href = said.get("css", ""), said.get("href", "")
        opens = said.get("opens", "")
        columns = self._columns(context, _row_of(lines[0]))
        heads = "".join(one.html for one in columns)
        body = "\n".join(
            _line(
                context,
                columns,
                line,
                _address(_row_of(line), href, opens),
                stacks="stacks" in css,
            )
            for line in lines
        )
        html = (
            f"<table{_class(css)}>\n<thead><tr>{heads}</tr></thead>\n"
            f"<tbody>\n{body}\n</tbody>\n</table>"
        )
        title = self.title.resolve(context)
        return table_wrap(mark_safe(html), title)  # noqa: S308  # cells are escaped

    def _columns(self, context: Context, row: Any) -> list[TableColumn]:
        of: Any = type(row)
        declared = _declared(of) if hasattr(of, "columns_") else {}
        cells = {
            one.name: one.column(context, declared.get(one.name))
            for one in self.cells.get_nodes_by_type(CellNode)
            if isinstance(one, CellNode)
        }
        asked = (one.partition("?") for one in self.names.resolve(context).split())
        return [
            cells.get(name) or declared[name]
            for name, _, when in asked
            if not when or _is_true(context, when)
        ]


def _line(
    context: Context,
    columns: Iterable[TableColumn],
    line: Any,
    href: str,
    *,
    stacks: bool,
) -> str:
    row = _row_of(line)
    opens = f' data-href="{escape(href)}"' if href else ""
    with context.push(line=line, row=row):
        cells = "".join(
            one.cell(context, is_first=not n, stacks=stacks)
            for n, one in enumerate(columns)
        )
    return f"<tr{opens}>{cells}</tr>"


def _address(row: Any, href: str, opens: str) -> str:
    """What the keyboard opens: the page `href` of the row, or the address that its `opens` has."""
    if opens:
        return str(getattr(row, opens))
    return reverse(href, args=[row.id]) if href else ""


def _is_true(context: Context, name: str) -> bool:
    try:
        return bool(template.Variable(name).resolve(context))
    except template.VariableDoesNotExist:
        return False


def _row_of(line: Any) -> Any:
    if isinstance(line, Mapping):
        return line.get("row", line)
    return getattr(line, "row", line)


@register.tag
def list_table(parser: Parser, token: Token) -> TableNode:
    """`{% list_table LINES TITLE_ID COLUMNS css="..." href="..." %}`, or `opens=` for `href=`."""
    _, lines, title, names, *bits = token.split_contents()
    options = token_kwargs(bits, parser)
    if bits or options.keys() - {"css", "href", "opens"}:
        raise TemplateSyntaxError(
            "list_table takes lines, an id, columns, css=, href=, opens="
        )
    cells = parser.parse(("endlist_table",))
    parser.delete_first_token()
    return TableNode(
        parser.compile_filter(lines),
        parser.compile_filter(title),
        parser.compile_filter(names),
        options,
        cells,
    )


@register.tag
def cell(parser: Parser, token: Token) -> CellNode:
    """`{% cell "name" head="..." css="..." is_quiet=True %}`."""
    _, name, *bits = token.split_contents()
    options = token_kwargs(bits, parser)
    if bits or options.keys() - {"head", "css", "is_quiet"}:
        raise TemplateSyntaxError("cell takes a name, head=, css= and is_quiet=")
    nodes = parser.parse(("endcell",))
    parser.delete_first_token()
    return CellNode(name.strip("'\""), options, nodes)
