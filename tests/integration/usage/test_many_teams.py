"""Pages with a row for each team, of an organization with more teams than a page has rows.

A page lists some, says how many there are, and its totals are those of all of them.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.test import Client
from pytest_django import DjangoDbBlocker

from accounting.access.models.teams import Team
from accounting.budgets.actions.budgets import SetBudget, create_budget
from accounting.months.tasks.close import close_period
from tests.html_tables import Table, amount_in, tables_of, wrong_totals
from tests.integration.conftest import NOW, SignIn
from tests.more_teams import add_teams
from tests.page_html import html_of
from tests.story import TEAMS, Story

MORE = 60
NOVEMBER = "from=2026-11-01&to=2026-12-01"
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


def test_the_list_of_teams_has_pages_and_totals_of_all(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    for query in ("", "&group=none"):
        pages = [
            table_of(ana, f"/teams?{NOVEMBER}&page={n}{query}", "Coverage")
            for n in ("1", "2")
        ]
        teams = [[row[0] for row in one.body if row[0] != "Rounding"] for one in pages]
        assert [len(one) for one in teams] == [50, ALL - 50]
        assert len({*teams[0], *teams[1]}) == ALL
        for head in ("Charge", "Idle cost"):
            at = pages[0].heads.index(head)
            [total] = {amount_in(one.foot[-1][at]) for one in pages}
            rows = [row for row in pages[0].body if row[0] != "Rounding"]
            cells = [row[at] for row in [*rows, *pages[1].body]]
            assert sum_of(cells) == total, (query, head)


def test_teams_are_sorted_over_all_pages_and_departments_say_what_is_elsewhere(
    sign_in: SignIn,
) -> None:
    ana = sign_in("ana")
    found = []
    for page in ("1", "2"):
        table = table_of(
            ana,
            f"/teams?{NOVEMBER}&group=none&sort=-idle_charge&page={page}",
            "Coverage",
        )
        cells = zip(column(table, "Team"), column(table, "Idle cost"), strict=True)
        found += [amount_in(cost) for team, cost in cells if team != "Rounding"]
    known = [one for one in found if one is not None]
    assert known == sorted(known, reverse=True)
    assert len(known) > MORE
    heads = [
        (group.head.name, len(group.lines), group.count)
        for page in ("1", "2")
        for group in ana.get(f"/teams?{NOVEMBER}&page={page}")
        .context["teams"]
        .departments
    ]
    names = [name for name, _, _ in heads]
    [cut] = {name for name in names if names.count(name) > 1}
    parts = [(shown, count) for name, shown, count in heads if name == cut]
    assert sum(shown for shown, _ in parts) == parts[0][1]
    html = " ".join(html_of(ana.get(f"/teams?{NOVEMBER}")).split())
    assert f"{parts[0][0]} of its {parts[0][1]} teams are on this page" in html


def test_the_overview_has_the_largest_teams_and_one_row_for_the_others(
    sign_in: SignIn,
) -> None:
    ana = sign_in("ana")
    table = table_of(ana, f"/?{NOVEMBER}", "Coverage")
    assert len(column(table, "Charge")) == 12  # with the rounding
    assert table.body[10][0] == f"{ALL - 10} more"
    assert wrong_totals(html_of(ana.get(f"/?{NOVEMBER}")))[0] == []
    answer = ana.get(f"/?{NOVEMBER}&sort=team")
    assert [line.name for line in answer.context["teams"].lines[:2]] == [
        "Fraud",
        "Lab 000",
    ]
    links = re.findall(rf'href="([^"]+)">{ALL - 10} more', html_of(answer))
    assert [dict(parse_qsl(urlsplit(unescape(one)).query)) for one in links] == [
        {"from": "2026-11-01", "to": "2026-12-01", "sort": "-allocated"},
        {"from": "2026-11-01", "to": "2026-12-01", "sort": "team"},
    ]
    bars, every = answer.context["bars"], answer.context["breakdown"]
    held = sum(line.row.allocated_ms for line in bars.lines)
    assert held + bars.rest.row.allocated_ms == every.summary.total.allocated_ms
    smallest = min(line.row.allocated_ms for line in bars.lines)
    others = sorted(row.allocated_ms for row in every.rows)[: bars.rest_count]
    assert max(others) <= smallest


def test_files_of_tables_have_every_team(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    for address in ("/", "/teams"):
        html = html_of(ana.get(f"{address}?{NOVEMBER}"))
        [link] = {
            unescape(one)
            for one in re.findall(r'href="([^"]+)" download', html)
            if "by=team&amp;" in one
        }
        text = ana.get(link).getvalue().decode()
        assert len(text.splitlines()) == ALL + 1


def test_budgets_have_pages_and_a_department_is_above_its_teams(
    sign_in: SignIn,
) -> None:
    ana, fin = sign_in("ana"), get_user_model().objects.get(username="fin")
    for team in Team.objects.filter(slug__startswith="lab-"):
        create_budget(SetBudget(team=team, amount=Decimal(9), reason="Agreed."), fin)
    amount = Decimal(900)
    create_budget(SetBudget(department="Labs", amount=amount, reason="Agreed."), fin)
    pages = [ana.get(f"/budgets?page={n}").context["page"] for n in ("1", "2")]
    assert [page.count for page in pages] == [MORE, MORE]
    shown = [
        [(group.name, len(group.own), len(group.teams)) for group in page.lines]
        for page in pages
    ]
    assert shown == [
        [("Field", 0, 30), ("Labs", 1, 20)],
        [("Labs", 1, 10)],
    ]
    html = html_of(ana.get("/budgets?page=2"))
    assert "51–60 of 60" in html
    assert "No budget of the department" not in html


def test_rules_of_attribution_have_pages(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    rules = [ana.get(f"/attribution?page={n}").context["rules"] for n in ("1", "2")]
    assert [len(page.lines) for page in rules] == [50, rules[0].count - 50]
    order = [rule.position for page in rules for rule in page.lines]
    assert order == sorted(order)
    assert len(order) == MORE + len(TEAMS)
