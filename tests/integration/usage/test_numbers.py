"""The numbers on pages are those of reports, add up, and open to the same value."""

import re
from collections.abc import Iterator

import pytest
import time_machine
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING
from accounting.core.billing_calendar import preset_range
from accounting.kit.reads.selection import Selection
from accounting.kit.tags import units
from accounting.usage.reads.ledger import ledger_total
from accounting.usage.reads.usage import usage_total
from tests.euros import added, number
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import ZONE, Story

RANGE = "?range=last-7-days"


def selection(**filters: str) -> Selection:
    """The last seven days, as a page asks for them."""
    days = preset_range("last-7-days", NOW.astimezone(ZONE).date())
    return Selection(
        EVERYTHING, days.period(ZONE), {k: (v,) for k, v in filters.items()}
    )


def text_of(client: Client, path: str) -> str:
    """A page without tags, with single spaces."""
    html = html_of(client.get(path))
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


def test_cards_show_the_report(sign_in: SignIn) -> None:
    page = text_of(sign_in("ana"), f"/{RANGE}")
    total = usage_total(selection())
    assert units.money_round(total.charge, "EUR") in page
    assert units.gpu_hours(total.allocated_ms) in page
    assert units.percent(total.efficiency) in page
    assert units.money_round(total.idle_charge, "EUR") in page


def test_the_table_adds_up_to_the_cent(sign_in: SignIn) -> None:
    context = sign_in("ana").get(f"/{RANGE}").context
    table = context["teams"]
    shown = [line.row for line in table.lines]
    listed = added(row.charge for row in shown) + number(table.rounding.charge)
    assert listed == number(table.total.charge)
    partly = [row for row in shown if 0 < row.unpriced_ms < row.allocated_ms]
    assert partly  # fraud has an unpriced model beside a priced one
    assert sum(row.unpriced_ms for row in shown) == table.total.unpriced_ms
    assert sum(row.allocated_ms for row in shown) == table.total.allocated_ms


@pytest.mark.parametrize(
    "query", [RANGE, "?range=last-28-days", "?range=last-12-months"]
)
def test_steps_add_up_to_the_total(sign_in: SignIn, query: str) -> None:
    breakdown = sign_in("ana").get(f"/{query}").context["breakdown"]
    charged = added(row.charge for row in breakdown.steps.values())
    assert charged == number(breakdown.summary.total.charge)
    assert (
        sum(row.allocated_ms for row in breakdown.steps.values())
        == breakdown.summary.total.allocated_ms
    )


def test_the_capacity_bar_is_the_wall_time(sign_in: SignIn) -> None:
    ledger = sign_in("ana").get(f"/{RANGE}").context["ledger"]
    row = ledger_total(selection())
    assert ledger.wall_ms == row.wall_ms
    assert sum(word.milliseconds for word in ledger.groups) == row.wall_ms
    shown = added(word.charge for word in ledger.groups)
    assert shown == round(number(row.wall_charge), 2)


def test_an_explanation_ends_at_the_number_of_the_card(sign_in: SignIn) -> None:
    client = sign_in("ana")
    total = client.get(f"/teams/vision{RANGE}").context["breakdown"].summary.total
    answer = client.get("/explain?what=charge&team=vision&range=last-7-days")
    assert f"{number(total.charge):,.2f} EUR" in html_of(answer)
    lines = answer.context["prices"].lines
    assert added(line.amount for line in lines) == number(total.charge)
    assert "Samples used" in html_of(answer)
    assert "Copy PromQL" in html_of(answer)
    assert "N28" in html_of(answer)


def test_an_explanation_is_a_fragment_for_the_drawer(sign_in: SignIn) -> None:
    answer = sign_in("ana").get(
        "/explain?what=allocated", headers={"HX-Request": "true"}
    )
    assert "<html" not in html_of(answer)
    assert "busy + idle + unknown" in html_of(answer)


def test_a_day_without_data_is_a_gap_and_is_named(
    sign_in: SignIn, story: Story
) -> None:
    answer = sign_in("ana").get("/")
    gap = story.gap_day.astimezone(ZONE).date()
    assert answer.context["missing_days"] == [gap]
    assert f"1 of 20 days have no data: {units.short_day(gap)}" in html_of(answer)
    total = answer.context["spend"].figure["data"][-1]
    assert total["y"][total["x"].index(f"{gap:%a} {units.day(gap)}")] is None


def test_a_comparison_with_missing_data_is_doubted(sign_in: SignIn) -> None:
    """A day of the week before is missing: grey, with the reason."""
    answer = sign_in("ana").get("/?range=last-7-days")
    change = answer.context["breakdown"].summary.charge
    assert change.doubt == "only 85% of the time before was observed"
    assert "It is gray because only 85%" in html_of(answer)


def test_a_range_before_all_data_is_not_compared(sign_in: SignIn) -> None:
    page = html_of(sign_in("ana").get("/?from=2026-10-09&to=2026-10-15"))
    assert "No data before 9 Oct 2026" in page
    assert "Not compared" not in page
    assert "0% of it has data" not in page


def test_too_little_data_is_not_compared_at_all(sign_in: SignIn) -> None:
    """Data begin on 9 October: a percentage against 1 to 20 October would be nonsense."""
    client = sign_in("ana")
    why = r"Not compared with 1\u201320 Oct 2026: no data before 9 Oct 2026"
    for path in ("/", "/teams", "/teams/vision"):
        answer = client.get(path)
        breakdown = answer.context["breakdown"]
        assert not breakdown.has_before
        for name in ("charge", "allocated", "efficiency", "idle_charge"):
            assert getattr(breakdown.summary, name) is None
        page = html_of(answer)
        assert re.search(why, " ".join(page.split()))
        main = page[page.index("<main") :]
        assert not set("\u25b2\u25bc") & set(main)
    assert client.get("/overview/changes").context["movers"] == []


def test_a_comparison_up_to_the_same_hour_says_so(sign_in: SignIn) -> None:
    client = sign_in("ana")
    page = " ".join(html_of(client.get("/?range=last-7-days")).split())
    assert "vs 7\u201313 Nov 2026 to 15:00" in page
    assert "on 7\u201313 Nov 2026 to 15:00 (" in page
    assert "Change is compared with 7\u201313 Nov 2026 to 15:00." in page
    card = html_of(client.get("/overview/changes?range=last-7-days"))
    assert (
        "Charge against 7\u201313 Nov 2026 to 15:00, the same hour as the newest"
        in " ".join(card.split())
    )
    whole = html_of(client.get("/?range=last-week"))
    assert "vs 2\u20138 Nov 2026 <" in whole


def test_a_running_month_is_compared_with_as_much_of_the_one_before(
    sign_in: SignIn,
) -> None:
    state = sign_in("ana").get("/").context["state"]
    assert units.days(state.before) == "1–20 Oct 2026"
    assert state.is_before_cut
    assert state.before_period.length_ms <= state.elapsed.length_ms


def test_sorting_and_filtering_live_in_the_address(sign_in: SignIn) -> None:
    client = sign_in("ana")
    lines = client.get("/teams?group=none&sort=team").context["teams"].lines
    assert [line.name for line in lines] == sorted(line.name for line in lines)
    up = client.get("/teams?group=none&sort=charge").context["teams"].lines
    assert up[-1].row.charge is None  # what has no price comes last in any order
    page = client.get("/teams/search/workloads?by=run&q=rerank").context["page"]
    assert [line.workload for line in page.lines] == ["rerank-serving"]
    nothing = html_of(client.get("/teams/search/workloads?by=run&q=zzz"))
    assert "Clear filter" in nothing


def test_an_exact_range_is_half_open_and_shareable(sign_in: SignIn) -> None:
    state = sign_in("ana").get("/?from=2026-11-02&to=2026-11-05").context["state"]
    assert units.days(state.days) == "2–4 Nov 2026"
    assert state.exact_url.endswith("/?from=2026-11-02&to=2026-11-05")
    assert state.link("/waste") == "/waste?from=2026-11-02&to=2026-11-05"
    assert "from=2026-11-05&to=2026-11-08" in state.forward_url


def test_an_empty_range_says_where_data_are(sign_in: SignIn) -> None:
    page = text_of(sign_in("ana"), "/?from=2020-01-01&to=2020-01-05")
    assert "Nothing was held in 1–4 Jan 2020" in page
    assert "Data is available from" in page


def test_more_teams_cost_no_more_queries(
    sign_in: SignIn, story: Story, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    Team.objects.bulk_create(
        [Team(slug=f"more-{n}", name=f"More {n}") for n in range(200)]
    )
    client = sign_in("ana")
    with django_assert_max_num_queries(16):
        answer = client.get("/teams")
    assert len(answer.context["quiet"]) == 200


def test_csv_and_api_links_ask_for_the_same_rows(sign_in: SignIn) -> None:
    client = sign_in("ana")
    page = html_of(client.get("/teams/vision/workloads?from=2026-11-02&to=2026-11-05"))
    url = re.search(r'href="(/api/v1/usage[^"]+)"', page)
    assert url is not None
    answer = client.get(url[1].replace("&amp;", "&"))
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/csv")
    lines = b"".join(answer) if answer.streaming else answer.content
    assert b"sweep-resnet" in lines
    assert b"rerank-serving" not in lines
