"""Explore: groupings that come to one total, filters that exclude, links that stay, and refusals.

Not here: the sums of a named close (`tests/integration/usage/test_closes.py`), tables that add up
(`test_tables_add_up.py` there), who may open it (`tests/integration/access/`).
"""

import csv
import io
import re
from collections.abc import Iterator
from decimal import Decimal
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from accounting.access.scope import EVERYTHING
from accounting.explore.reads import table
from accounting.explore.reads.groupings import GROUPINGS
from accounting.kit.reads.selection import Amounts, Selection
from accounting.kit.tags.units import money
from accounting.months.models.period import Statement
from accounting.months.tasks.close import close_period, reopen_period
from accounting.usage.pages.figures import Chart
from accounting.usage.reads.usage import usage_rows, usage_total
from accounting.usage.rules.totals import rounded_each, rounded_table
from tests.html_tables import amount_in, tables_of
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import Story

OCTOBER = "from=2026-10-01&to=2026-11-01"
NOVEMBER = "from=2026-11-01&to=2026-11-21"
BY_GPU = "from=2026-11-19&to=2026-11-21"
"""The days that are stored by GPU and node."""


@pytest.fixture(autouse=True)
def closed_october(story: Story, db: None) -> Iterator[None]:
    """Six weeks of which October is closed."""
    del story, db
    with time_machine.travel(NOW, tick=False):
        close_period("2026-10")
        yield


def shown(client: Client, query: str) -> list[list[str]]:
    """The rows of the table and its total, as text."""
    answer = client.get(f"/explore?{query}")
    assert answer.status_code == 200, query
    [table] = [one for one in tables_of(html_of(answer)) if one.foot]
    return [*table.body, *table.foot]


def late(milliseconds: int) -> None:
    """Idle time of October that becomes known now."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE usage_day SET idle_ms = idle_ms + %s"
            " WHERE billing_on BETWEEN '2026-10-20' AND '2026-10-22'",
            [milliseconds],
        )


@pytest.mark.parametrize(
    ("query", "amounts"),
    [
        (NOVEMBER, Amounts.BOOKED),
        (BY_GPU, Amounts.BOOKED),
        (f"{OCTOBER}&as=measured", Amounts.MEASURED),
    ],
)
def test_every_grouping_comes_to_the_ledger_total(
    sign_in: SignIn, query: str, amounts: Amounts
) -> None:
    """To the millisecond and the cent, with the second grouping that it is offered with."""
    ana = sign_in("ana")
    for position, one in enumerate(GROUPINGS):
        then = GROUPINGS[position - 1].name
        context = ana.get(f"/explore?{query}&by={one.name}&then={then}").context
        if query != BY_GPU and {one.name, then} & {"node", "gpu"}:
            assert "are not kept; select a later range" in context["refused"]
            continue
        state, found = context["state"], context["table"]
        whole = Selection(EVERYTHING, state.period, amounts=amounts)
        [total] = rounded_each([usage_total(whole)], 2)
        for name in ("busy_ms", "idle_ms", "unknown_ms", "charge", "idle_charge"):
            assert getattr(found.total, name) == getattr(total, name), (one.name, name)
        others = found.rest.row.allocated_ms if found.rest else 0
        lines = sum(line.row.allocated_ms for line in found.page.lines)
        assert lines + others == total.allocated_ms


@pytest.mark.parametrize("show", ["cost", "held"])
def test_bars_of_two_groupings_come_to_their_rows(sign_in: SignIn, show: str) -> None:
    """The bars and the rounding beside them are the total, and no family has a team's color."""
    query = f"/explore?{NOVEMBER}&by=model&then=family&show={show}"
    context = sign_in("ana").get(query).context
    chart, total = context["chart"], context["table"].total
    drawn = sum(
        value
        for one in chart.figure["data"]
        for value in one["x"]
        if value is not None and one["orientation"] == "h"
    )
    if show == "cost":
        table = context["table"]
        assert_adds_up(chart)
        totals = sum(amount_in(row[-1]) or Decimal(0) for row in chart.rows)
        models = usage_rows(Selection(EVERYTHING, context["state"].period), ("model",))
        whole = rounded_table(models, 2)
        assert totals == table.total.charge.amount - (
            whole.rounding.charge.amount if whole.rounding.charge else 0
        )
    else:
        assert drawn == pytest.approx(float(total.allocated_ms / 3_600_000), abs=1e-6)
    slots = [key.slot for key in chart.legend]
    assert slots[:7] == list(range(11, 18))
    assert set(slots[7:]) <= {0}
    assert len(chart.rows) == len(chart.figure["data"][0]["y"])
    points = sign_in("ana").get(query.replace(f"show={show}", "show=busy_share"))
    [axis] = {one["mode"] for one in points.context["chart"].figure["data"]}
    assert axis == "markers"


def assert_adds_up(chart: Chart) -> None:
    """Each row of a chart's table comes to its total, with the column "Rounding"."""
    assert chart.columns[-1] == "Total"
    for label, *cells, total in chart.rows:
        added = sum((amount_in(one) or Decimal(0) for one in cells), Decimal(0))
        assert added == (amount_in(total) or 0), label


def test_a_day_of_the_chart_is_the_day_of_the_ledger_by_every_grouping(
    sign_in: SignIn,
) -> None:
    """Rounded once: the table, its total, the sentence and the pointer have one amount."""
    ana = sign_in("ana")
    alone = ana.get(f"/explore?{NOVEMBER}&by=day&then=none").context
    days = {line.names[0].text: line.row for line in alone["table"].page.lines}
    exact = usage_rows(Selection(EVERYTHING, alone["state"].period), ("day",))
    assert len(exact) == 19  # of 20; one has no data
    for show, field in (("cost", "charge"), ("idle_cost", "idle_charge")):
        amounts = [money(getattr(row, field), "EUR") for row in rounded_each(exact, 2)]
        assert [money(getattr(row, field), "EUR") for row in days.values()] == amounts
        for by in ("team", "workload", "family", "model"):
            query = f"{NOVEMBER}&by={by}&then=day&show={show}"
            chart = ana.get(f"/explore?{query}").context["chart"]
            totals = [row[-1] for row in chart.rows if row[-1] != "No data"]
            assert totals == amounts, (by, show)
            assert_adds_up(chart)
            [pointer] = [one for one in chart.figure["data"] if one["name"] == "Total"]
            at = [Decimal(str(one)) for one in pointer["y"] if one is not None]
            assert [money(one, "EUR") for one in at] == amounts
            shown = re.findall(r"€[\d,.]+\d", chart.sentence)
            assert shown
            assert set(shown) <= set(amounts)


def test_a_closed_month_is_the_same_in_chart_table_and_statement(
    sign_in: SignIn,
) -> None:
    ana = sign_in("ana")
    query = "from=2026-10-01&to=2026-11-21&by=month&then=team"
    context = ana.get(f"/explore?{query}").context
    chart = context["chart"]
    october = dict(zip(chart.columns, chart.rows[0], strict=True))
    rows = {
        line.names[1].text: money(line.row.charge, "EUR")
        for line in context["table"].page.lines
        if line.names[0].text == "Oct 2026"
    }
    named = [name for name in chart.columns[1:-1] if name in rows]
    assert len(named) > 3
    assert {name: october[name] for name in named} == {
        name: rows[name] for name in named
    }
    statements = Statement.objects.filter(revision__period="2026-10")
    compared = 0
    for one in statements:
        team = context["state"].teams.get(one.team)
        name = team.name if team else ""
        if name in named and one.own6:
            assert october[name] == money(one.own6, "EUR"), name
            compared += 1
    assert compared > 3


def test_time_without_a_price_is_no_price_in_chart_and_table(sign_in: SignIn) -> None:
    """Observed, but without a price: "No data" would say that nobody looked."""
    ana = sign_in("ana")
    for query in ("by=team&then=day", "by=team&then=model", "by=day&then=team"):
        chart = ana.get(f"/explore?{NOVEMBER}&{query}").context["chart"]
        of_sandbox = {
            row[0]: row[chart.columns.index("Sandbox")]
            if "Sandbox" in chart.columns
            else row[-1]
            for row in chart.rows
            if "Sandbox" in (*chart.columns, row[0])
        }
        assert of_sandbox.pop("Thu 12 Nov 2026", "No data") == "No data"
        assert set(of_sandbox.values()) == {"No price"}, query
    only = f"{NOVEMBER}&by=team&then=none&team=sandbox"
    assert shown(ana, only)[-1][1] == "No price"


def test_weeks_beside_months_are_in_their_order_and_words(sign_in: SignIn) -> None:
    context = (
        sign_in("ana")
        .get("/explore?from=2026-10-14&to=2026-11-21&by=month&then=week")
        .context
    )
    assert context["chart"].columns[1:7] == (
        "14–18 Oct 2026",
        "19–25 Oct 2026",
        "26 Oct – 1 Nov 2026",
        "2–8 Nov 2026",
        "9–15 Nov 2026",
        "16–20 Nov 2026",
    )
    legend = context["chart"].legend[1]
    asked = parse_qs(urlsplit(legend.url).query)
    assert (asked["from"], asked["to"]) == (["2026-10-19"], ["2026-10-26"])
    assert "week" not in asked


@pytest.mark.parametrize("then", ["none", "team", "day"])
def test_names_of_families_and_workloads_open_their_pages(
    sign_in: SignIn, then: str
) -> None:
    """With the range; the funnel beside them filters, as the names of other values do."""
    ana = sign_in("ana")
    for by, part in (("family", "/families/"), ("workload", "/runs/")):
        answer = ana.get(f"/explore?{NOVEMBER}&by={by}&then={then}")
        names = [line.names[0] for line in answer.context["table"].page.lines]
        linked = [name for name in names if name.page_url]
        assert len(linked) > 3
        assert all(part in name.page_url for name in linked)
        for name in (linked[0], linked[-1]):
            assert "from=2026-11-01&to=2026-11-21" in name.page_url
            opened = ana.get(name.page_url)
            assert opened.status_code == 200
            assert name.text in html_of(opened)
        page = html_of(answer)
        assert f'class="name" href="{linked[0].page_url.replace("&", "&amp;")}"' in page
        assert f'aria-label="Only {linked[0].text}"' in page
    teams = ana.get(f"/explore?{NOVEMBER}&by=team&then=none").context["table"]
    assert not any(line.names[0].page_url for line in teams.page.lines)


def test_more_rows_than_a_page_takes_are_refused_with_what_to_do(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "MOST_CELLS", 3)
    page = html_of(sign_in("fin").get(f"/explore?{NOVEMBER}&by=team&then=day"))
    assert "a page shows at most 3: choose fewer days or a filter" in page


def test_changes_come_to_the_change_of_the_total(sign_in: SignIn) -> None:
    context = (
        sign_in("ana")
        .get("/explore?from=2026-11-10&to=2026-11-15&by=family&then=none&show=held")
        .context
    )
    found = context["table"]
    assert found.has_changes
    state = context["state"]
    before = usage_total(Selection(EVERYTHING, state.before_period))
    changed = (found.total.allocated_ms - before.allocated_ms) / 3_600_000
    assert float(
        found.total_change.replace("\N{MINUS SIGN}", "-").replace(",", "")
    ) == (pytest.approx(changed, abs=0.6))


def test_filters_add_and_exclude_several_values(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    whole = ana.get(f"/explore?{NOVEMBER}&by=namespace&then=none").context["table"]
    names = [line.names[0].text for line in whole.page.lines]
    left = ana.get(
        f"/explore?{NOVEMBER}&by=namespace&then=none"
        f"&not_namespace={names[0]}&not_namespace={names[1]}"
    ).context
    assert [line.names[0].text for line in left["table"].page.lines] == names[2:]
    assert [(chip.value, chip.verb) for chip in left["chips"]] == [
        (names[0], "is not"),
        (names[1], "is not"),
    ]
    both = ana.get(
        f"/explore?{NOVEMBER}&by=namespace&then=none"
        f"&namespace={names[0]}&namespace={names[1]}"
    ).context["table"]
    parts = both.total.allocated_ms + left["table"].total.allocated_ms
    assert parts == whole.total.allocated_ms
    chip = ana.get(left["chips"][0].url).context["chips"]
    assert [one.value for one in chip] == [names[1]]


def test_a_node_and_a_cluster_are_filters(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    nodes = ana.get(f"/explore?{BY_GPU}&by=node&then=none").context["table"]
    name = nodes.page.lines[0].names[0].text
    only = ana.get(f"/explore?{BY_GPU}&by=team&then=none&node={name}").context["table"]
    without = ana.get(f"/explore?{BY_GPU}&not_node={name}").context["table"]
    assert only.total.allocated_ms == nodes.page.lines[0].row.allocated_ms
    whole = nodes.total.allocated_ms
    assert only.total.allocated_ms + without.total.allocated_ms == whole
    assert (
        not ana.get(f"/explore?{NOVEMBER}&not_cluster=north")
        .context["table"]
        .page.count
    )


def test_a_typed_filter_moves_to_its_address(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    typed = "dimension=team&how=not&value=Vision, speech"
    moved = ana.get(f"/explore?by=tier&{typed}")
    assert moved.status_code == 302
    asked = parse_qs(urlsplit(moved["Location"]).query)
    assert asked == {"by": ["tier"], "not_team": ["vision", "speech"]}
    assert ana.get("/explore?dimension=colour&value=red").status_code == 302


def test_the_file_and_the_interface_have_what_is_shown(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    for query in (
        f"{NOVEMBER}&by=tier&then=week&not_team=vision",
        f"{OCTOBER}&by=namespace&then=model&lifecycle=spot&lifecycle=on-demand",
        f"{BY_GPU}&by=node&then=team&as=measured",
    ):
        answer = ana.get(f"/explore?{query}")
        page = html_of(answer)
        link = next(
            part.split('"')[0]
            for part in page.split('href="')[1:]
            if "format=csv" in part.split('"')[0] and "/usage?" in part.split('"')[0]
        )
        file = ana.get(unescape(link))
        rows = list(csv.DictReader(io.StringIO(file.getvalue().decode())))
        total = answer.context["table"].total
        held = sum(float(row["allocated_gpu_hours"]) for row in rows)
        assert held == pytest.approx(total.allocated_ms / 3_600_000, abs=0.01)
        charge = sum(float(row["charge"] or 0) for row in rows)
        assert charge == pytest.approx(float(total.charge.amount), abs=0.01)
        rest = ana.get(unescape(link).split("&columns")[0] + "&" + "limit=5000").json()
        assert len(rest["rows"]) == len(rows)


def test_a_link_to_a_closed_month_shows_the_same_after_a_reopening(
    sign_in: SignIn,
) -> None:
    """The link has range, filters and revision; the page without it shows the new close."""
    ana = sign_in("ana")
    links = []
    for query in (
        f"{OCTOBER}&by=team&then=none",
        f"{OCTOBER}&by=family&then=week&not_team=vision&show=idle",
        "from=2026-10-19&to=2026-10-26&by=tier&then=day&cmp=off",
    ):
        link = ana.get(f"/explore?{query}").context["state"].exact_url
        assert "close=2026-10-r1" in link
        links.append((link, shown(ana, query), query))
    late(7_200_000)
    assert all(shown(ana, urlsplit(link).query) == was for link, was, _ in links)
    people = get_user_model().objects
    reopen_period(
        "2026-10",
        reason="usage was late",
        by=people.get(username="fin"),
        confirmed_by=people.get(username="ana"),
    )
    close_period("2026-10")
    for link, was, query in links:
        assert shown(ana, urlsplit(link).query) == was
        assert shown(ana, query) != was
    old = html_of(ana.get(links[0][0]))
    assert "is not in effect any more" in old
    assert "October 2026, revision 1" in old


def test_what_has_no_exact_answer_is_refused_with_what_to_choose(
    sign_in: SignIn,
) -> None:
    ana = sign_in("ana")
    answer = ana.get(f"/explore?{OCTOBER}&by=node")
    assert "table" not in answer.context
    page = html_of(answer)
    assert "not by node" in page
    assert "as=measured" in page
    measured = ana.get(f"/explore?{OCTOBER}&by=node&as=measured").context["refused"]
    assert measured.startswith("Days by GPU before 2026-11-01 are not kept")
    mixed = ana.get("/explore?from=2026-10-25&to=2026-11-05&not_gpu=GPU-1")
    assert "not by GPU" in html_of(mixed)
    for wrong in ("2026-10-r9", "x", "2026-11-r1"):
        page = html_of(ana.get(f"/explore?{OCTOBER}&close={wrong}"))
        assert ("is not a close" in page) == (wrong == "2026-10-r9"), wrong


def test_a_person_sees_the_own_teams_and_no_names_of_others(sign_in: SignIn) -> None:
    luis = sign_in("luis")
    answer = luis.get(f"/explore?{NOVEMBER}&by=namespace&then=team")
    teams = {line.names[1].text for line in answer.context["table"].page.lines}
    assert teams == {"Vision"}
    assert "search-prod" not in html_of(answer)
    other = luis.get(f"/explore?{NOVEMBER}&team=search").context
    assert not other["table"].page.count
    assert "table" not in sign_in("omar").get("/explore").context


def test_hostile_addresses_are_pages(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    for query in (
        "by=<script>&then=x&show=y&page=999&as=z",
        "team=x%26y&not_team=" + "x" * 300,
        "&".join(f"not_node=n{n}" for n in range(200)),
        "by=day&then=day&from=2026-11-01&to=2026-11-05",
        "lifecycle=never&from=x&to=y",
    ):
        answer = ana.get(f"/explore?{query}")
        assert answer.status_code == 200, query
        assert "<script>&" not in html_of(answer)
