"""Tables of money with a total: the rows as they are shown come to the total as it is shown.

Two pages that show a team's month have one amount, to the cent.

Not covered: lists of several pages of rows, whose total is that of all pages.
"""

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from html import unescape

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.db import connection

from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING
from accounting.health.reads.issues import issue_rows
from accounting.kit.reads.selection import Selection
from accounting.kit.tags import units
from accounting.metering.models.cluster import Cluster, Gpu
from accounting.metering.models.ledger import DataIssue
from accounting.months.actions.entries import add_entry
from accounting.months.models.period import Statement
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from tests.html_tables import amount_in, tables_of, wrong_totals
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import Story

SPLITS = ("team", "model", "tier", "namespace", "day", "state", "correction")
NOVEMBER = "from=2026-11-01&to=2026-12-01"
WASTE_DAYS = "from=2026-11-19&to=2026-11-21"


@pytest.fixture(autouse=True)
def two_months(story: Story, db: None) -> Iterator[None]:
    """October is closed, and what became known later is a correction of November, with entries."""
    del story, db
    with time_machine.travel(NOW, tick=False):
        close_period("2026-10")
        with connection.cursor() as cursor:
            cursor.execute(
                # by position, not by id: that depends on the tests before this one
                """UPDATE usage_day u SET idle_ms = idle_ms + 7333 * t.position
                   FROM (SELECT id, row_number() OVER (ORDER BY slug) AS position
                         FROM accounting_team) t
                   WHERE u.billing_on BETWEEN '2026-10-20' AND '2026-11-18'
                     AND u.team_id = t.id"""
            )
        fin = get_user_model().objects.get(username="fin")
        for slug, amount in (("vision", "-12.34"), ("speech", "7.77")):
            kind = "credit" if amount.startswith("-") else "adjustment"
            team = Team.objects.get(slug=slug)
            day = date(2026, 11, 5)
            add_entry(kind, team, day, Decimal(amount), "agreed in a review", fin)
        book_running("2026-11")
        yield


def pages() -> list[str]:
    """Pages with tables of money."""
    found = ["/", "/teams", "/teams?group=none", f"/?{NOVEMBER}", f"/teams?{NOVEMBER}"]
    found += [f"/overview/{card}?{NOVEMBER}" for card in ("changes", "idle")]
    for days in (NOVEMBER, "from=2026-10-01&to=2026-11-01"):
        found += [
            f"/explore?{days}&by={by}"
            for by in ("team", "tier", "workload", "model&then=team", "day&then=team")
        ]
    found += [f"/explore?{NOVEMBER}&by=node&then=team", f"/explore?{NOVEMBER}&by=week"]
    for team in Team.objects.order_by("slug"):
        found.append(f"/teams/{team.slug}?{NOVEMBER}")
        found.append(f"/teams/{team.slug}/workloads?{NOVEMBER}")
        found.append(f"/teams/{team.slug}/workloads?{NOVEMBER}&by=run")
    found.append(f"/teams/vision/families/vision-prod/sweep-resnet?{NOVEMBER}")
    found += [f"/?{NOVEMBER}&split={by}" for by in ("team", "model", "workload")]
    for month in ("2026-10", "2026-11"):
        found.append(f"/months/{month}")
        found += [f"/charges?period={month}&by={by}" for by in SPLITS]
        slugs = Statement.objects.filter(revision__period=month).values_list("team")
        found += [f"/statements/{slug}/{month}" for (slug,) in slugs.distinct()]
        found += [f"/months/{month}?open={slug}" for (slug,) in slugs.distinct()]
    found.append(f"/explain?what=charge&{NOVEMBER}")
    found.append(f"/explain?what=charge&team=vision&{NOVEMBER}")
    found.append(f"/explain?what=ledger&{NOVEMBER}")
    found += [f"/waste?{WASTE_DAYS}", f"/teams/vision/give-back?{WASTE_DAYS}"]
    return [*found, f"/gpus/{Gpu.objects.first().uuid}"]  # type: ignore[union-attr]


def test_rows_come_to_their_totals_on_every_page(sign_in: SignIn) -> None:
    ana, wrong, added = sign_in("ana"), [], 0
    for address in pages():
        answer = ana.get(address)
        assert answer.status_code == 200, address
        found, count = wrong_totals(html_of(answer))
        wrong += [f"{address}: {one}" for one in found]
        added += count
    assert wrong == []
    assert added > 60


def test_the_findings_of_a_rule_come_to_its_part_of_the_bridge(
    sign_in: SignIn,
) -> None:
    """Of rules that count only idle time; on the page, and over REST with six places."""
    ana, compared = sign_in("ana"), 0
    tables = tables_of(html_of(ana.get(f"/waste?{WASTE_DAYS}&rows=250")))
    parts = {row[0]: amount_in(row[2]) for t in tables[:2] for row in t.body}
    for row in tables[2].body:
        assert amount_in(row[2]) == parts[row[0]], "the bar of a rule is its part"
    found: dict[str, Decimal] = {}
    for row in tables[3].body:
        title = row[0].split(" Evidence")[0]
        amount = amount_in(row[tables[3].heads.index("Cost")])
        found[title] = found.get(title, Decimal(0)) + (amount or 0)
    for title in ("Never busy", "Idle at the end", "Idle holder"):
        if title in found:
            assert found[title] == (parts[title] or 0), title
            compared += 1
    assert compared
    rest = ana.get(f"/api/v1/waste-bridge?{WASTE_DAYS}").json()["rows"]
    rows = ana.get(f"/api/v1/waste?{WASTE_DAYS}").json()["rows"]
    for rule in ("never_busy", "tail", "idle"):
        of_rule = [Decimal(row["amount"] or 0) for row in rows if row["rule"] == rule]
        [amount] = [row["amount"] for row in rest if row["part"] == rule] or [0]
        assert sum(of_rule, Decimal(0)) == Decimal(amount), rule


def test_spend_and_spent_of_a_team_differ_by_what_is_said(sign_in: SignIn) -> None:
    html = html_of(sign_in("ana").get(f"/teams/vision?{NOVEMBER}"))
    statement = Statement.objects.get(revision__period="2026-11", team="vision")
    extra = statement.entries6 + statement.corrections6
    text = " ".join(re.sub(r"<[^>]+>", " ", html).split())
    assert f"after credits and corrections of {units.money(extra, 'EUR')}" in text
    quiet = sign_in("ana").get(f"/teams/fraud?{NOVEMBER}")
    assert quiet.status_code == 200


def test_a_formula_counts_the_hours_that_have_a_price(sign_in: SignIn) -> None:
    answer = sign_in("ana").get(f"/explain?what=charge&team=fraud&{NOVEMBER}")
    found, prices = answer.context["found"], answer.context["prices"]
    assert prices.unpriced_ms
    priced = (prices.total_ms - prices.unpriced_ms) / 3_600_000
    assert found.formula[1].startswith(f"{priced:,.2f} GPU-h at its rates")


def test_time_of_no_team_is_at_stake_at_its_own_rate(sign_in: SignIn) -> None:
    """Not at the average of its cluster, which has dearer GPUs."""
    rows = sign_in("ana").get("/api/v1/usage?by=cluster,namespace&team=unmapped").json()
    row = next(one for one in rows["rows"] if one["charge"])
    hours = Decimal(row["allocated_gpu_hours"])
    DataIssue.objects.all().delete()
    issue = DataIssue.objects.create(
        cluster=Cluster.objects.get(name=row["cluster"]),
        code="unmapped_namespace",
        subject=row["namespace"],
        message="No attribution rule maps this namespace to a team.",
        severity="warning",
        first_seen=NOW,
        last_seen=NOW,
        at_stake_ms=10 * 3_600_000,
    )
    [found] = issue_rows(Selection(scope=EVERYTHING))
    assert found.at_stake_charge is not None
    expected = Decimal(row["charge"]) / hours * 10
    assert abs(found.at_stake_charge - expected) < Decimal("0.01"), issue.subject


def test_time_of_no_team_and_no_price_has_no_amount_at_stake() -> None:
    """Not that of its cluster: the row of the model beside it says that nothing is known."""
    DataIssue.objects.all().delete()
    DataIssue.objects.create(
        cluster=Cluster.objects.earliest("pk"),
        code="unmapped_namespace",
        subject="held-what-has-no-price",
        severity="warning",
        first_seen=NOW,
        last_seen=NOW,
        at_stake_ms=10 * 3_600_000,
    )
    [found] = issue_rows(Selection(scope=EVERYTHING))
    assert found.at_stake_charge is None


def test_overview_says_what_the_statements_come_to(sign_in: SignIn) -> None:
    month = Statement.objects.filter(revision__period="2026-11")
    payable = month[0].revision.payable
    platform = month.get(team="platform").payable
    sums = (
        f"teams {units.money(payable - platform, 'EUR')} + unallocated "
        f"{units.money(platform, 'EUR')} = total {units.money(payable, 'EUR')}"
    )
    for address in ("/", f"/?{NOVEMBER}", f"/teams?{NOVEMBER}"):
        html = html_of(sign_in("ana").get(address))
        text = " ".join(re.sub(r"<[^>]+>", " ", html).split())
        assert "Statements of November 2026: with credits and corrections of" in text
        assert sums in text, address
    week = html_of(sign_in("ana").get("/teams?range=last-7-days"))
    assert "Statements of" not in week
    own = html_of(sign_in("luis").get(f"/teams?{NOVEMBER}"))
    assert units.money(month.get(team="vision").payable, "EUR") in own
    assert "unallocated" not in own.split("Statements of")[1]


def totals(html: str, title: str) -> list[list[str]]:
    """The last row of each table with such a first head."""
    return [one.foot[-1] for one in tables_of(html) if one.heads[:1] == [title]]


def test_months_and_statements_have_totals(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    [total] = totals(html_of(ana.get("/months/2026-11")), "Team")
    amounts = [one for one in map(amount_in, total) if one is not None]
    *parts, payable = amounts
    assert len(parts) >= 2  # charge and corrections; entries and their twins are 0
    assert sum(parts, Decimal(0)) == payable
    shown = Statement.objects.get(revision__period="2026-11", team="vision")
    html = html_of(ana.get("/statements/vision/2026-11"))
    for title in ("Item", "Workload", "Billing day"):
        [total] = totals(html, title)
        assert amount_in(total[-1]) == shown.payable, title
    text = html_of(ana.get("/months/2026-11")) + html_of(ana.get("/months"))
    platform = Statement.objects.get(revision__period="2026-11", team="platform")
    month = shown.revision.payable
    teams = units.money(month - platform.payable, "EUR")
    assert (
        text.count(f"eams {teams} + unallocated {units.money(platform.payable, 'EUR')}")
        == 2
    )


def test_the_teams_have_a_row_of_rounding(sign_in: SignIn) -> None:
    for address in (f"/teams?{NOVEMBER}", f"/?{NOVEMBER}"):
        [table] = [
            one
            for one in tables_of(html_of(sign_in("ana").get(address)))
            if {"Team", "Charge"} <= set(one.heads)
        ]
        assert amount_in(dict(row[:2] for row in table.body)["Rounding"])


def amounts_by_team(html: str, head: str) -> dict[str, Decimal]:
    """A column of the table of teams by the first words of its rows."""
    [table] = [one for one in tables_of(html) if {"Team", head} <= set(one.heads)]
    column = table.heads.index(head)
    found = {row[0]: amount_in(row[column]) for row in table.body}
    return {name.split(" Only")[0]: one for name, one in found.items() if one}


def test_a_team_has_one_amount_on_every_page(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    listed = amounts_by_team(
        html_of(ana.get(f"/teams?{NOVEMBER}&group=none")), "Charge"
    )
    booked = amounts_by_team(html_of(ana.get("/months/2026-11")), "Charge")
    overview = amounts_by_team(html_of(ana.get(f"/?{NOVEMBER}")), "Charge")
    names = dict(Team.objects.values_list("slug", "name"))
    paying = Statement.objects.filter(revision__period="2026-11", own6__gt=0)
    slugs = set(paying.values_list("team", flat=True)) & names.keys()
    assert len(slugs) > 5
    for slug in slugs:
        name = names[slug]
        usage = ana.get(f"/api/v1/usage?by=team&team={slug}&{NOVEMBER}").json()["rows"]
        api = sum((Decimal(row["charge"] or 0) for row in usage), Decimal(0))
        own = Statement.objects.get(revision__period="2026-11", team=slug).own6
        assert {listed[name], booked[name], overview[name], round(api, 2)} == {
            round(own, 2)
        }, name


def test_an_amount_is_the_one_of_its_explanation(sign_in: SignIn) -> None:
    """Rows of workloads were parts of a list's total, up to two cents off their explanation."""
    ana, wrong, compared = sign_in("ana"), [], 0
    pages = [f"/teams/{slug}/workloads" for (slug,) in Team.objects.values_list("slug")]
    pages += [
        "/",
        "/overview/idle",
        "/overview/idle?team=vision",
        "/overview/idle?cluster=north",
        "/?split=workload",
        "/?split=namespace",
        "/teams/vision",
        "/teams/vision/idle",
    ]
    for page in pages:
        html = html_of(ana.get(f"{page}{'&' if '?' in page else '?'}{NOVEMBER}"))
        for url, shown in re.findall(
            r'href="(/explain\?[^"]*what=(?:idle_)?charge[^"]*)"[^>]*>\s*([^<]*€[^<]*?)\s*<',
            html,
        ):
            if amount_in(shown) is None or "." not in shown:
                continue
            result = re.search(
                r'class="result">([^<]*)<', html_of(ana.get(unescape(url)))
            )
            assert result is not None
            explained = result[1].rsplit("=", 1)[1].removesuffix("EUR")
            compared += 1
            if explained.strip().replace(",", "") != str(amount_in(shown)):
                wrong.append(f"{url}: {shown} is explained as {explained}")
    assert compared > 100
    assert not wrong


def test_rows_of_a_statement_come_to_what_is_said_of_them(sign_in: SignIn) -> None:
    """The rows were cells of one list to the payable: corrections came to another cent."""
    ana, wrong = sign_in("ana"), []
    with_corrections = Statement.objects.filter(
        revision__period="2026-11", corrections6__gt=0
    )
    assert len(with_corrections) > 5
    for one in with_corrections:
        [table] = [
            table
            for table in tables_of(html_of(ana.get(f"/statements/{one.team}/2026-11")))
            if table.heads[:1] == ["Item"]
        ]
        shown = {"Entry": Decimal(0), "Correction": Decimal(0), "": Decimal(0)}
        for title, *_, amount in table.body:
            part = title.split(" · ")[0]
            key = part if part in shown else "" if part != "Rounding" else part
            shown[key] = shown.get(key, Decimal(0)) + (amount_in(amount) or 0)
        expected = (one.entries6, one.corrections6, one.own6)
        if tuple(shown.values())[:3] != tuple(round(each, 2) for each in expected):
            wrong.append(f"{one.team}: {shown} of {expected}")
    assert not wrong
