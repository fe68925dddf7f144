"""The bars of charts: hours up to a week, days up to three months, months above.

Covers what they are called, what is drawn of each range, and clocks that change. Leaves out
how a browser draws them: `tests/browser/test_chart_steps.py`.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from accounting.kit.tags import units
from accounting.metering.models.ledger import IngestWindow
from tests.euros import number
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import Story


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


NAMES = {"team": "team", "family": "workload family"}


@pytest.mark.parametrize(
    ("query", "title", "count", "first", "dimension"),
    [
        ("range=today", "Hourly", 16, "Fri 20 Nov 00:00", "hour"),
        ("range=yesterday", "Hourly", 24, "Thu 19 Nov 00:00", "hour"),
        ("range=last-week", "Hourly", 168, "Mon 9 Nov 00:00", "hour"),
        ("from=2026-10-19&to=2026-10-26", "Hourly", 169, "Mon 19 Oct 00:00", "hour"),
        ("from=2026-11-09&to=2026-11-17", "Daily", 8, "Mon 9 Nov 2026", "day"),
        ("range=last-28-days", "Daily", 28, "Sat 24 Oct 2026", "day"),
        ("range=last-12-months", "Monthly", 2, "9\u201331 Oct 2026", "day"),
    ],
)
def test_steps_follow_the_length_of_the_range(
    sign_in: SignIn, query: str, title: str, count: int, first: str, dimension: str
) -> None:
    client = sign_in("ana")
    for path, by in (("/", "team"), ("/teams/vision", "family")):
        answer = client.get(f"{path}?{query}")
        chart = answer.context["spend"]
        total = chart.figure["data"][-1]
        assert len(total["x"]) == len(set(total["x"])) == count
        assert total["x"][0] == first
        assert len(chart.rows) == count
        page = html_of(answer)
        assert f"{title} spend by {NAMES[by]}" in page
        assert f"by={by},{dimension}&amp;" in page
    held = answer.context["held"]
    assert [row[0] for row in held.rows] == list(total["x"])


@pytest.mark.parametrize("query", ["range=yesterday", "range=last-week"])
def test_bars_of_hours_add_up_to_the_card(sign_in: SignIn, query: str) -> None:
    context = sign_in("ana").get(f"/?{query}").context
    total = context["spend"].figure["data"][-1]
    shown = sum(amount for amount in total["y"] if amount is not None)
    assert round(shown, 2) == float(number(context["breakdown"].summary.total.charge))
    assert all(spark.pieces for spark in context["sparks"].values())


def test_an_hour_that_the_clock_shows_twice_has_its_zone(sign_in: SignIn) -> None:
    chart = sign_in("ana").get("/?from=2026-10-25&to=2026-10-26").context["spend"]
    labels = [row[0] for row in chart.rows]
    assert len(labels) == 25
    assert labels[2:4] == ["Sun 25 Oct 02:00 CEST", "Sun 25 Oct 02:00 CET"]


def test_the_running_step_is_said_to_run(sign_in: SignIn) -> None:
    client = sign_in("ana")
    today = client.get("/?range=today").context["spend"].sentence
    assert today.endswith("20 Nov at 15:00 is still running.")
    assert "Highest: 20 Nov at " in today
    month = client.get("/").context["spend"].sentence
    assert month.endswith("20 Nov is still running.")
    whole = client.get("/?range=last-week").context["spend"].sentence
    assert "running" not in whole


def test_hours_without_data_are_gaps(sign_in: SignIn) -> None:
    """Nothing is known of them: that is not zero."""
    start = datetime(2026, 11, 18, 9, tzinfo=UTC)
    IngestWindow.objects.filter(
        window_start__gte=start, window_start__lt=start + timedelta(hours=2)
    ).update(rows=0)
    client = sign_in("ana")
    for path in ("/", "/teams/vision"):
        chart = client.get(f"{path}?from=2026-11-18&to=2026-11-19").context["spend"]
        unknown = [row[0] for row in chart.rows if row[-1] == "No data"]
        assert unknown == ["Wed 18 Nov 10:00", "Wed 18 Nov 11:00"]
        assert len(chart.figure["layout"]["shapes"]) == 2


def test_the_axis_of_days_is_marked_at_mondays(sign_in: SignIn) -> None:
    axis = sign_in("ana").get("/?range=last-28-days").context["spend"].figure
    assert axis["layout"]["xaxis"]["ticktext"] == ["26 Oct", "2 Nov", "9 Nov", "16 Nov"]


def test_a_gpu_has_as_many_hours_as_its_card(sign_in: SignIn, story: Story) -> None:
    """Three days that begin within an hour touch 73 hours and are 72 of them."""
    gpu = story.held[0].gpus[0].uuid
    context = sign_in("ana").get(f"/gpus/{gpu}?range=last-7-days").context
    hours = units.gpu_hours(context["capacity"].wall_ms)
    assert context["hours"].sentence.endswith(f"% of {hours} GPU-hours.")
    assert len(context["hours"].rows) > float(hours)  # both ends are cut
