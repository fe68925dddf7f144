"""Idle holders on their page: the sentence, who sees what, asking, ignoring, what became of it."""

import html
import re
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import Sum
from pytest_django import Settings

from accounting.access.models.people import Membership, Person
from accounting.core.interval import HOUR_MS, to_ms
from accounting.kit.tags.units import short_day
from accounting.metering.models.pod import Pod, PodHold
from accounting.notifications.models import Notification
from scheduler_view.idle.models import IdleHold, IdleLook, IdleNote
from scheduler_view.idle.tasks import find_idle
from scheduler_view.waits.models import WaitRecord
from tests.integration.conftest import NOW, SignIn
from tests.story import Story

pytestmark = pytest.mark.django_db
MARA = "notebook-mara"  # of vision, never busy
REASON = "Needed for the demo on Monday."


@pytest.fixture(autouse=True)
def found(story: Story) -> Iterator[None]:
    """Idle holds of the story, right after its newest window."""
    with time_machine.travel(NOW, tick=False):
        find_idle(story.cluster)
        yield


def text(answer: Any, status: int = 200) -> str:
    """The visible words of a page."""
    assert answer.status_code == status
    body = re.sub(
        r"<(script|style).*?</\1>", " ", answer.content.decode(), flags=re.DOTALL
    )
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def number(name: str = MARA) -> int:
    return IdleHold.objects.get(pod__workload__name=name).pk


def test_the_sentence_says_how_many_and_what_they_cost(sign_in: SignIn) -> None:
    page = text(sign_in("ana").get("/idle"))
    gpus = IdleHold.objects.filter(idle_ms__gte=1_800_000).aggregate(n=Sum("gpus"))["n"]
    assert gpus > 1
    assert f"{gpus.normalize():f} GPUs are held and idle now, at €" in page
    assert "The dearest is" in page


def test_a_lead_sees_the_team_and_who_to_ask(sign_in: SignIn) -> None:
    page = text(sign_in("luis").get("/idle"))
    assert MARA in page
    assert "kubectl -n vision-prod scale statefulset/notebook-mara --replicas=0" in page
    assert "old-experiment" not in page
    assert "old-experiment" in text(sign_in("ana").get("/idle"))
    assert sign_in("luis").get("/idle?team=search").status_code == 404
    assert sign_in("mia").get("/idle").status_code == 403


def test_a_lead_sees_no_other_team_that_they_only_read(
    sign_in: SignIn, story: Story
) -> None:
    lena = get_user_model().objects.create_user("lena")
    Person.objects.create(user=lena, role="none")
    Membership.objects.create(user=lena, team=story.teams["search"], role="lead")
    Membership.objects.create(user=lena, team=story.teams["vision"], role="viewer")
    client = sign_in("lena")
    assert MARA not in text(client.get("/idle"))
    assert "held for 30 minutes" not in text(client.get("/teams/vision"))
    assert client.get(f"/api/v1/idle-holders/{number()}").status_code == 404
    assert MARA not in [row["workload"] for row in listed(client)]


def test_other_pages_have_a_card_of_the_dearest(sign_in: SignIn) -> None:
    both = text(sign_in("ana").get("/"))
    assert "Idle now" in both.partition("Where")[0]
    assert MARA in both
    assert "old-experiment" in both
    team = text(sign_in("luis").get("/teams/vision"))
    assert "held for 30 minutes or longer without work" in team
    assert f"Ask about {MARA}" in team
    assert "old-experiment" not in team
    assert "held for 30 minutes" not in text(sign_in("mia").get("/teams/vision"))
    assert "held for 30 minutes" not in text(sign_in("ana").get("/teams/robotics"))


def test_idle_for_longer_lists_fewer(sign_in: SignIn) -> None:
    IdleHold.objects.filter(pk=number()).update(idle_ms=5 * HOUR_MS)
    assert MARA in text(sign_in("ana").get("/idle?over=240"))
    assert MARA not in text(sign_in("ana").get("/idle?over=480"))
    assert sign_in("ana").get("/idle?over=7").status_code == 400


def test_asking_records_a_message_with_the_figures(sign_in: SignIn) -> None:
    luis, pk = sign_in("luis"), number()
    form = text(luis.get(f"/idle/{pk}/ask"))
    assert (
        f"{MARA} in vision-prod (cluster north) holds 1 \N{MULTIPLICATION SIGN}" in form
    )
    assert "So far this cost €" in form
    given = {"to": "mara", "text": "Is notebook-mara still needed?"}
    page = text(luis.post(f"/idle/{pk}/ask", given, follow=True))
    assert f"Your message about {MARA} is recorded." in page
    assert "Open it in your mail program" in page
    assert "Asked mara" in page
    assert "Still idle" in page
    assert "mailto:?subject=notebook-mara" in luis.get("/idle").content.decode()
    note = IdleNote.objects.get()
    assert (note.act, note.to, note.by.username) == ("asked", "mara", "luis")
    assert "Asked mara" in text(sign_in("ana").get("/idle"))


def test_who_waits_for_the_rest_of_its_pods_is_said_to(
    story: Story, sign_in: SignIn
) -> None:
    """It may be idle because of them: nobody is asked to end it without a word."""
    luis, pk = sign_in("luis"), number()
    assert "Others of its pods wait" not in text(luis.get("/idle"))
    kind = IdleHold.objects.values_list("pod__workload__kind", flat=True).get(pk=pk)
    wait = WaitRecord.objects.create(
        cluster=story.cluster,
        kind=kind,
        namespace="vision-prod",
        name=MARA,
        stage="pending",
        cause="no_free_gpu",
        created_at=NOW,
    )
    for page in ("/idle", "/teams/vision"):
        assert f'href="/queues/{wait.pk}"' in luis.get(page).content.decode()
        assert "Others of its pods wait" in text(luis.get(page))
    form = text(luis.get(f"/idle/{pk}/ask"))
    assert f"Others of its pods wait: {settings.PUBLIC_URL}/queues/{wait.pk}" in form
    WaitRecord.objects.update(ended_at=NOW)
    assert "Others of its pods wait" not in text(luis.get("/idle"))


def test_a_message_to_a_person_or_an_address_is_sent(
    sign_in: SignIn, settings: Settings
) -> None:
    luis, pk = sign_in("luis"), number()
    given = {"to": "mia", "text": "Is notebook-mara still needed?"}
    page = text(luis.post(f"/idle/{pk}/ask", given, follow=True))
    assert "is on its way" not in page, "no mail server is set"
    assert "nothing was mailed to mia. Open it in your mail program" in page
    told = Notification.objects.get()
    assert (told.person and told.person.username, told.subject) == (
        "mia",
        f"{MARA} is idle",
    )
    assert told.text == given["text"]
    IdleNote.objects.all().delete()
    settings.EMAIL_HOST = "127.0.0.1"
    given["to"] = "mara@example.org"
    page = text(luis.post(f"/idle/{pk}/ask", given, follow=True))
    assert "Your message to mara@example.org is on its way." in page
    assert "Open it in your mail program" not in page
    assert Notification.objects.filter(address="mara@example.org").count() == 1
    IdleNote.objects.all().delete()
    page = text(luis.post(f"/idle/{pk}/ask", given | {"to": "mia"}, follow=True))
    assert "mia has no mail address, and finds your message" in page


def test_what_became_of_it_is_told(sign_in: SignIn, story: Story) -> None:
    luis, pk = sign_in("luis"), number()
    luis.post(f"/idle/{pk}/ask", {"text": "Is it still needed?"})
    IdleHold.objects.filter(pk=pk).delete()
    assert "Works again" in text(luis.get("/idle"))
    PodHold.objects.filter(pod__workload__name=MARA).update(ended_ms=to_ms(NOW))
    assert "Its GPUs are released" in text(luis.get("/idle"))
    pod = Pod.objects.filter(workload__name=MARA)[0]
    IdleHold.objects.create(
        pod=pod,
        cluster=story.cluster,
        team=story.teams["vision"],
        model="A",
        gpus=1,
        since_ms=to_ms(NOW),
        until_ms=to_ms(NOW),
        idle_ms=0,
        gpu_ms=0,
        raw=Decimal(0),
        unpriced_ms=0,
    )
    assert "Worked, and is idle again" in text(luis.get("/idle"))


def test_an_ignored_holder_is_not_listed_until_the_day_is_over(
    sign_in: SignIn,
) -> None:
    luis, pk = sign_in("luis"), number()
    until = NOW.date() + timedelta(days=2)
    given = {"until": until.isoformat(), "reason": REASON}
    page = text(luis.post(f"/idle/{pk}/ignore", given, follow=True))
    assert f"{MARA} is not listed until the end of {short_day(until)}." in page
    assert f"Ignored until {until:%-d %b %Y}" in page
    assert MARA not in [row["workload"] for row in listed(luis)]
    with time_machine.travel(NOW + timedelta(days=3), tick=False):
        assert MARA in [row["workload"] for row in listed(sign_in("luis"))]


def listed(client: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = client.get("/api/v1/idle-holders").json()["rows"]
    return rows


@pytest.mark.parametrize("day", [date(2026, 11, 1), date(2027, 11, 1)])
def test_a_day_that_is_past_or_far_is_refused(sign_in: SignIn, day: date) -> None:
    given = {"until": day.isoformat(), "reason": REASON}
    page = text(sign_in("luis").post(f"/idle/{number()}/ignore", given), 422)
    assert "Choose a day from 2026-11-20 to 2027-02-20." in page
    assert not IdleNote.objects.exists()


def test_a_holder_of_another_team_is_not_there(sign_in: SignIn) -> None:
    other = number("old-experiment")
    luis = sign_in("luis")
    for verb in ("ask", "ignore"):
        assert luis.get(f"/idle/{other}/{verb}").status_code == 404
        assert luis.post(f"/idle/{other}/{verb}", {}).status_code == 404
    assert luis.get("/idle/999999/ask").status_code == 404


def test_before_the_first_window_the_page_says_so(sign_in: SignIn) -> None:
    IdleHold.objects.all().delete()
    assert "Nothing is idle" in text(sign_in("ana").get("/idle"))
    IdleLook.objects.all().delete()
    page = text(sign_in("ana").get("/idle"))
    assert "No data yet" in page
    assert "No data yet of north" in page
