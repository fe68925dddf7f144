"""Pages with a row for each team, of an organization with more teams than a page has rows.

A page lists some, says how many there are, and its totals are those of all of them.
"""

from collections.abc import Iterator
from decimal import Decimal

import pytest
import time_machine
from django.test import Client
from pytest_django import DjangoDbBlocker

from accounting.booking.close import close_period
from tests.html_tables import Table, amount_in, tables_of
from tests.integration.conftest import NOW, SignIn
from tests.more_teams import add_teams
from tests.page_html import html_of
from tests.story import TEAMS, Story

MORE = 60
ALL = MORE + len(TEAMS) + 1  # with unmapped usage


@pytest.fixture(scope="module", autouse=True)
def many(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The story with sixty more teams, October closed, on its last day."""
    with django_db_blocker.unblock(), time_machine.travel(NOW, tick=False):
        add_teams(story, MORE)
        close_period("2026-10")
        yield


def table_of(client: Client, address: str, head: str) -> Table:
    """The only table of a page with this column."""
    html = html_of(client.get(address))
    [found] = [one for one in tables_of(html) if head in one.heads]
    return found


def column(table: Table, head: str) -> list[str]:
    """The cells of a column, without the totals."""
    return [row[table.heads.index(head)] for row in table.body]


def sum_of(cells: list[str]) -> Decimal:
    """The sum of the amounts in some cells."""
    return sum((amount_in(one) or Decimal(0) for one in cells), Decimal(0))


def test_statements_of_a_month_have_pages_and_totals_of_all(sign_in: SignIn) -> None:
    fin = sign_in("fin")
    pages = [table_of(fin, f"/months/2026-10?page={n}", "Payable") for n in ("1", "2")]
    assert [len(one.body) for one in pages] == [50, ALL + 1 - 50]  # with the platform
    for head in ("Charge", "Payable"):
        at = pages[0].heads.index(head)
        [total] = {amount_in(one.foot[-1][at]) for one in pages}
        assert sum_of([*column(pages[0], head), *column(pages[1], head)]) == total
    assert [row[0] for row in pages[1].body[-2:]] == ["Platform", "Unmapped"]
    assert "1–50 of 69" in html_of(fin.get("/months/2026-10"))


def test_statements_are_sorted_over_all_pages(sign_in: SignIn) -> None:
    fin = sign_in("fin")
    first = table_of(fin, "/months/2026-10?sort=-payable", "Payable")
    second = table_of(fin, "/months/2026-10?sort=-payable&page=2", "Payable")
    rows = [*column(first, "Payable"), *column(second, "Payable")[:-2]]
    amounts = [amount_in(one) for one in rows]
    assert amounts == sorted(amounts, reverse=True)  # type: ignore[type-var]
    html = html_of(fin.get("/months/2026-10?sort=-payable&page=2"))
    assert 'aria-sort="descending"><a href="?sort=payable"' in html
    assert 'href="?sort=-payable&amp;page=1"' in html
