"""Who holds a GPU now and in a range, how many there are, and where a pod would fit."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection, transaction

from accounting.core.interval import DAY_MS, HOUR_MS, Interval, to_ms
from accounting.kit.reads.selection import stored_period
from accounting.metering.models.cluster import GpuPresence, NodeFact
from accounting.usage.pages.spans import newest_facts
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import Held, Story

pytestmark = pytest.mark.usefixtures("story", "db")
THEN = NOW - timedelta(hours=6)
MIDNIGHT = datetime(2026, 11, 19, 23, tzinfo=UTC)  # in Berlin


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def sweep(story: Story) -> Iterator[Held]:
    """Vision's sweep gave its GPUs back six hours ago."""
    held = next(one for one in story.held if one.workload.name == "sweep-resnet")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM usage_window WHERE pod_id = %s AND window_start >= %s",
            [held.pod.pk, THEN],
        )
        yield held
        transaction.set_rollback(True)


def test_a_lead_and_an_admin_read_the_same_holder(sign_in: SignIn, sweep: Held) -> None:
    uuid = str(sweep.gpus[0].uuid)
    for person, words in (("ana", "Nobody"), ("luis", "None of your pods")):
        answer = sign_in(person).get(f"/gpus?q={uuid}")
        (line,) = answer.context["page"].lines
        assert line.now is None, person
        assert line.held.first.pod == sweep.pod.name
        page = html_of(answer)
        assert "Held now by" in page
        assert f'<span class="muted">{words}</span>' in page
        assert "before: sweep-resnet-0" in page
    notebook = sign_in("luis").get("/gpus?q=notebook-mara").context["page"].lines
    assert [line.now.first.pod for line in notebook] == ["notebook-mara-0"]


def test_a_past_range_says_who_held_it_then(sign_in: SignIn, sweep: Held) -> None:
    with connection.cursor() as cursor:  # the data of another day: newest is later
        cursor.execute("SELECT min(window_start) FROM usage_window")
        (first,) = cursor.fetchone()
    assert first < THEN
    yesterday = sign_in("ana").get(f"/gpus?range=yesterday&q={sweep.pod.name}")
    page = html_of(yesterday)
    assert "Held in this range by" in page
    assert "Held now by" not in page
    found = yesterday.context["page"].lines
    assert {line.uuid for line in found} == {str(gpu.uuid) for gpu in sweep.gpus}
    assert {line.held.first.pod for line in found} == {sweep.pod.name}


def test_pods_are_sought_in_the_range_that_is_shown(
    sign_in: SignIn, sweep: Held
) -> None:
    client = sign_in("ana")
    day = client.get("/gpus?q=SWEEP-resnet").context
    assert day["shown"] == len(sweep.gpus)
    assert client.get("/gpus?over=hour&q=sweep-resnet").context["shown"] == 0
    assert client.get("/gpus?over=hour&q=vision").context["shown"] == 5  # 1 and 4
    assert sign_in("luis").get("/gpus?q=language").context["shown"] == 0


def test_one_control_says_and_sets_what_is_shown(sign_in: SignIn) -> None:
    client = sign_in("ana")
    until = to_ms(NOW)
    for address, period, label in (
        ("/gpus", Interval(until - DAY_MS, until), "Last 24 hours"),
        ("/gpus?over=hour", Interval(until - HOUR_MS, until), "Last hour"),
        ("/gpus?range=today", Interval(to_ms(MIDNIGHT), until), ""),
    ):
        answer = client.get(address)
        shown = answer.context["period"]
        assert shown == period
        labels = re.findall(r'aria-label="Range: ([^"]+)"', answer.content.decode())
        assert len(labels) == 1
        assert labels[0] == (label or "20 Nov 2026")
    page = html_of(client.get("/gpus?range=today"))
    menu = page.partition('aria-label="Range: ')[2].partition("</details>")[0]
    assert 'href="/gpus?over=hour"' in menu
    assert 'href="/gpus"' in menu
    assert page.count("Last 24 hours") == 1  # not a second row of buttons


def test_the_range_goes_with_a_filter(sign_in: SignIn) -> None:
    page = html_of(sign_in("ana").get("/gpus?over=hour&model=NVIDIA-A10"))
    form = page.partition('class="row table-filter"')[2].partition("</form>")[0]
    assert '<input type="hidden" name="over" value="hour">' in form
    assert '<input type="hidden" name="model" value="NVIDIA-A10">' in form


def test_one_gpu_begins_with_what_it_shows(sign_in: SignIn, sweep: Held) -> None:
    uuid = sweep.gpus[0].uuid
    answer = sign_in("ana").get(f"/gpus/{uuid}")
    stored = stored_period()
    assert stored is not None
    assert answer.context["period"] == newest_facts(stored, 3 * DAY_MS)
    page = html_of(answer)
    assert 'aria-label="Range: Last 3 days"' in page
    assert f'<a href="/gpus?q={answer.context["gpu"].node}">' in page
    (row,) = answer.context["stretches"]
    assert f'">{row.pod}<span class="vh">, its workload</span></a>' in page
    workload = sign_in("ana").get(row.url.partition("#")[0])
    assert workload.status_code == 200
    assert sweep.pod.name in html_of(workload)


def test_nodes_with_room_are_counted_for_at_least_so_many(
    sign_in: SignIn, story: Story
) -> None:
    context = sign_in("ana").get("/gpus").context
    free = context["free"]
    held = {gpu.pk for one in story.held for gpu in one.gpus}
    bare = GpuPresence.objects.exclude(gpu__in=held)
    room = Counter(bare.values_list("gpu__model", "node__name"))
    assert free.sizes == (1, 2, 4, 8)
    assert {row.model: row.nodes for row in free.rows} == {
        model: tuple(
            sum(n >= size for (name, _), n in room.items() if name == model)
            for size in free.sizes
        )
        for model in {name for name, _ in room}
    }
    assert "free" not in sign_in("luis").get("/gpus").context


def test_gpus_now_are_told_from_those_of_the_range(
    sign_in: SignIn, story: Story
) -> None:
    """A GPU that left, GPUs that are shared, and GPUs in parts are named."""
    gone = GpuPresence.objects.order_by("pk").last()
    assert gone is not None
    gone.end_ms = to_ms(THEN)
    gone.save()
    facts = list(NodeFact.objects.order_by("node__name"))
    _offers(facts[0], {"nvidia_com_gpu": 32}, {"label_nvidia_com_gpu_replicas": "4"})
    _offers(facts[3], {"nvidia_com_mig_1g_10gb": 56}, {})
    for fact in (*facts[1:3], *facts[4:]):
        _offers(fact, {"nvidia_com_gpu": 8}, {})
    client = sign_in("ana")
    answer = client.get("/gpus")
    fleet = answer.context["fleet"]
    assert (fleet.nodes, fleet.gpus, fleet.whole) == (12, 95, 79)
    assert (fleet.shared, fleet.shared_units) == (8, 32)
    assert (fleet.divided, fleet.parts) == (8, 56)
    words = " ".join(re.sub("<[^>]+>", "", answer.content.decode()).split())
    assert "95 GPUs on 12 nodes now" in words
    assert (
        "95 GPUs are present now: 79 whole, 8 shared as 32 units, "
        "8 divided into 56 parts. 96 were present at some time in the last 24 hours."
    ) in words
    [part] = client.get("/quotas").context["parts"]
    assert part.fleet == fleet
    assert fleet.units == 79 + 32 + 56
    assert part.capacity == fleet.units + 1  # the node of the GPU that left reports 8
    quotas = " ".join(re.sub("<[^>]+>", "", html_of(client.get("/quotas"))).split())
    assert "95 GPUs are present now: 79 whole, 8 shared as 32 units" in quotas
    assert "were present at some time" not in quotas, "this page has no range"
    assert "Capacity: what nodes report, 168 in total. A shared GPU counts" in quotas
    [cluster] = client.get("/api/v1/clusters").json()["rows"]
    assert (cluster["nodes"], cluster["gpus"]) == (12, 95)
    free = answer.context["free"]
    assert free.left_out == 6  # of the divided node
    assert "NVIDIA-H100-80GB-HBM3" not in {row.model for row in free.rows}


def _offers(fact: NodeFact, capacity: dict[str, int], labels: dict[str, str]) -> None:
    fact.capacity = capacity
    fact.labels = labels
    fact.save()
