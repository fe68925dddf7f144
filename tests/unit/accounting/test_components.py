"""Parts of pages that are made in Python because they have many elements: all text is escaped."""

from accounting.templatetags.components import menu_links, table_rows


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
