"""Pages of families: a team's list of them, and one with its runs (rules.md N41).

Sums are held to the millisecond and the cent; a month is closed, with a correction.
Not covered: what a family is (`test_families.py`), days by family (`test_family_days.py`).
"""

import re
from decimal import Decimal
from html import unescape
from urllib.parse import unquote

import pytest
import time_machine
from django.db import connection
from django.test import Client

from accounting.access.models.teams import Team
from accounting.core.rounding import half_even
from accounting.kit.charts.plots import NAMED_SERIES
from accounting.kit.family_address import family_url
from accounting.kit.tags.units import short_model
from accounting.metering.models.pod import PodHold, Workload
from accounting.months.tasks.close import close_period
from accounting.usage.pages.family_lines import LISTED
from scheduler_view.idle.tasks import find_idle
from tests.html_tables import wrong_totals
from tests.integration.conftest import NOW, SignIn
from tests.more_runs import more_runs
from tests.page_html import html_of
from tests.story import Story

pytestmark = pytest.mark.usefixtures("db")
WEEK = "from=2026-11-10&to=2026-11-17"
OCTOBER = "from=2026-10-01&to=2026-11-01"
FAMILY = "/teams/vision/families/vision-prod/sweep-resnet"


def cents(row: object) -> Decimal:
    charge = row.charge  # type: ignore[attr-defined]  # a row of usage
    return Decimal(0) if charge is None else charge.amount


@pytest.mark.parametrize("days", [WEEK, OCTOBER])
def test_families_come_to_their_team(story: Story, sign_in: SignIn, days: str) -> None:
    close_period("2026-10")
    client, compared = sign_in("ana"), 0
    for team in Team.objects.order_by("slug"):
        page = client.get(f"/teams/{team.slug}?{days}").context
        if not page["breakdown"].has_usage:
            continue
        total = page["breakdown"].summary.total
        every = client.get(f"/teams/{team.slug}/workloads?{days}&rows=250").context
        for table, lines in (
            (page["families"], page["family_rows"]),
            (every["table"], every["lines"]),
        ):
            rows = [line.row for line in lines]
            rows += [table.rest.row] if table.rest else []
            assert sum(row.allocated_ms for row in rows) == total.allocated_ms
            assert sum(row.idle_ms for row in rows) == total.idle_ms
            left = table.rounding.charge.amount if table.rounding.charge else 0
            assert sum(map(cents, rows)) + left == cents(total)
        runs = client.get(f"/teams/{team.slug}/workloads?{days}&by=run").context
        assert runs["total"].allocated_ms == total.allocated_ms
        assert cents(runs["total"]) == cents(total)
        compared += 1
    assert compared > 3


@pytest.mark.parametrize("days", [WEEK, OCTOBER])
def test_runs_of_a_family_come_to_its_row(
    story: Story, sign_in: SignIn, days: str
) -> None:
    close_period("2026-10")
    client, compared = sign_in("ana"), 0
    for slug in ("vision", "search"):
        lines = client.get(f"/teams/{slug}/workloads?{days}&rows=250").context["lines"]
        for line in lines:
            if not line.url:
                continue
            answer = client.get(f"{line.url}?{days}")
            assert answer.status_code == 200, line.url
            assert wrong_totals(html_of(answer))[0] == []
            table, found = answer.context["table"], answer.context["breakdown"]
            assert len(table.lines) == line.runs
            for field in ("busy_ms", "idle_ms", "unknown_ms"):
                of_runs = sum(getattr(run.row, field) for run in table.lines)
                assert of_runs == getattr(line.row, field)
                steps = found.steps.values()
                assert sum(getattr(row, field) for row in steps) == of_runs
            assert cents(table.total) == cents(line.row)
            idle = answer.context["cost"].figure["data"][1]
            assert idle["name"] == "Idle"
            money = line.row.idle_charge.amount if line.row.idle_charge else 0
            assert round(sum(filter(None, idle["y"])), 2) == round(float(money), 2)
            assert sum(map(cents, found.steps.values())) == cents(line.row)
            compared += 1
    assert compared > 3


def test_a_team_shows_ten_and_the_sum_of_the_rest(
    story: Story, sign_in: SignIn
) -> None:
    more_runs(51, 2)
    client = sign_in("luis")
    page = client.get(f"/teams/vision?{WEEK}").context
    families = page["families"]
    assert len(families.lines) == LISTED
    assert families.rest_count > 40
    page = client.get("/teams/vision?from=2026-11-10&to=2026-11-18").context  # by day
    *named, total = page["spend"].figure["data"]
    assert [one["name"] for one in named][-1] == f"Other ({51 + 3 - NAMED_SERIES})"
    shown = sum(value for one in named for value in one["y"] if value)
    assert round(shown, 2) == float(cents(page["breakdown"].summary.total))
    assert round(sum(filter(None, total["y"])), 2) == round(shown, 2)
    assert wrong_totals(html_of(client.get(f"/teams/vision?{WEEK}")))[0] == []
    first = client.get(f"/teams/vision/workloads?{WEEK}&sort=-runs").context
    assert [line.runs for line in first["lines"][:2]] == [2, 2]
    assert first["page"].pages == 2
    second = client.get(f"/teams/vision/workloads?{WEEK}&sort=-runs&page=2").context
    keys = {line.names for line in (*first["lines"], *second["lines"])}
    assert len(keys) == first["count"]
    found = client.get(f"/teams/vision/workloads?{WEEK}&q=MANY7x").context
    assert [line.name for line in found["lines"]] == ["many7x-run"]
    assert found["table"].total.allocated_ms == found["lines"][0].row.allocated_ms


def test_a_family_has_pages_of_runs(story: Story, sign_in: SignIn) -> None:
    more_runs(1, 51)
    client = sign_in("luis")
    path = f"/teams/vision/families/vision-prod/many0x-run?{WEEK}"
    first = client.get(f"{path}&sort=run").context
    second = client.get(f"{path}&sort=run&page=2").context
    assert (first["page"].pages, len(second["page"].lines)) == (2, 1)
    assert "Not known" in html_of(client.get(path)), "no hold of them is stored"
    for sort in ("-start", "end", "-gpus", "charge", "-efficiency"):
        assert client.get(f"{path}&sort={sort}").status_code == 200


def test_a_family_opens_to_its_runs(story: Story, sign_in: SignIn) -> None:
    page = sign_in("luis").get(f"{FAMILY}?{WEEK}")
    html = html_of(page)
    [run] = page.context["table"].lines
    assert (run.kind, run.workload) == ("Job", "sweep-resnet")
    holds = PodHold.objects.filter(pod__workload__name="sweep-resnet")
    assert run.time.began_ms == min(hold.bound_ms for hold in holds)
    ended = [hold.ended_ms for hold in holds]
    assert run.time.ended_ms == (None if None in ended else max(filter(None, ended)))
    assert 0 < run.time.gpus <= sum(hold.units for hold in holds)
    assert "of Vision" in html
    opened = sign_in("luis").get(f"{FAMILY}?{WEEK}&open={run.open_key}")
    assert {pod.pod for pod in opened.context["opened"].pods} == {
        hold.pod.name for hold in holds
    }


def test_a_family_opens_the_gpus_that_it_held(story: Story, sign_in: SignIn) -> None:
    client = sign_in("luis")
    page = html_of(client.get(f"{FAMILY}?{WEEK}"))
    [url] = re.findall(r'href="(/gpus\?[^"]*)"', page)
    assert WEEK in unescape(url)
    gpus = html_of(client.get(unescape(url)))
    assert "sweep-resnet" in gpus


def test_a_run_has_the_most_gpus_that_it_held_at_once(
    story: Story, sign_in: SignIn
) -> None:
    hold = PodHold.objects.get(pod__workload__name="sweep-resnet")
    hour, client = 3_600_000, sign_in("luis")
    began = hold.bound_ms
    PodHold.objects.filter(pk=hold.pk).update(units=2, ended_ms=began + hour)
    later = {"bound_ms": began + hour, "ended_ms": began + 2 * hour}
    common = {"pod": hold.pod, "node": hold.node, "is_inferred": True}
    PodHold.objects.create(**common, **later, units=3, resource=hold.resource)
    [run] = client.get(f"{FAMILY}?{WEEK}").context["table"].lines
    assert (run.time.began_ms, run.time.ended_ms) == (began, began + 2 * hour)
    assert (run.time.gpus, run.is_running) == (3, False)
    mig = {"share_numerator": 1, "share_denominator": 4, "resource": "nvidia.com/mig"}
    PodHold.objects.create(**common, **mig, units=1, bound_ms=began + hour + 1)
    page = client.get(f"{FAMILY}?{WEEK}")
    [run] = page.context["table"].lines
    assert (run.time.gpus, run.is_running) == (Decimal("3.25"), True)
    assert "Running" in html_of(page)


LINK = re.compile(r'href="(/teams/[a-z]+/families/[^"]+)"')
RUN_LINK = re.compile(r'href="(/teams/[a-z]+/runs/[^"]+)"')


@pytest.mark.parametrize(
    "path",
    ["/overview/changes", "/overview/idle", "/teams/vision/idle", "/teams/vision"],
)
def test_names_of_work_open_their_family(
    story: Story, sign_in: SignIn, path: str
) -> None:
    client = sign_in("ana")
    found = LINK.findall(html_of(client.get(f"{path}?{WEEK}&cmp=prev")))
    assert len(set(found)) >= 3
    for url in set(found):
        assert client.get(url.replace("&amp;", "&")).status_code == 200


def test_a_statement_opens_to_the_families_of_its_month(
    story: Story, sign_in: SignIn
) -> None:
    close_period("2026-10")
    client = sign_in("luis")
    page = client.get("/statements/vision/2026-10")
    assert ">By family</a>" in html_of(page)
    found = page.context["document"]
    items = [*found.workloads]
    items += [found.other_workloads] if found.other_workloads else []
    whole = sum(item.amount.amount for item in items)
    families = client.get(page.context["families_url"]).context["table"]
    assert cents(families.total) == half_even(whole, 2)
    assert families.total.allocated_ms == sum(item.ms for item in items)


def test_idle_holders_open_their_run(story: Story, sign_in: SignIn) -> None:
    client = sign_in("ana")
    with time_machine.travel(NOW, tick=False):
        find_idle(story.cluster)
    idle = RUN_LINK.findall(html_of(client.get("/idle?over=15")))
    assert idle
    for url in {*idle}:
        assert client.get(url).status_code == 200
    lines = client.get("/api/v1/idle-holders").json()["rows"]
    names = {
        f"/teams/{r['team']}/runs/{r['namespace']}/{r['workload_kind']}/{r['workload']}"
        for r in lines
    }
    assert {*idle} <= names


@pytest.mark.parametrize(
    "path",
    [
        "/teams/vision/families/search-prod/rerank-serving",  # of another team
        "/teams/vision/families/vision-prod/nothing-like-it",
        "/teams/nobody/families/vision-prod/sweep-resnet",
    ],
)
def test_other_families_do_not_exist(sign_in: SignIn, path: str) -> None:
    assert sign_in("luis").get(f"{path}?{WEEK}").status_code == 404


def test_a_family_of_another_team_is_not_shown(sign_in: SignIn) -> None:
    assert (
        sign_in("luis")
        .get("/teams/search/families/search-prod/rerank-serving")
        .status_code
        == 404
    )


def test_a_range_without_its_time_is_no_error(sign_in: SignIn) -> None:
    page = sign_in("luis").get(f"{FAMILY}?from=2020-01-01&to=2020-01-05")
    assert "Nothing was held in" in html_of(page)


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        "a/b",
        "a%2Fb",
        "a?b#c",
        'x"><script>alert(1)</script>',
        "ö\u202e",
        "a'b&c",
        "-",
    ],
)
def test_any_name_has_a_page(story: Story, sign_in: SignIn, name: str) -> None:
    found = Workload.objects.get(name="sweep-resnet")
    Workload.objects.filter(pk=found.pk).update(family=name)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE usage_family_day SET family = %s WHERE family = 'sweep-resnet'",
            [name],
        )
    client: Client = sign_in("luis")
    page = client.get(f"/teams/vision/workloads?{WEEK}")
    [line] = [one for one in page.context["lines"] if one.name == name]
    assert "<script>alert" not in html_of(page)
    answer = client.get(f"{line.url}?{WEEK}")
    assert answer.context["table"].lines[0].workload == "sweep-resnet"
    assert "<script>alert" not in html_of(answer)
    own = re.findall(r'href="(/teams/vision/families/[^"?]*)', html_of(answer))
    assert len(own) > 5
    assert {unquote(unescape(one)) for one in own} == {unquote(line.url)}


@pytest.mark.parametrize(
    "names",
    [("", "a"), ("a", ".."), ("a/b", "c"), ("a", ""), ("a", "b/../c"), ("a", "b/.")],
)
def test_what_no_address_contains_has_no_link(names: tuple[str, str]) -> None:
    assert family_url("vision", *names) == ""


def test_models_are_short() -> None:
    for model, short in (
        ("NVIDIA-A100-SXM4-80GB", "A100 80 GB"),
        ("NVIDIA-H100-80GB-HBM3", "H100 80 GB"),
        ("Tesla-T4", "T4"),
        ("AMD_Instinct_MI300X_OAM", "MI300X"),
        ("", "Unknown model"),
        ("gfx942", "gfx942"),
    ):
        assert short_model(model) == short
