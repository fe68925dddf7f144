"""What pages say of data that is missing: by hour of the week, by day, and by team.

Covers the heat map of a team, the calendar of data health, what a team sees there, and the
notes about samples. Leaves out how coverage is computed: `test_numbers.py`.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape

import pytest
import time_machine
from django.db import connection
from django.test import Client

from accounting.access.scope import EVERYTHING
from accounting.core.billing_calendar import DayRange
from accounting.core.interval import to_ms
from accounting.kit.reads.selection import Selection
from accounting.kit.tags import units
from accounting.metering.models.cluster import Cluster, Gpu
from accounting.metering.models.evidence import KubeJob
from accounting.metering.models.ledger import IngestWindow
from accounting.usage.reads.usage import usage_rows, usage_total
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import ZONE, Story

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


def text_of(client: Client, path: str) -> str:
    """A page without tags, with single spaces."""
    html = html_of(client.get(path))
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", html).split()))


def between(story: Story, first: int, after: int) -> tuple[str, DayRange]:
    """Days after the day without data: as an address, and as a range."""
    gap = story.gap_day.astimezone(ZONE).date()
    days = DayRange(gap + DAY * first, gap + DAY * after)
    return f"?from={days.first}&to={days.after}", days


def test_the_hours_of_other_days_are_empty_and_not_without_data(
    sign_in: SignIn, story: Story
) -> None:
    address, days = between(story, 1, 2)
    client = sign_in("ana")
    week = client.get(f"/teams/vision/week{address}").context["week"]
    assert len(week.cells) == 24
    assert {cell.look[0] for cell in week.cells} == {"q"}
    shown = {row[0]: row[1:] for row in week.rows}
    assert all(shown.pop(f"{days.first:%A}"))
    assert set().union(*shown.values()) == {""}
    page = text_of(client, f"/teams/vision/week{address}")
    assert f"Hours outside {units.days(days)} are left empty." in page
    legend = page.split("0% busy")[1][:60]
    assert "No data" not in legend


def test_hours_of_a_day_without_data_are_without_data(
    sign_in: SignIn, story: Story
) -> None:
    address, days = between(story, 0, 2)
    answer = sign_in("ana").get(f"/teams/vision/week{address}")
    week = answer.context["week"]
    gap = [cell for cell in week.cells if cell.text.startswith(f"{days.first:%A}")]
    assert len(gap) == 24
    assert {cell.look for cell in gap} == {"dark"}
    assert all(cell.text.endswith("no data") for cell in gap)
    assert len(week.cells) == 48


def test_the_window_in_which_live_data_began_is_in_no_share(
    sign_in: SignIn, story: Story
) -> None:
    """Its first minutes were read from files, and the rest of it every 30 seconds."""
    _, days = between(story, 2, 3)
    start = days.period(ZONE).start
    windows = IngestWindow.objects.filter(
        window_start__gte=start, window_start__lt=days.period(ZONE).end
    )
    windows.update(samples_expected=73, samples_seen=73)
    windows.filter(window_start=start).update(samples_expected=7300, samples_seen=4380)
    client = sign_in("ana")
    assert f"{units.short_day(days.first)} (89.7%" in text_of(client, "/data-health")
    began = start + timedelta(minutes=2)
    job = KubeJob.objects.create(
        cluster=Cluster.objects.earliest("pk"),
        job="live",
        first_live_ms=to_ms(began),
    )
    job.runs.create(first_ms=to_ms(began), last_ms=to_ms(NOW))
    page = text_of(client, "/data-health")
    assert f"{units.short_day(days.first)} (" not in page
    assert "The five minutes in which live data began are not counted." in page


def test_data_health_says_what_each_share_is_of(sign_in: SignIn, story: Story) -> None:
    """85.7% of a day's samples and 99% of its held time are both true."""
    _, days = between(story, 2, 3)
    windows = IngestWindow.objects.filter(
        window_start__gte=days.period(ZONE).start,
        window_start__lt=days.period(ZONE).end,
    )
    windows.update(samples_expected=1000, samples_seen=857)
    client = sign_in("ana")
    page = text_of(client, "/data-health")
    assert "Share of the expected samples of all GPUs, held or not." in page
    assert f"Below 95%: {units.short_day(days.first)} (85.7%)." in page
    assert "“Coverage” on other pages is the share of held GPU time" in page
    total = usage_total(Selection(EVERYTHING, days.period(ZONE)))
    held = units.percent(total.coverage)
    assert held != "85.7%"
    html = html_of(client.get("/data-health"))
    title = f"{units.day(days.first)}: 85.7% of samples, {held} of held time observed"
    assert f"<title>{title}</title>" in html
    shown = text_of(client, f"/?from={days.first}&to={days.after}")
    assert f"coverage {held}" in shown


def test_data_health_does_not_call_a_day_with_some_data_whole(sign_in: SignIn) -> None:
    page = text_of(sign_in("ana"), "/data-health")
    assert "1 day without any data: 12 Nov." in page
    assert "No day is missing" not in page


@pytest.mark.parametrize(
    ("used", "unknown", "note"),
    [
        ("samples_expected + 3", "unknown_ms", "so the number used can be larger"),
        (
            "samples_expected - 3",
            "unknown_ms",
            "Time without a valid sample is No data",
        ),
        ("samples_expected - 3", "0", "Samples are missing, but no time is missing"),
    ],
)
def test_an_explanation_says_why_samples_are_not_those_expected(
    sign_in: SignIn, story: Story, used: str, unknown: str, note: str
) -> None:
    address, _ = between(story, 1, 2)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE usage_day SET samples_used = {used}, unknown_ms = {unknown}"  # noqa: S608
        )
    page = text_of(
        sign_in("ana"), f"/explain{address}&what=coverage&team=vision&model=NVIDIA-L40S"
    )
    assert note not in page  # vision has none of that model
    page = text_of(sign_in("ana"), f"/explain{address}&what=coverage&team=vision")
    assert note in page


def test_a_team_sees_the_holes_in_its_own_numbers(
    sign_in: SignIn, story: Story
) -> None:
    client = sign_in("luis")
    own = client.get("/data-health").context["own"]
    [gap] = own.gaps
    assert gap.cluster == "north"
    assert (gap.start, gap.end) == (story.gap_day, story.gap_day + DAY)
    chosen = Selection(EVERYTHING, own.days.period(ZONE), {"team": ("vision",)})
    rows = usage_rows(chosen, ("workload",))
    expected = sorted((row.unknown_ms for row in rows if row.unknown_ms), reverse=True)
    assert [line.row.unknown_ms for line in own.workloads] == expected
    assert own.total.coverage == usage_total(chosen).coverage
    mine = {
        str(gpu.uuid)
        for held in story.held
        for gpu in held.gpus
        if held.team and held.team.slug == "vision"
    }
    assert own.gpus
    assert {one.row.key["gpu"] for one in own.gpus} <= mine
    page = text_of(client, "/data-health")
    assert "Times without data" in page
    assert f"{units.percent(own.total.coverage)} of" in page
    assert expected
    for name in ("asr-train", "rerank-serving", "Speech", "Search teams"):
        assert name not in page


def test_every_hole_leads_to_its_workload_and_file(sign_in: SignIn) -> None:
    client = sign_in("luis")
    page = html_of(client.get("/data-health"))
    part = page.split('id="own-held-title"')[1].split("</section>")[0]
    link = re.search(r'class="name" href="([^"]+)"', part)
    assert link is not None
    opened = client.get(unescape(link[1]))
    assert opened.status_code == 200
    assert opened.context["total"].unknown_ms > 0
    for file in re.findall(r'href="(/api/v1/usage[^"]+format=csv)"', page):
        answer = client.get(unescape(file))
        assert answer.status_code == 200
        rows = answer.getvalue()
        assert b"vision" in rows
        assert b"speech" not in rows


def test_a_cluster_that_fell_silent_has_a_gap_until_it_is_retired(
    sign_in: SignIn,
) -> None:
    south = Cluster.objects.create(name="south")
    first = NOW.replace(minute=0) - timedelta(hours=8)
    IngestWindow.objects.bulk_create(
        IngestWindow(
            cluster=south,
            window_start=first + timedelta(minutes=5 * n),
            state="done",
            rows=1,
            samples_expected=1,
            samples_seen=1,
        )
        for n in range(12)
    )
    own = sign_in("luis").get("/data-health").context["own"]
    assert (own.gaps[0].cluster, own.gaps[0].start) == ("south", first + DAY / 24)
    assert own.gaps[0].end is None
    assert "No data since" in text_of(sign_in("luis"), "/data-health")
    Cluster.objects.filter(name="south").update(retired_at=first + DAY / 24)
    own = sign_in("luis").get("/data-health").context["own"]
    assert [gap.cluster for gap in own.gaps] == ["north"]


def test_who_has_no_team_sees_no_holes(sign_in: SignIn) -> None:
    answer = sign_in("omar").get("/data-health")
    assert answer.context["own"] is None
    assert "north" not in text_of(sign_in("omar"), "/data-health")
    assert sign_in("ana").get("/data-health").context["own"] is None


def test_a_gpu_says_why_its_samples_are_not_those_expected(
    sign_in: SignIn, story: Story
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE usage_window SET samples_used = samples_expected - 1")
    client = sign_in("ana")
    uuid = str(story.held[0].gpus[0].uuid)
    answer = client.get(f"/gpus/{uuid}")
    assert answer.context["used"] < answer.context["expected"]
    page = text_of(client, f"/gpus/{uuid}")
    assert "Time without a valid sample is No data." in page
    assert "Driver Not reported" in page
    taken = {gpu.pk for held in story.held for gpu in held.gpus}
    free = Gpu.objects.exclude(pk__in=taken).order_by("uuid")[0]
    assert "Busy share Not held" in text_of(client, f"/gpus/{free.uuid}")
