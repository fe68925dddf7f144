"""What tables can do: departments with subtotals, hidden columns, rows that open.

Left out: sorting, paging and downloads (test_numbers).
"""

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine

from accounting.access.models.teams import Team
from accounting.core.money import Money
from tests.euros import added, number
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import Story

WEEK = "range=last-7-days"
COLUMNS = ("charge", "change", "allocated", "efficiency", "coverage", "idle")


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


def test_departments_add_up_to_the_total(sign_in: SignIn) -> None:
    table = sign_in("ana").get(f"/teams?{WEEK}").context["teams"]
    groups = table.departments
    assert {g.head.name for g in groups} >= {"No department"}
    assert len(groups) > 2
    for group in groups:
        rows = [line.row for line in group.lines]
        assert group.head.row.allocated_ms == sum(row.allocated_ms for row in rows)
        assert number(group.head.row.charge) == added(row.charge for row in rows)
    listed = added(g.head.row.charge for g in groups) + number(table.rounding.charge)
    assert listed == number(table.total.charge)
    flat = sign_in("ana").get(f"/teams?{WEEK}&group=none").context["teams"].lines
    grouped = [line for g in groups for line in g.lines]
    assert grouped == list(table.lines)
    assert sorted(grouped, key=flat.index) == list(flat) != grouped


def test_departments_are_sorted_like_the_column(sign_in: SignIn) -> None:
    client = sign_in("ana")
    for sort, field in (("-charge", "charge"), ("allocated", "allocated_ms")):
        groups = client.get(f"/teams?{WEEK}&sort={sort}").context["teams"].departments
        values = [
            number(value) if isinstance(value, Money) else value
            for value in (getattr(g.head.row, field) for g in groups)
        ]
        known = [value for value in values if value is not None]
        assert known == sorted(known, reverse=sort.startswith("-"))


def test_a_department_without_any_price_has_no_amount(sign_in: SignIn) -> None:
    client = sign_in("ana")
    Team.objects.exclude(slug="sandbox").update(department="Priced")
    groups = client.get(f"/teams?{WEEK}").context["teams"].departments
    for group in groups:
        row = group.head.row
        assert (row.charge is None) == (row.unpriced_ms == row.allocated_ms)


def test_the_list_can_be_flat_and_one_department_is_no_group(sign_in: SignIn) -> None:
    client = sign_in("ana")
    flat = client.get(f"/teams?{WEEK}&group=none").context
    assert flat["teams"].departments == ()
    assert [choice.is_current for choice in flat["groups"]] == [False, True]
    assert client.get("/teams?group=nonsense").context["teams"].departments
    alone = sign_in("luis").get(f"/teams?{WEEK}").context["teams"]
    assert len(alone.lines) == 1
    assert alone.departments == ()


def test_columns_are_hidden_by_the_address(sign_in: SignIn) -> None:
    answer = sign_in("ana").get(f"/teams?{WEEK}&hide=coverage,idle,nonsense")
    columns = answer.context["columns"]
    assert columns["css"] == "hide-coverage hide-idle"
    assert '<table class="hide-coverage hide-idle">' in html_of(answer)
    menu = {choice.name: choice for choice in columns["menu"]}
    shown_again = parse_qs(urlsplit(menu["coverage"].url).query)
    assert shown_again["hide"] == ["idle"]
    one_more = parse_qs(urlsplit(menu["charge"].url).query)
    assert one_more["hide"] == ["charge,coverage,idle"]
    assert "hide" not in columns["all_url"]


def test_a_table_never_loses_all_its_columns(sign_in: SignIn) -> None:
    every = ",".join((*COLUMNS, "idle_charge"))
    answer = sign_in("ana").get(f"/teams?{WEEK}&hide={every}")
    assert answer.context["columns"]["css"] == ""


def opened(page: str, workload: str) -> str:
    """The address that opens a workload, as its row links it."""
    found = re.search(rf'href="([^"]*open=[^"]*{workload}[^"]*)#open"', page)
    assert found is not None
    return found[1].replace("&amp;", "&")


def test_a_workload_opens_to_its_pods(sign_in: SignIn, story: Story) -> None:
    client = sign_in("luis")
    page = client.get(f"/teams/vision/workloads?{WEEK}&by=run")
    line = next(x for x in page.context["page"].lines if x.workload == "sweep-resnet")
    answer = client.get(opened(html_of(page), "sweep-resnet"))
    found = answer.context["opened"]
    held = [h for h in story.held if h.workload.name == "sweep-resnet"]
    assert {pod.pod for pod in found.pods} == {h.pod.name for h in held}
    assert found.count == len(found.pods)
    assert 'aria-expanded="true"' in html_of(answer)
    observed = sum(pod.times.allocated_ms for pod in found.pods if pod.times)
    assert 0 < observed <= line.row.allocated_ms
    assert "All holds as CSV" in html_of(answer)


def test_pods_of_another_team_stay_closed(sign_in: SignIn) -> None:
    key = "open=search-prod/Deployment/rerank-serving/"
    mine = sign_in("luis").get(f"/teams/vision/workloads?{WEEK}&{key}")
    assert mine.context["opened"].pods == ()
    assert "rerank-serving" not in re.sub(r'"[^"]*"', "", html_of(mine))


@pytest.mark.parametrize("key", ["", "x", "a/b", "a/b/c", "a/b/c/d"])
def test_an_address_that_opens_nothing_is_an_ordinary_list(
    sign_in: SignIn, key: str
) -> None:
    answer = sign_in("ana").get(f"/teams/vision/workloads?{WEEK}&by=run&open={key}")
    assert answer.status_code == 200
    assert answer.context["page"].count
    assert 'aria-expanded="true"' not in html_of(answer)
