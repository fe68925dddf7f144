"""Before and after: the ledger's totals, marks of what was changed, bad addresses, and the file.

Not here: rules (`tests/unit/before_after/`), who may open it (`tests/integration/access/`).
"""

import csv
import io
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
import time_machine
from django.test import Client

from accounting.access.scope import EVERYTHING
from accounting.core.billing_calendar import DAY, DayRange
from accounting.core.interval import DAY_MS, Interval
from accounting.core.ledger_line import STATES
from accounting.core.money import amount_of
from accounting.kit.reads.selection import Selection
from accounting.kit.tags.units import day as day_text
from accounting.kit.tags.units import days as days_text
from accounting.metering.models.cluster import Gpu, GpuPresence, Node
from accounting.usage.reads.ledger import ledger_total
from accounting.usage.rules.totals import state_amounts
from scheduler_view.before_after.pages.chart import marked
from scheduler_view.before_after.reads import MarkKind, marks_of
from scheduler_view.changes.models import ChangeSet, ChangeState, ChangeStep
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import ZONE, Story

DAYS = (
    "before_first=2026-10-12&before_last=2026-10-25"
    "&after_first=2026-11-02&after_last=2026-11-15"
)
BEFORE = DayRange(date(2026, 10, 12), date(2026, 10, 26))
AFTER = DayRange(date(2026, 11, 2), date(2026, 11, 16))


@pytest.fixture(autouse=True)
def frozen(story: Story, db: None) -> Iterator[None]:
    del story, db
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def ana(sign_in: SignIn) -> Client:
    return sign_in("ana")


def test_parts_come_to_the_totals_of_the_ledger(ana: Client) -> None:
    """Time to the millisecond, money to the cent, on the page and in its file."""
    context = ana.get(f"/before-after?{DAYS}").context
    rows = list(
        csv.DictReader(
            io.StringIO(ana.get(f"/before-after?{DAYS}&csv=1").content.decode())
        )
    )
    file = {row["figure"]: row for row in rows}
    for side, days in (("before", BEFORE), ("after", AFTER)):
        whole = ledger_total(Selection(EVERYTHING, days.period(ZONE)))
        cents = state_amounts(whole, 2).values()
        charge = sum((one.amount for one in cents if one), Decimal(0))
        total, lines = context["total"], context["money"]
        assert getattr(total, side).amount == charge
        assert getattr(total, f"{side}_ms") == whole.wall_ms
        assert sum(getattr(one, f"{side}_ms") for one in lines) == whole.wall_ms
        assert Decimal(file["total_cost"][side]) == charge
        assert int(file["total_ms"][side]) == whole.wall_ms
        figures = context[side]
        assert figures.total.milliseconds == whole.milliseconds
        drawn = context["chart"].figure["data"][:4]
        start = 0 if side == "before" else BEFORE.days
        parts = [one["y"][start : start + days.days] for one in drawn]
        shown = sum(value or 0 for part in parts for value in part)
        assert shown == pytest.approx(
            float(amount_of(whole.charge_of(STATES)) or 0), abs=0.01
        )


def test_parts_of_the_change_of_cost_come_to_it(ana: Client) -> None:
    """On the page to the cent, in the file to its six places."""
    answer = ana.get(f"/before-after?{DAYS}")
    lines = {line.label: line for line in answer.context["lines"]}
    cost, hours, price = (
        _amount(lines[label].change)
        for label in (
            "Cost a month",
            "Of it by GPU-hours",
            "Of it by the price of a GPU-hour",
        )
    )
    assert hours + price == cost != 0
    shown = lines["Cost a month"]
    assert _amount(shown.after) - _amount(shown.before) == cost
    text = ana.get(f"/before-after?{DAYS}&csv=1").content.decode()
    file = {row["figure"]: row for row in csv.DictReader(io.StringIO(text))}
    parts = [
        Decimal(file[f"cost_change_by_{name}_per_month"]["after"])
        for name in ("hours", "price")
    ]
    month = file["cost_per_month"]
    assert sum(parts) == Decimal(month["after"]) - Decimal(month["before"])


def _amount(text: str) -> Decimal:
    plain = text.replace("\N{MINUS SIGN}", "-").replace("+", "")
    return Decimal("".join(one for one in plain if one in "-.0123456789"))


def test_changes_are_marked_where_they_were_made(ana: Client, story: Story) -> None:
    change = applied(story, datetime(2026, 11, 2, 23, 30, tzinfo=UTC))
    node = Node.objects.create(cluster=story.cluster, name="new-1")
    for number in range(3):
        gpu = Gpu.objects.create(
            cluster=story.cluster, uuid=f"GPU-new-{number}", model="NVIDIA-L4"
        )
        at = int(datetime(2026, 10, 28, 9, tzinfo=UTC).timestamp() * 1000)
        GpuPresence.objects.create(gpu=gpu, node=node, start_ms=at)
    context = ana.get(f"/before-after?{DAYS}").context
    found = {line.mark.kind: line for line in context["marks"]}
    assert found[MarkKind.CHANGE].mark.day == date(2026, 11, 3)  # in Berlin
    assert found[MarkKind.CHANGE].text.startswith(f"CS-{change.pk}: ")
    assert found[MarkKind.FLEET].text == "+3 L4"
    numbers = [one["text"] for one in context["chart"].figure["layout"]["annotations"]]
    assert ", ".join(numbers).split(", ") == [
        str(one.number) for one in context["marks"]
    ]
    around = ana.get(f"/before-after?change={change.pk}").context
    assert around["before"].days == DayRange(date(2026, 10, 20), date(2026, 11, 3))
    assert around["after"].days == DayRange(date(2026, 11, 4), date(2026, 11, 18))


def test_a_node_that_restarts_is_no_change_of_the_fleet(story: Story) -> None:
    node = Node.objects.create(cluster=story.cluster, name="new-1")
    gpu = Gpu.objects.create(cluster=story.cluster, uuid="GPU-new", model="NVIDIA-L4")
    at = int(datetime(2026, 10, 28, 9, tzinfo=UTC).timestamp() * 1000)
    GpuPresence.objects.create(gpu=gpu, node=node, start_ms=0, end_ms=at)
    GpuPresence.objects.create(gpu=gpu, node=node, start_ms=at + 60_000)
    found = marks_of(EVERYTHING, BEFORE.first, AFTER.after, ZONE, story.since)
    assert not [one for one in found if one.kind is MarkKind.FLEET]
    early = Interval(0, DAY_MS).end.date()
    first = marks_of(EVERYTHING, early, AFTER.after, ZONE, story.since)
    day = story.since.astimezone(ZONE).date()
    assert day not in {one.day for one in first if one.kind is MarkKind.FLEET}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("change=99", "was not applied"),
        ("change=<script>", "was not applied"),
        ("before_first=x", "first and a last day"),
        (
            DAYS.replace("2026-10-12", "2026-10-30"),
            "period before, 30 Oct 2026, is after its last day, 25 Oct 2026",
        ),
        (
            DAYS.replace("2026-11-15", "2026-11-01"),
            "period after, 2 Nov 2026, is after its last day, 1 Nov 2026",
        ),
        (
            DAYS.replace("2026-11-02", "2026-10-12").replace("11-15", "10-25"),
            "The two periods are the same",
        ),
        (DAYS.replace("before", "x").replace("after", "before"), "Not a day: After, f"),
        (DAYS.replace("2026-11-02", "2026-10-20"), "before the second one begins"),
        (DAYS.replace("2026-10-12", "2020-01-01"), "at most 366 days"),
        (DAYS.replace("2026-11-15", "9998-12-31"), "at most 366 days"),
        (DAYS.replace("2026-11-15", "9999-12-31"), "Not a day: After, last day"),
        (DAYS.replace("2026-10-12", "0001-01-01"), "Not a day: Before, first day"),
    ],
)
def test_bad_addresses_say_what_is_wrong(ana: Client, query: str, words: str) -> None:
    answer = ana.get("/before-after", query_params=dict(_pairs(query)))
    assert answer.status_code == 200
    html = html_of(answer)
    assert words in html
    assert "lines" not in answer.context  # nothing else is compared instead
    for name, text in _pairs(query):
        if name.startswith(("before_", "after_")):
            assert f'name="{name}" value="{text}"' in " ".join(html.split())
    file = ana.get("/before-after", query_params={**dict(_pairs(query)), "csv": "1"})
    assert file.status_code == 400


def _pairs(query: str) -> Iterator[tuple[str, str]]:
    for part in query.split("&"):
        name, _, value = part.partition("=")
        yield name, value


def test_days_without_data_have_no_story(ana: Client) -> None:
    query = (
        "before_first=2020-01-01&before_last=2020-01-31"
        "&after_first=2026-11-02&after_last=2026-11-15"
    )
    answer = ana.get(f"/before-after?{query}")
    assert not answer.context["sentences"]
    doubt = answer.context["doubts"][0]
    name = days_text(answer.context["before"].days)
    assert doubt.startswith(f"{name}: no data before ")
    assert doubt in html_of(answer)
    for line in answer.context["lines"]:
        assert (line.before, line.change) == ("No data", "—")
    total = answer.context["total"]
    assert (total.before, total.before_ms) == (None, None)
    assert answer.context["chart"].rows[0][1:] == ("No data",) * 5


def applied(story: Story, at: datetime) -> ChangeSet:
    """A change set that wrote one object."""
    change = ChangeSet.objects.create(
        cluster=story.cluster,
        state=ChangeState.APPLIED,
        author_name="ana",
        reason="Fewer idle GPUs",
        applied_at=at,
    )
    ChangeStep.objects.create(
        change_set=change,
        position=1,
        kind="ResourceQuota",
        name="x",
        state="applied",
        action="create",
    )
    return change


@pytest.mark.parametrize("days", [0, 1])
def test_a_change_without_a_whole_day_after_it_is_too_early(
    ana: Client, story: Story, days: int
) -> None:
    at = NOW - timedelta(days=days)
    change = applied(story, at)
    day = at.astimezone(ZONE).date()
    answer = ana.get(f"/before-after?change={change.pk}")
    html = " ".join(html_of(answer).split())
    assert (
        f"CS-{change.pk} was applied on {day_text(day)}. The first complete day after it is "
        f"{day_text(day + DAY)}: it can be compared from {day_text(day + 2 * DAY)}."
    ) in html
    assert "There is nothing to compare yet" in html
    assert "No price" not in html
    assert "<select" not in html.split("<main")[1]  # there is no other one
    assert ana.get(f"/before-after?change={change.pk}&csv=1").status_code == 400
    applied(story, NOW - timedelta(days=2))
    html = " ".join(html_of(ana.get("/before-after")).split())
    assert f'<option value="{change.pk}" disabled>' in html
    assert f"(can be compared from {day_text(day + 2 * DAY)})" in html


def test_the_day_of_a_change_is_on_the_line_between(ana: Client, story: Story) -> None:
    change = applied(story, NOW - timedelta(days=2))
    context = ana.get(f"/before-after?change={change.pk}").context
    assert (context["before"].days.days, context["after"].days.days) == (1, 1)
    places = {
        one["text"]: one["x"]
        for one in context["chart"].figure["layout"]["annotations"]
    }
    [line] = [one for one in context["marks"] if one.mark.number == change.pk]
    [place] = [x for text, x in places.items() if str(line.number) in text.split(", ")]
    assert place == 0.5
    assert marked(1) == "1 change is marked."
