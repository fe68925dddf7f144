"""Tables of declared rows: heads, formats and alignment."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.template import Context, Engine, TemplateSyntaxError
from django.urls import get_resolver

from accounting.core.interval import HOUR_MS
from accounting.kit.rows import GpuHours, TextOrNull, column, derived, listed


@listed("Item")
class ItemRow:
    """An item of a list."""

    id: int = column()
    name: str = column()
    on: date = column(head="First day")
    seen_at: datetime | None = column(missing="Never")
    held_ms: GpuHours = column(name="gpu_hours", head="GPU-h")
    wait_ms: int = column(show="duration", head="Wait")
    cost: Decimal | None = column(missing="No price")
    currency: str = column()
    note: TextOrNull = column()
    is_open: bool = column()
    initial = derived(str, "name", show='slice:":1"')


ITEM = ItemRow(
    id=7,
    name="a <b>",
    on=date(2026, 10, 1),
    seen_at=datetime(2026, 10, 2, 8, tzinfo=UTC),
    held_ms=1500 * HOUR_MS,
    wait_ms=90_000,
    cost=Decimal("12.5"),
    currency="EUR",
    note="",
    is_open=True,
)


ENGINE = Engine.get_default()
PAGES = get_resolver().reverse_dict  # loaded here: a test has no time for it


def shown(source: str, **context: object) -> str:
    return ENGINE.from_string(source).render(Context(context))


def test_heads_formats_and_alignment_come_from_the_row() -> None:
    html = shown(
        '{% list_table rows "title" "name on gpu_hours wait_ms cost note is_open initial" %}'
        "{% endlist_table %}",
        rows=[ITEM],
    )
    assert html.startswith(
        '<div class="table-wrap" tabindex="0" role="group" aria-labelledby="title"><table>'
    )
    assert (
        '<thead><tr><th scope="col">Name</th><th scope="col">First day</th>'
        '<th scope="col" class="n">GPU-h</th><th scope="col" class="n">Wait</th>'
        '<th scope="col" class="n">Cost</th><th scope="col">Note</th>'
        '<th scope="col">Is open</th><th scope="col">Initial</th></tr></thead>'
    ) in html
    assert (
        '<tr><th scope="row">a &lt;b&gt;</th><td class="nowrap">1 Oct 2026</td>'
        '<td class="n">1,500</td><td class="n">1 min</td>'
        '<td class="n">€12.50</td><td></td><td>Yes</td><td>a</td></tr>'
    ) in html


def test_what_is_null_is_said_in_words() -> None:
    html = shown(
        '{% list_table rows "title" "name seen_at cost" %}{% endlist_table %}',
        rows=[replace(ITEM, seen_at=None, cost=None)],
    )
    assert '<span class="nodata">Never</span>' in html
    assert '<span class="nodata">No price</span>' in html


def test_a_page_writes_a_cell_and_shows_a_column_under_a_condition() -> None:
    source = (
        '{% list_table rows "title" "name note?is_shown actions?is_admin" css="stacks" %}'
        '{% cell "name" css="wide-only" %}{{ row.name }}{% endcell %}'
        '{% cell "note" head="Remark" %}{{ row.note }}{% endcell %}'
        '{% cell "actions" head="Actions" css="n" is_quiet=True %}{{ row.id }}{% endcell %}'
        "{% endlist_table %}"
    )
    html = shown(source, rows=[replace(ITEM, note="<i>")], is_shown=True, is_admin=True)
    assert '<table class="stacks">' in html
    assert '<th scope="col" class="wide-only">Name</th>' in html
    assert '<th scope="col"><span class="vh">Actions</span></th>' in html
    assert '<td data-th="Remark">&lt;i&gt;</td><td class="n">7</td>' in html
    empty = shown(source, rows=[ITEM], is_shown=True)
    assert "<td></td>" in empty  # a phone shows no head beside nothing
    assert "Actions" not in empty
    assert "Remark" not in shown(source, rows=[ITEM])


@pytest.mark.parametrize("make", [SimpleNamespace, dict])
def test_the_page_of_a_row_and_the_line_around_it(make: Any) -> None:
    line = make(row=ITEM, mark="!")
    html = shown(
        '{% list_table lines "title" "name" href="bill" %}'
        '{% cell "name" %}{{ line.mark }} {{ row.id }}{% endcell %}{% endlist_table %}',
        lines=[line],
    )
    assert '<tr data-href="/bills/7"><th scope="row">! 7</th></tr>' in html


def test_a_table_without_rows_is_not_there() -> None:
    assert (
        shown('{% list_table rows "title" "name" %}{% endlist_table %}', rows=[]) == ""
    )


@pytest.mark.parametrize(
    "source",
    [
        '{% list_table rows "title" "name" nonsense="x" %}{% endlist_table %}',
        '{% list_table rows "title" "name" %}{% cell "name" of="x" %}{% endlist_table %}',
    ],
)
def test_an_option_that_does_not_exist_is_an_error(source: str) -> None:
    with pytest.raises(TemplateSyntaxError, match=r"takes"):
        shown(source)
