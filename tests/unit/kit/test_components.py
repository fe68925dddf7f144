"""Parts of pages that are made in Python because they have many elements: all text is escaped."""

from accounting.kit.charts.grids import DARK, FREE, GridCell
from accounting.kit.tags.components import menu_links, options, table_rows, week_squares


def test_rows_of_a_table_have_a_heading_and_numbers() -> None:
    html = table_rows([("Mon <1>", "2", "a & b"), ("Tue", "3", "4")])
    assert html == (
        '<tr><th scope="row">Mon &lt;1&gt;</th><td class="n">2</td>'
        '<td class="n">a &amp; b</td></tr>'
        '\n<tr><th scope="row">Tue</th><td class="n">3</td><td class="n">4</td></tr>'
    )
    assert table_rows([]) == ""


def test_links_of_a_menu_mark_the_current_value() -> None:
    html = menu_links("team", {"a b&c": "A <b>", "d": "D"}, "d")
    assert html == (
        '<a class="menu-item" href="?team=a%20b%26c">A &lt;b&gt;</a>'
        '<a class="menu-item" href="?team=d" aria-current="true">D</a>'
    )


def test_options_mark_the_selected_values() -> None:
    html = options([("a&b", "A <b>"), ("d", "D")], "d")
    assert html == (
        '<option value="a&amp;b">A &lt;b&gt;</option>'
        '<option value="d" selected>D</option>'
    )
    several = options([("a", "A", True), ("b", "B", False), ("c", "C", True)])
    assert several.count(" selected") == 2
    assert '<option value="b">B</option>' in several


def test_squares_of_a_week_have_a_look_and_a_text() -> None:
    cells = [
        GridCell(40, 0, "q3", "Mon 00:00: 34% <busy>"),
        GridCell(64.5, 23, DARK, "Tue 01:00"),
        GridCell(64.5, 23, FREE, "Tue 02:00"),
    ]
    html = week_squares(cells)
    assert html.startswith('<rect class="q3" x="40" y="0" width="21.5"')
    assert "<title>Mon 00:00: 34% &lt;busy&gt;</title>" in html
    assert html.count('class="s-dark"') == html.count('class="s-rest"') == 1
