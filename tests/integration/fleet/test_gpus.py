"""GPUs: the grid's filter and span, free blocks, and the money of one GPU."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
import time_machine
from django.db import connection

from accounting.access.scope import EVERYTHING
from accounting.core.interval import DAY_MS, Interval
from accounting.fleet.pages import fleet
from accounting.kit.reads.selection import Selection, stored_period
from accounting.metering.models.cluster import Gpu
from accounting.usage.pages.spans import newest_facts
from accounting.usage.reads.ledger import ledger_rows
from accounting.usage.reads.usage import usage_rows
from tests.euros import added, eur, number
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import ZONE, Story

pytestmark = pytest.mark.usefixtures("story", "db")


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


def held_gpu(story: Story) -> str:
    """A GPU that a team with a price held all the time."""
    held = next(h for h in story.held if h.team and h.team.slug == "vision")
    return str(held.gpus[0].uuid)


def test_the_money_of_a_gpu_is_all_of_its_time(sign_in: SignIn, story: Story) -> None:
    uuid = held_gpu(story)
    context = sign_in("ana").get(f"/gpus/{uuid}?range=last-7-days").context
    period: Interval = context["period"]
    assert 0 < period.length_ms <= 3 * DAY_MS
    selection = Selection(EVERYTHING, period, {"gpu": (uuid,)})
    (ledger,) = ledger_rows(selection, ("gpu",))
    earned = context["earned"]
    assert earned.milliseconds == ledger.wall_ms == period.length_ms
    assert number(earned.charge) == round(number(ledger.wall_charge), 2)
    assert number(earned.charge) == added(line.charge for line in earned.lines)
    team = usage_rows(selection, ("team",))
    assert [line.name for line in earned.lines] == ["Vision", "Platform"]
    assert earned.lines[0].milliseconds == team[0].allocated_ms
    no_data = next(one for one in context["capacity"].groups if one.name == "No data")
    free = context["capacity"].unallocated.milliseconds
    platform = earned.lines[-1]
    assert platform.milliseconds == free + platform.dark_ms  # the cards differ by this
    assert platform.dark_ms <= no_data.milliseconds
    assert context["capacity"].wall_ms == ledger.wall_ms


def test_a_gpu_without_a_price_has_no_total(sign_in: SignIn) -> None:
    bare = Gpu.objects.filter(model="NVIDIA-A10").order_by("uuid")[0]
    answer = sign_in("ana").get(f"/gpus/{bare.uuid}?range=last-7-days")
    assert answer.context["earned"].charge is None
    assert "No price" in html_of(answer)


def test_each_stretch_says_what_its_explanation_says(
    sign_in: SignIn, story: Story
) -> None:
    client = sign_in("ana")
    answer = client.get(f"/gpus/{held_gpu(story)}?range=last-7-days")
    context = answer.context
    assert ">Vision</span>" in html_of(answer)
    assert "by=team,pod" in html_of(answer)
    (one,) = context["stretches"]
    team, _ = context["earned"].lines
    assert round(number(one.row.charge), 2) == number(team.charge)
    explained = client.get(
        "/explain",
        {
            "what": "charge",
            "gpu": held_gpu(story),
            "pod": one.pod,
            "namespace": one.namespace,
            "since": one.since,
            "until": one.until,
        },
    )
    assert f"{number(one.row.charge):,.2f} EUR" in html_of(explained)
    half = {"since": one.since, "until": "2026-11-20T00:00:00Z"}
    less = client.get("/explain", {"what": "charge", "gpu": held_gpu(story), **half})
    assert f"{number(one.row.charge):,.2f} EUR" not in html_of(less)


@pytest.mark.parametrize(
    "wrong",
    [
        {"since": "2026-11-20T00:00:00Z"},
        {"since": "2026-11-20T00:00:00Z", "until": "2026-11-20T00:03:00Z"},
        {"since": "2026-11-20T00:00:00Z", "until": "2026-11-19T00:00:00Z"},
        {"since": "nonsense", "until": "2026-11-20T00:05:00Z"},
    ],
)
def test_a_stretch_that_is_none_is_not_explained(
    sign_in: SignIn, wrong: dict[str, str]
) -> None:
    assert (
        sign_in("ana").get("/explain", {"what": "charge", **wrong}).status_code == 404
    )


def test_a_stretch_of_another_team_explains_nothing(
    sign_in: SignIn, story: Story
) -> None:
    other = next(h for h in story.held if h.team and h.team.slug == "language")
    asked = {
        "what": "charge",
        "gpu": other.gpus[0].uuid,
        "pod": other.pod.name,
        "since": "2026-11-20T00:00:00Z",
        "until": "2026-11-20T12:00:00Z",
    }
    nothing = "0.00 GPU-h at its rates = 0.00"
    assert nothing in html_of(sign_in("luis").get("/explain", asked))
    assert nothing not in html_of(sign_in("ana").get("/explain", asked))


def test_measures_are_those_of_the_windows(sign_in: SignIn, story: Story) -> None:
    context = sign_in("ana").get(f"/gpus/{held_gpu(story)}?range=last-7-days").context
    assert [one.name for one in context["measures"]] == ["busy", "memory", "power"]
    assert {one.css for one in context["measures"]} == {"s4"}
    memory = context["measures"][1].chart
    assert memory.sentence == "Always 39.1 GiB. Dotted: peak."
    assert {row[1:] for row in memory.rows} == {("39.1", "64.0")}
    busy = context["measures"][0].chart
    selection = Selection(EVERYTHING, context["period"], {"gpu": (held_gpu(story),)})
    shown = [float(row[1]) for row in busy.rows]
    expected = [
        round(100 * row.efficiency, 1)
        for row in usage_rows(selection, ("hour",))
        if row.efficiency is not None
    ]
    assert shown == pytest.approx(expected, abs=0.06)
    bare = next(h for h in story.held if h.workload.name == "scoring")
    without = sign_in("ana").get(f"/gpus/{bare.gpus[0].uuid}?range=last-7-days")
    assert [one.name for one in without.context["measures"]] == ["busy"]


def test_an_hour_in_which_nobody_held_a_gpu_is_not_missing_data(
    sign_in: SignIn, story: Story
) -> None:
    gpu = held_gpu(story)
    hour = story.until.replace(minute=0) - timedelta(hours=3)
    of_hour: list[datetime | str] = [hour, hour + timedelta(hours=1), gpu]
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE usage_window SET pod_id = 0, busy_ms = 0, idle_ms = 0,
                   unknown_ms = 0, free_ms = 300000
               WHERE window_start >= %s AND window_start < %s
                 AND gpu_id = (SELECT id FROM accounting_gpu WHERE uuid = %s)""",
            of_hour,
        )
        cursor.execute(
            """UPDATE intensity_window SET memory_seen_us = 0, power_seen_us = 0
               WHERE window_start >= %s AND window_start < %s
                 AND gpu_id = (SELECT id FROM accounting_gpu WHERE uuid = %s)""",
            of_hour,
        )
    context = sign_in("ana").get(f"/gpus/{gpu}?range=last-7-days").context
    busy, memory, power = (one.chart.rows for one in context["measures"])
    label = f"{hour.astimezone(ZONE):%a %-d %b %H:%M}"
    assert (label, "Not held") in busy
    assert (label, "Not held", "Not held") in memory
    assert (label, "No data") in power  # measured without a holder, too


def test_a_gpu_that_nobody_held_says_so(sign_in: SignIn, story: Story) -> None:
    held = {gpu.pk for one in story.held for gpu in one.gpus}
    bare = Gpu.objects.exclude(pk__in=held).order_by("uuid")[0]
    answer = sign_in("ana").get(f"/gpus/{bare.uuid}?range=last-7-days")
    page = html_of(answer)
    assert "No pod held this GPU in this period" in page
    assert "No measurements for this time" in page
    (row, errors) = answer.context["lanes"].rows
    assert {bar.look for bar in row.bars} == {"free"}
    assert errors.text == "none seen"


def test_a_cell_of_the_grid_names_its_holder(sign_in: SignIn) -> None:
    page = html_of(sign_in("ana").get("/gpus"))
    assert "held now by scoring-0" in page
    assert 'held now by "' not in page


def test_a_model_filters_grid_and_table(sign_in: SignIn) -> None:
    context = sign_in("ana").get("/gpus?model=NVIDIA-A10").context
    assert context["count"] == Gpu.objects.filter(model="NVIDIA-A10").count()
    assert {line.model for node in context["nodes"] for line in node.lines} == {
        "NVIDIA-A10"
    }
    assert [chip.value for chip in context["chips"]] == ["NVIDIA-A10"]
    none = html_of(sign_in("ana").get("/gpus?model=NVIDIA-NONE"))
    assert "GPU model is NVIDIA-NONE" in none


def test_a_long_range_is_cut_and_says_so(sign_in: SignIn) -> None:
    client = sign_in("ana")
    answer = client.get("/gpus?range=last-28-days")
    stored = stored_period()
    assert stored is not None
    assert answer.context["state"].is_cut
    assert answer.context["period"] == newest_facts(stored, 7 * DAY_MS)
    words = "Detail by GPU is kept for 35 days, so this begins on "
    assert words in html_of(answer)
    assert not client.get("/gpus?range=today").context["state"].is_cut


def test_a_range_whose_facts_are_gone_says_so(sign_in: SignIn, story: Story) -> None:
    client = sign_in("ana")
    gone = "from=2026-10-15&to=2026-10-20"
    words = "Detail by GPU is kept for 35 days, from 19 Nov 2026"
    grid = html_of(client.get(f"/gpus?{gone}"))
    assert words in grid
    assert "No data" not in grid
    assert 'href="/gpus">Show the last 24 hours' in grid
    one = client.get(f"/gpus/{held_gpu(story)}?{gone}")
    assert one.status_code == 200
    assert words in html_of(one)
    assert one.context["earned"] is None
    member = sign_in("luis").get(f"/gpus?{gone}")
    assert member.status_code == 200
    assert member.context["count"] == 0


def test_only_the_newest_part_of_a_period_is_taken() -> None:
    stored = stored_period()
    assert stored is not None
    whole = Interval(stored.start_ms - DAY_MS, stored.end_ms + DAY_MS)
    assert newest_facts(whole, 90 * DAY_MS) == stored
    assert newest_facts(whole, 3_600_000).length_ms == 3_600_000
    before = Interval(stored.start_ms - 2 * DAY_MS, stored.start_ms - DAY_MS)
    assert newest_facts(before, DAY_MS).length_ms == 0


def test_states_of_the_grid_are_those_of_the_ledger(sign_in: SignIn) -> None:
    answer = sign_in("ana").get("/gpus?range=last-7-days")
    period = answer.context["period"]
    rows = ledger_rows(replace(Selection(EVERYTHING), period=period), ("gpu",))
    expected = {
        row.key["gpu"]: row.milliseconds["busy"]
        / (row.milliseconds["busy"] + row.milliseconds["idle"])
        for row in rows
        if row.milliseconds["busy"] + row.milliseconds["idle"]
    }
    lines = [line for node in answer.context["nodes"] for line in node.lines]
    assert {line.uuid: line.busy for line in lines if line.busy is not None} == expected


def test_money_is_that_of_the_ledger_and_sorts_the_table(sign_in: SignIn) -> None:
    context = sign_in("ana").get("/gpus?sort=-earned").context
    selection = Selection(EVERYTHING, context["period"])
    rows = {row.key["gpu"]: row for row in ledger_rows(selection, ("gpu",))}
    earned = []
    for line in context["page"].lines:
        charges = rows[line.uuid].charges
        held = [charges[state] for state in ("busy", "idle", "unknown")]
        known = None if None in held else eur(added(held))
        assert line.money.earned == known
        assert line.money.capacity == rows[line.uuid].wall_charge
        earned.append(known)
    priced = [amount for amount in earned if amount is not None]
    assert priced == sorted(priced, key=number, reverse=True)
    assert len(priced) > 1
    assert earned[: len(priced)] == priced  # those without a price come last


def test_money_of_very_many_gpus_does_not_sort(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "MOST_PRICED", 3)
    answer = sign_in("ana").get("/gpus?sort=-earned")
    assert "To sort by an amount, filter to at most 3 GPUs." in html_of(answer)
    lines = answer.context["page"].lines
    assert [line.node for line in lines] == sorted(line.node for line in lines)
    assert all(line.money is not None for line in lines)


def test_a_word_filters_grid_table_and_timeline(sign_in: SignIn) -> None:
    client = sign_in("ana")
    context = client.get("/gpus?q=GPU-02&view=timeline").context
    assert context["shown"] == 8
    assert {line.node for line in context["page"].lines} == {"gpu-02"}
    assert list(context["timeline"].rows) == [
        line.uuid for line in context["page"].lines
    ]
    held = client.get("/gpus?q=sweep-resnet").context
    assert 0 < held["shown"] < held["count"]
    assert all(line.held for line in held["page"].lines)
    none = client.get("/gpus?q=nothing-like-it")
    assert "No GPU matches “nothing-like-it”" in html_of(none)
    assert "sweep-resnet" not in html_of(sign_in("luis").get("/gpus?q=rerank"))


def test_the_timeline_adds_up_to_what_teams_held(sign_in: SignIn, story: Story) -> None:
    context = sign_in("ana").get("/gpus?view=timeline&rows=250&over=hour").context
    timeline = context["timeline"]
    held: dict[str, int] = {}
    for one in timeline.stretches:
        held[one.team.slug] = held.get(one.team.slug, 0) + one.times.allocated_ms
    selection = Selection(EVERYTHING, context["period"])
    assert held == {
        row.key["team"]: row.allocated_ms for row in usage_rows(selection, ("team",))
    }
    assert len(timeline.rows) == Gpu.objects.count()
    slots = {team.name: team.colour_slot for team in story.teams.values()}
    named = {key.name: key.slot for key in timeline.legend}
    assert named == {**slots, "Unmapped": 0, "Unallocated": 0}


def test_members_see_their_own_bars_only(sign_in: SignIn) -> None:
    answer = sign_in("luis").get("/gpus?view=timeline")
    timeline = answer.context["timeline"]
    assert {one.team.slug for one in timeline.stretches} == {"vision"}
    assert {bar.look for row in timeline.rows.values() for bar in row.bars} == {"held"}
    page = html_of(answer)
    assert "sweep-resnet" in page
    for hidden in ("rerank-serving", "Language", "pretrain-13b", "Capacity cost"):
        assert hidden not in page


def test_a_large_grid_is_shown_by_pages_of_nodes(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "GRID_NODES", 5)
    answer = sign_in("ana").get("/gpus?nodes=3")
    assert len(answer.context["nodes"]) == 12
    assert len(answer.context["grid"].lines) == 2
    assert 'aria-label="Nodes"' in html_of(answer)
    assert "nodes=2" in html_of(answer)
