"""The page of queues, one unit, and the lists: whose names are shown, counts, numbers, errors."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from accounting.kit.charts.queues import LINES
from accounting.kit.tags.units import short_day
from scheduler_view.queues.models.queues import PoolSample, StartEstimate
from scheduler_view.queues.tasks.summaries import store_summaries
from scheduler_view.waits.models import UnitWait, WaitRecord
from tests.integration.conftest import SignIn
from tests.page_html import html_of
from tests.story import ZONE, Story

RESOURCE, MODEL = "nvidia.com/gpu", "NVIDIA-H100-80GB-HBM3"
MINUTE = timedelta(minutes=1)
CONTENT = {  # of an explanation
    "resource": RESOURCE,
    "units_per_pod": 4,
    "pods": {"wanted": 1, "bound": 0, "waiting": 1},
    "priority_class": "batch",
    "contributing": [],
    "overlays": [],
    "preemption": "no_victims",
    "blockers": [],
    "evidence": [],
}
POOL = {"resource": RESOURCE, "model": MODEL}


def record(story: Story, team: str, name: str, **more: Any) -> WaitRecord:
    now = timezone.now()
    values = {
        "stage": "unschedulable",
        "cause": "no_free_gpu",
        "tier": "batch",
        "units": 4,
        "position": 1,
        "count": 3,
        "created_at": now - 90 * MINUTE,
        "waits_since": now - 90 * MINUTE,
        "admitted_at": now - 60 * MINUTE,
    }
    return WaitRecord.objects.create(
        cluster=story.cluster,
        kind="Job",
        namespace=f"{team}-prod",
        name=name,
        uid=name,
        **(POOL | values | more),
    )


def bound(story: Story, number: int, *, off: timedelta) -> None:
    """A unit that was bound after as many minutes, with an estimate that was off."""
    at = timezone.now() - timedelta(days=1)
    row = record(
        story,
        "search",
        f"done-{number}",
        stage="",
        cause="",
        position=None,
        count=None,
        waits_since=None,
        created_at=at,
        admitted_at=at,
        bound_at=at + number * MINUTE,
        ended_at=at + timedelta(hours=3),
    )
    StartEstimate.objects.create(
        wait=row,
        made_at=at + MINUTE,
        start_at=at + number * MINUTE + off,
        low_at=at,
        high_at=at + timedelta(hours=5),
        **POOL,
    )


@pytest.fixture
def queues(story: Story, sign_in: SignIn) -> dict[str, WaitRecord]:
    """A pool with a sample, and a waiting unit of two teams and of nobody."""
    del sign_in
    now = datetime.now(UTC)
    PoolSample.objects.create(
        cluster=story.cluster,
        since=now - 120 * MINUTE,
        until=now - MINUTE,
        waiting=12,
        refused=4,
        held_back=0,
        work=3,
        capacity=32,
        available=5,
        fitting=2,
        fitting_held=3,
        **POOL,
    )
    own = record(
        story,
        "vision",
        "vision-train",
        start_word="hour",
        start_like=18,
        start_kept=17,
    )
    other = record(story, "search", "search-train", cause="taint", position=2, units=8)
    return {"own": own, "other": other}


def text(answer: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html_of(answer)).split())


def test_a_lead_sees_own_work_with_names_and_others_as_counts(
    queues: dict[str, WaitRecord], sign_in: SignIn
) -> None:
    del queues
    answer = sign_in("luis").get("/queues")
    assert not re.search(
        r"<t[dh][^>]*>vision\b(?!-)", html_of(answer)
    )  # a name, no slug
    assert '<th scope="row">Vision</th>' in html_of(answer)
    page = text(answer)
    assert "vision-train" in page
    assert "1 of 3" in page
    assert "Likely within an hour 17 of 18 such waits" in page
    assert "search-train" not in page
    assert "Other teams batch" in page
    pools = text(sign_in("luis").get("/gpus/pools"))
    assert "As of the last observation, " in pools
    assert "Estimated starts" not in pools, "no error is measured in any pool"
    assert "3 not admitted" in pools
    whole = text(sign_in("ana").get("/queues"))
    assert "search-train" in whole
    assert "Not before this is changed" in whole
    for address in ("/queues", "/gpus/pools"):
        nobody = text(sign_in("omar").get(address))
        assert "You are not in a team yet" in nobody
        assert MODEL not in nobody


def test_the_chart_begins_with_the_first_observation(
    queues: dict[str, WaitRecord], sign_in: SignIn
) -> None:
    del queues
    sample = PoolSample.objects.get()
    page = sign_in("ana").get("/gpus/pools")
    assert len(page.context["chart"].rows) == 24
    assert "Hourly averages since the first observation" in text(page)
    assert page.context["chart"].legend[-1].name == "No data"
    sample.since = sample.until - timedelta(days=3)
    sample.save()
    page = sign_in("ana").get("/gpus/pools")
    assert len(page.context["chart"].rows) in (72, 73)
    sample.since = sample.until - timedelta(days=8)
    sample.save()
    page = sign_in("ana").get("/gpus/pools")
    assert len(page.context["chart"].rows) == 7 * 24
    assert "Hourly averages of 7 days" in text(page)
    assert [one.name for one in page.context["chart"].legend] == list(LINES)


def test_a_unit_of_another_team_is_not_there(
    queues: dict[str, WaitRecord], sign_in: SignIn
) -> None:
    luis = sign_in("luis")
    page = text(luis.get(f"/queues/{queues['own'].pk}"))
    assert "Admitted" in page
    assert "30 min admission" in page
    assert luis.get(f"/queues/{queues['other'].pk}").status_code == 404
    assert sign_in("ana").get(f"/queues/{queues['other'].pk}").status_code == 200
    assert luis.get("/queues?team=search").status_code == 404


def test_what_was_not_observed_is_not_known_and_never_a_number(
    story: Story, queues: dict[str, WaitRecord], sign_in: SignIn
) -> None:
    now = timezone.now()
    runs = {"stage": "", "cause": "", "position": None, "waits_since": None}
    old = {"created_at": now - timedelta(days=28), "admitted_at": None}
    begun = {
        "bound_at": now - timedelta(days=28),
        "started_at": now - timedelta(days=28),
    }
    unseen = record(story, "vision", "unseen", **(runs | old | begun))
    page = text(sign_in("luis").get(f"/queues/{unseen.pk}"))
    assert "Admitted Unknown: before observation began" in page
    assert "First busy Unknown: before observation began" in page
    assert "warm-up" not in page
    unseen.quiet_until = now
    unseen.save()
    assert "First busy Not yet" in text(sign_in("luis").get(f"/queues/{unseen.pk}"))
    refused = queues["own"]
    refused.stage, refused.cause = "refused", "quota"
    refused.save()
    page = text(sign_in("luis").get(f"/queues/{refused.pk}"))
    assert "Admitted Not admitted" in page
    assert "admission" not in page
    assert "Bound Not yet" in page


def test_the_error_of_estimates_is_shown_from_twenty_on(
    story: Story, queues: dict[str, WaitRecord], sign_in: SignIn
) -> None:
    del queues
    for number in range(19):
        bound(story, number, off=30 * MINUTE)
    store_summaries(story.cluster, timezone.now())
    assert "Estimated starts" not in text(sign_in("luis").get("/gpus/pools"))
    bound(story, 19, off=30 * MINUTE)
    store_summaries(story.cluster, timezone.now() + 11 * MINUTE)
    page = text(sign_in("luis").get("/gpus/pools"))
    assert "Off by 30 min (median of 20); the range held in 100" in page


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            {"start_word": "few", "start_like": 2},
            "only 2 similar waits lasted this long; 10 are needed",
        ),
        (
            {"start_word": "few", "start_like": 0},
            "no similar wait lasted this long; 10 are needed",
        ),
        ({"start_word": "endless"}, "No estimate running work has no end"),
        (
            {"start_word": "long", "start_like": 30, "start_kept": 0},
            "within a day: 0 of 30 such waits",
        ),
        ({"start_word": "evening", "start_like": 10, "start_kept": 9}, "by this eve"),
        ({"start_word": ""}, "No estimate"),
    ],
)
def test_a_start_is_said_in_words_and_never_as_a_date(
    queues: dict[str, WaitRecord],
    sign_in: SignIn,
    said: dict[str, Any],
    shown: str,
) -> None:
    row = queues["own"]
    row.start_at = row.low_at = timezone.now() + timedelta(days=20)
    row.high_at = row.start_at + timedelta(days=5)
    for name, value in said.items():
        setattr(row, name, value)
    row.save()
    day = short_day(row.start_at)
    for address in ("/queues", f"/queues/{row.pk}", "/teams/vision"):
        page = text(sign_in("luis").get(address))
        assert shown in page, address
        assert day not in page, address


def test_a_time_of_day_is_shown_only_if_its_whole_range_is_today(
    queues: dict[str, WaitRecord], sign_in: SignIn
) -> None:
    row = queues["own"]
    noon = timezone.now().replace(hour=12, minute=0)  # one day in all zones of people
    row.low_at, row.start_at, row.high_at = noon, noon + MINUTE, noon + 90 * MINUTE
    row.save()
    with time_machine.travel(noon, tick=False):
        page = text(sign_in("ana").get(f"/queues/{row.pk}"))
    assert re.search(r"about \d\d:01 between \d\d:00 and \d\d:30", page)
    row.high_at = noon + timedelta(days=1)
    row.save()
    with time_machine.travel(noon, tick=False):
        page = text(sign_in("ana").get(f"/queues/{row.pk}"))
    assert "about" not in page
    assert "Likely within an hour" in page


def test_waits_by_tier_are_percentiles_of_bound_units(
    story: Story, queues: dict[str, WaitRecord], sign_in: SignIn
) -> None:
    del queues
    for number in range(1, 21):
        bound(story, number, off=MINUTE)
    store_summaries(story.cluster, timezone.now())
    (row,) = sign_in("luis").get("/api/v1/wait-times").json()["rows"]
    assert (row["tier"], row["units"]) == ("batch", 20)
    assert (row["wait_p50_ms"], row["wait_p95_ms"]) == (600_000, 1_140_000)
    assert (row["admission_p50_ms"], row["startup_p50_ms"]) == (0, None)


def test_rows_over_rest_are_those_of_the_page(
    queues: dict[str, WaitRecord], sign_in: SignIn
) -> None:
    luis, ana = sign_in("luis"), sign_in("ana")
    (row,) = luis.get("/api/v1/queued-units").json()["rows"]
    assert (row["name"], row["position"], row["of"], row["units"]) == (
        "vision-train",
        1,
        3,
        4,
    )
    assert row["number"] == queues["own"].pk
    said = row["start"], row["start_waits"], row["start_waits_kept"]
    assert said == ("hour", 18, 17)
    assert row["estimated_start"] is None
    assert len(ana.get("/api/v1/queued-units").json()["rows"]) == 2
    (pool,) = luis.get("/api/v1/resource-pools").json()["rows"]
    assert (pool["depth"], pool["available"], pool["fitting"]) == (16, 5, 2)
    assert pool["estimate_error_ms"] is None
    assert sign_in("omar").get("/api/v1/resource-pools").json()["rows"] == []


def test_a_page_takes_few_queries_however_much_waits(
    story: Story,
    queues: dict[str, WaitRecord],
    sign_in: SignIn,
    django_assert_max_num_queries: Any,
) -> None:
    del queues
    for number in range(50):
        record(story, "vision", f"more-{number}")
    with django_assert_max_num_queries(33):
        assert sign_in("luis").get("/queues").status_code == 200


@pytest.mark.usefixtures("db")
def test_work_that_waits_for_the_same_is_one_row(story: Story, sign_in: SignIn) -> None:
    for number in range(40):
        record(story, "search", f"full-{number}", units=2)
    oldest = record(
        story, "search", "oldest", waits_since=timezone.now() - 600 * MINUTE
    )
    record(story, "search", "quota", cause="quota", stage="refused", units=1)
    record(story, "vision", "other", units=9)
    change = {"change": "end_pod", "pod": "search-prod/holder-0"}
    UnitWait.objects.create(
        cluster=story.cluster,
        kind="Job",
        namespace="search-prod",
        name="oldest",
        stage="unschedulable",
        cause="no_free_gpu",
        cause_since=timezone.now(),
        changed_at=timezone.now(),
        digest="x",
        content={**CONTENT, "starts_if": [change]},
    )
    record(story, "vision", "odd", cause="other", units=0)
    page = html_of(sign_in("ana").get("/queues"))
    assert "Not before this is changed" not in page, "nobody knows what to change"
    assert "with the most GPUs are shown" not in page, "all reasons are"
    card = page[page.index('id="reasons-title"') : page.index('id="queued-title"')]
    found = [
        [
            " ".join(re.sub(r"<[^>]+>", " ", cell).split())
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        ]
        for row in re.findall(r"<tr>(.*?)</tr>", card, re.DOTALL)[1:]
    ]
    assert [(row[1], row[3], row[4]) for row in found] == [
        ("Search", "41", "84"),
        ("Vision", "1", "9"),
        ("Search", "1", "1"),
        ("Vision", "1", "0"),
    ]
    assert "The pod search-prod/holder-0 ends" in found[0][6]
    assert f"/queues/{oldest.pk}" in card
    assert found[2][0] == "The quota is used up"
    lead = html_of(sign_in("luis").get("/queues"))
    assert "holder-0" not in lead


@pytest.mark.usefixtures("db")
def test_reasons_that_are_left_out_are_said(story: Story, sign_in: SignIn) -> None:
    for number in range(11):
        record(story, "search", f"one-{number}", model=f"model-{number}")
    page = text(sign_in("ana").get("/queues"))
    assert "The 10 with the most GPUs are shown." in page


def test_steps_are_those_of_the_pods_that_wait(story: Story, sign_in: SignIn) -> None:
    """A service ran for days; one of its pods waits for 20 minutes."""
    now = timezone.now()
    row = record(
        story,
        "vision",
        "serve",
        created_at=now - timedelta(days=9),
        admitted_at=now - timedelta(days=9),
        bound_at=now - timedelta(days=8),
        started_at=now - timedelta(days=8),
        first_busy_at=now - timedelta(days=7),
        waits_since=now - 20 * MINUTE,
    )
    page = text(sign_in("ana").get(f"/queues/{row.pk}"))
    ago = (timedelta(days=7), 20 * MINUTE)  # the latter may be yesterday
    old, new = (short_day((now - time).astimezone(ZONE)) for time in ago)
    steps = page[page.index("Step At") :]
    assert f"Created {new}" in steps
    assert f"Admitted {new}" in steps
    assert "Bound Not yet Started Not yet First busy Not yet" in steps
    assert old not in steps
    assert "The steps are those of its waiting pods. Its first pod was bound" in page


def test_a_pod_that_starts_has_a_node_of_its_own(story: Story, sign_in: SignIn) -> None:
    now = timezone.now()
    row = record(
        story,
        "vision",
        "serve",
        stage="starting",
        cause="starting",
        created_at=now - timedelta(days=9),
        bound_at=now - timedelta(days=8),
        started_at=now - timedelta(days=8),
        waits_since=now - 20 * MINUTE,
    )
    page = text(sign_in("ana").get(f"/queues/{row.pk}"))
    assert (
        "Bound Unknown: before observation began Started Not yet First busy Not yet"
    ) in page


def test_work_that_no_node_can_take_has_no_position(
    story: Story, sign_in: SignIn
) -> None:
    record(story, "vision", "huge", cause="too_big", position=None, count=None)
    assert "No node can take it" in text(sign_in("ana").get("/queues"))
