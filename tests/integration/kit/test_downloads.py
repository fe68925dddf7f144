"""Files of tables that only pages have, and the links to all others."""

import csv
import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.test import Client

from accounting.kit.charts.bars import STATE_GROUPS
from accounting.kit.pages.fragments import FRAGMENT, card_address, every_card
from accounting.kit.tags.links import TABLE_COLUMNS
from accounting.metering.models.cluster import Source
from tests.euros import number
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of

WEEK = "range=last-7-days"


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


def rows_of(answer: Any) -> list[dict[str, str]]:
    """The rows of a file."""
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/csv")
    text = b"".join(answer) if answer.streaming else answer.content
    return list(csv.DictReader(io.StringIO(text.decode())))


def test_the_file_of_changes_holds_all_of_them(sign_in: SignIn) -> None:
    client = sign_in("ana")
    page = client.get(f"/overview/changes?{WEEK}", headers={"HX-Request": "true"})
    link = re.search(r'href="([^"]*csv=changes[^"]*)"', html_of(page))
    assert link is not None
    rows = rows_of(client.get(link[1].replace("&amp;", "&")))
    shown = page.context["movers"]
    assert len(rows) >= len(shown) > 0
    for row, line in zip(rows, shown, strict=False):
        assert row["family"] == line.family
        assert Decimal(row["change"]) == line.change.difference
        assert Decimal(row["after"]) - Decimal(row["before"]) == Decimal(row["change"])


def test_nothing_to_compare_with_is_an_empty_file(sign_in: SignIn) -> None:
    answer = sign_in("ana").get(f"/?{WEEK}&cmp=off&csv=changes")
    assert rows_of(answer) == []
    assert answer.content.decode().startswith("team,namespace,family,before")


@pytest.mark.parametrize("name", ["coverage", "sources", "gaps", "runs"])
def test_data_health_has_a_file_of_each_table(sign_in: SignIn, name: str) -> None:
    client = sign_in("ana")
    if name != "gaps":  # all windows of the story are whole
        assert f'href="?csv={name}"' in html_of(client.get("/data-health"))
    answer = client.get(f"/data-health?csv={name}")
    rows = rows_of(answer)
    assert rows or name == "gaps"
    assert answer.headers["Content-Disposition"] == (
        f'attachment; filename="gpu-ledger-data-health-{name}-2026-11-20.csv"'
    )


def test_files_of_data_health_keep_to_the_scope(sign_in: SignIn) -> None:
    client = sign_in("luis")
    assert rows_of(client.get("/data-health?csv=coverage"))
    for name in ("sources", "gaps", "runs", "nonsense"):
        assert client.get(f"/data-health?csv={name}").status_code == 404


def test_a_formula_in_a_file_is_text(sign_in: SignIn) -> None:
    client = sign_in("ana")
    Source.objects.update(last_error="=1+1")
    rows = rows_of(client.get("/data-health?csv=sources"))
    assert {row["last_error"] for row in rows} == {"'=1+1"}


def test_data_health_tells_what_the_newest_file_covers(sign_in: SignIn) -> None:
    begin = datetime(2026, 11, 1, 10, tzinfo=UTC)
    end = begin + timedelta(hours=7, minutes=5)
    Source.objects.update(file_from=begin, file_to=end)
    page = html_of(sign_in("ana").get("/data-health"))
    covered = re.search(r"A file: (.*?)</span>", page)
    assert covered is not None
    assert begin.isoformat() in covered[1]
    assert end.isoformat() in covered[1]
    [row, *_] = rows_of(sign_in("ana").get("/data-health?csv=sources"))
    assert row["file_from"] == begin.isoformat()
    assert row["file_to"] == end.isoformat()


def links_of_team(client: Client) -> list[str]:
    """Files of a team's page and of its cards that load by themselves."""
    parts = [html_of(client.get(f"/teams/vision?{WEEK}"))]
    for card in every_card():
        if card.page == "team":
            address = card_address(card, slug="vision")
            answer = client.get(f"{address}?{WEEK}", headers={FRAGMENT: "true"})
            parts.append(html_of(answer))
    return re.findall(r'href="(/api/v1/[^"]+format=csv)"', " ".join(parts))


def test_every_download_of_a_teams_page_is_of_that_team(sign_in: SignIn) -> None:
    client = sign_in("ana")
    links = links_of_team(client)
    assert len(links) >= 5
    for link in links:
        assert "team=vision" in link
        assert rows_of(client.get(link.replace("&amp;", "&")))


def test_a_file_of_usage_has_the_columns_of_its_table(sign_in: SignIn) -> None:
    """It had 20 columns, milliseconds and hardware counters among them."""
    client = sign_in("ana")
    page = html_of(client.get(f"/teams?{WEEK}"))
    link = re.search(r'href="(/api/v1/usage\?by=team&amp;[^"]+format=csv)"', page)
    assert link is not None
    rows = rows_of(client.get(link[1].replace("&amp;", "&")))
    assert list(rows[0]) == ["team", *TABLE_COLUMNS]
    assert {row["team"] for row in rows} >= {"vision", "search"}


def test_the_file_of_the_capacity_card_has_the_money_of_the_card(
    sign_in: SignIn,
) -> None:
    """One model without a price emptied every money column of every day."""
    client = sign_in("ana")
    page = client.get(f"/?{WEEK}")
    link = re.search(r'href="(/api/v1/ledger[^"]+)"', html_of(page))
    assert link is not None
    rows = rows_of(client.get(link[1].replace("&amp;", "&")))
    card = page.context["ledger"]
    assert card.unpriced_ms > 0
    unpriced = sum(Decimal(row["unpriced_gpu_hours"]) for row in rows)
    assert abs(unpriced - Decimal(card.unpriced_ms) / 3_600_000) < Decimal("0.0001")
    for word, states in STATE_GROUPS.items():
        shown = next(one.charge for one in card.groups if one.name == word)
        amounts = [row[f"{state}_charge"] for row in rows for state in states]
        total = sum(Decimal(amount) for amount in amounts if amount)
        assert abs(total - number(shown)) <= Decimal("0.02")
        assert any(Decimal(amount or 0) > 0 for amount in amounts)


def test_every_file_of_a_team_is_named_after_it_and_its_period(sign_in: SignIn) -> None:
    client = sign_in("ana")
    links = links_of_team(client)
    names = []
    for link in links:
        answer = client.get(link.replace("&amp;", "&"))
        found = re.fullmatch(
            r'attachment; filename="gpu-ledger-(usage-by-[a-z-]+-)vision-'
            r'2026-11-14-to-2026-11-20\.csv"',
            answer.headers["Content-Disposition"],
        )
        assert found, answer.headers["Content-Disposition"]
        names.append(found[1])
    assert len(names) >= 5
    assert "usage-by-family-hour-" in names
    changes = client.get(f"/?{WEEK}&csv=changes").headers["Content-Disposition"]
    assert "gpu-ledger-spend-changes-2026-11-14-to-2026-11-20.csv" in changes


def test_json_is_no_download(sign_in: SignIn) -> None:
    answer = sign_in("ana").get("/api/v1/usage?by=team")
    assert "Content-Disposition" not in answer.headers


def test_a_picture_says_whose_what_when_and_in_which_unit(sign_in: SignIn) -> None:
    client = sign_in("ana")
    page = client.get(f"/teams/vision?{WEEK}&model=NVIDIA-H100-80GB-HBM3")
    buttons = re.findall(r"<button[^>]*data-png=[^>]*>", html_of(page))
    held, spend = (dict(re.findall(r'data-(\w+)="([^"]*)"', one)) for one in buttons)
    assert held == {
        "png": "held",
        "title": "Vision: GPUs held through the period",
        "note": "14–20 Nov 2026 · Europe/Berlin · GPU model is NVIDIA-H100-80GB-HBM3 · "
        "data to 20 Nov 2026 15:35",
        "unit": "GPUs, average",
        "file": "gpu-ledger-vision-gpus-held-through-the-period-"
        "2026-11-14-to-2026-11-20.png",
    }
    assert spend["title"] == "Vision: hourly spend by workload family"
    assert spend["unit"] == "EUR per hour"
    overview = html_of(client.get("/?range=last-month"))
    assert 'data-title="All teams: daily spend by team"' in overview
    assert 'data-unit="EUR per day"' in overview
    assert (
        "gpu-ledger-teams-daily-spend-by-team-2026-10-01-to-2026-10-31.png" in overview
    )
    own = html_of(sign_in("mia").get("/"))
    assert 'data-title="Your teams: daily spend by team"' in own
