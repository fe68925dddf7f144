"""The Monday mail over the story: figures of the pages, who gets it, once, hostile labels.

Not here: when it is due (`tests/unit/portal/test_weekly_due.py`), how it is sent (`notifications`).
"""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User

from accounting.access.models.people import Membership, Person
from accounting.core.billing_calendar import DayRange
from accounting.notifications.models import Notification
from portal.weekly.due import last_week
from portal.weekly.figures import WeeklyMail, weekly_mail
from portal.weekly.letter import letter_of
from portal.weekly.send import send_weekly
from scheduler_view.idle.models import IdleHold
from scheduler_view.idle.tasks import find_idle
from tests.integration.conftest import NOW, SignIn
from tests.story import Story

pytestmark = pytest.mark.django_db
MONDAY = datetime(2026, 11, 16, 6, 30, tzinfo=UTC)  # 07:30 in Berlin


@pytest.fixture(autouse=True)
def found(story: Story) -> Iterator[None]:
    """Idle holds of the story, right after its newest window."""
    with time_machine.travel(NOW, tick=False):
        find_idle(story.cluster)
        yield


def week() -> DayRange:
    return last_week(NOW, NOW.tzinfo)  # type: ignore[arg-type]  # UTC


def mail_of(name: str = "luis", slug: str = "vision") -> WeeklyMail:
    found = weekly_mail(User.objects.get(username=name), slug, week())
    assert found is not None
    return found


def words(answer: Any) -> str:
    body = re.sub(
        r"<(script|style).*?</\1>", " ", answer.content.decode(), flags=re.DOTALL
    )
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def amount(text: str) -> Decimal:
    return Decimal(re.sub(r"[^\d.]", "", text)) * (-1 if "\u2212" in text else 1)


def test_its_figures_are_those_of_the_page(sign_in: SignIn) -> None:
    mail = mail_of()
    days = f"?from={week().first}&to={week().after}"
    page = words(sign_in("luis").get(f"/teams/vision{days}"))
    told = ["".join(text for text, _ in one) for one in mail.sentences]
    assert told[0].startswith("Vision spent ")
    assert "last week" in told[0]
    for sentence in filter(None, told):
        assert sentence in re.sub(r" ([.,)])", r"\1", page).replace("( ", "(")
    for fact in mail.facts:
        assert fact.value in page
    assert mail.subject.startswith(f"Vision: {mail.facts[0].value} last week")
    assert mail.team_url.endswith(f"/teams/vision{days}")


def test_changes_add_up_to_the_team() -> None:
    # without the gap of the story, after which nothing is compared
    whole = DayRange(date(2026, 10, 26), date(2026, 11, 2))
    mail = weekly_mail(User.objects.get(username="luis"), "vision", whole)
    assert mail is not None
    (section,) = [s for s in mail.sections if s.title == "Largest changes"]
    assert section.total is not None
    assert not section.rows[0].name.endswith("other families")
    for column in (0, 1):
        parts = sum(amount(row.cells[column][0]) for row in section.rows)
        assert parts == amount(section.total.cells[column][0])


def test_idle_holders_have_owner_money_and_a_link(sign_in: SignIn) -> None:
    section = mail_of().sections[0]
    assert section.title == "Idle at 15:35"
    page = words(sign_in("luis").get("/idle"))
    for row in section.rows:
        assert row.name in page
        assert row.cells[1][0] in page
        assert row.link is not None
        assert row.link[1].startswith("http://")
        assert sign_in("luis").get(row.link[1].split("8000")[1]).status_code == 200


def test_both_bodies_say_the_same(sign_in: SignIn) -> None:
    del sign_in
    mail = mail_of()
    letter = letter_of(mail)
    rich = " ".join(unescape(re.sub(r"<[^>]+>", " ", letter.html)).split())
    for section in mail.sections:
        assert section.title in rich
        assert section.title.upper() in letter.text
        for row in section.rows:
            assert row.name in rich
            assert row.name in letter.text
            if row.link:
                assert row.link[1] in letter.text
                assert row.link[1].replace("&", "&amp;") in letter.html
    assert "/account/notifications" in letter.text
    assert "<img" not in letter.html
    assert "url(" not in letter.html


def test_hostile_labels_stay_text() -> None:
    hold = IdleHold.objects.get(pod__workload__name="notebook-mara")
    hold.owner = "mara\r\nBcc: all@example.org\u202e<script>alert(1)</script>"
    hold.save()
    letter = letter_of(mail_of())
    assert "<script>" not in letter.html
    assert "\r" not in letter.text
    assert not re.search(r"^Bcc:", letter.text, flags=re.MULTILINE)
    assert "\u202e" not in letter.text + letter.html


def test_a_lead_gets_one_mail_for_each_team_once(story: Story) -> None:
    luis = User.objects.get(username="luis")
    Membership.objects.create(user=luis, team=story.teams["search"], role="lead")
    with time_machine.travel(MONDAY, tick=False):
        count = send_weekly(MONDAY)
        assert send_weekly(MONDAY) == 0
        assert send_weekly(MONDAY + timedelta(hours=1)) == 0
    mine = Notification.objects.filter(person=luis)
    assert count >= 2
    assert sorted(one.subject.split(":")[0] for one in mine) == ["Search", "Vision"]
    assert len({one.key for one in mine}) == 2
    leads = Membership.objects.filter(role="lead").values_list("user_id", flat=True)
    told = Notification.objects.values_list("person_id", flat=True)
    assert {*told} <= {*leads}


def test_the_demo_begins_with_the_mail_of_last_week() -> None:
    friday = NOW
    assert send_weekly(friday) == 0
    count = send_weekly(friday, at_once=True)
    assert count
    assert (
        Notification.objects.filter(key__endswith=f":{week().first}").count() == count
    )
    assert send_weekly(friday, at_once=True) == 0


def test_nothing_is_sent_before_seven_or_to_who_turned_it_off() -> None:
    early = MONDAY - timedelta(minutes=31)
    with time_machine.travel(early, tick=False):
        assert send_weekly(early) == 0
    Person.objects.update(muted=["weekly"])
    with time_machine.travel(MONDAY, tick=False):
        assert send_weekly(MONDAY) == 0


def test_a_zone_of_a_person_decides_when(sign_in: SignIn) -> None:
    del sign_in
    Person.objects.filter(user__username="luis").update(timezone="America/New_York")
    luis = Notification.objects.filter(person__username="luis")
    with time_machine.travel(MONDAY, tick=False):
        send_weekly(MONDAY)
    assert not luis.exists()
    later = MONDAY + timedelta(hours=6)
    with time_machine.travel(later, tick=False):
        send_weekly(later)
    assert "Times are America/New_York." in luis.get().text


def test_the_preview_shows_it_to_leads_only(sign_in: SignIn) -> None:
    page = words(sign_in("luis").get("/account/weekly/vision"))
    assert mail_of().subject in page
    assert "LARGEST IDLE COST LAST WEEK" in page
    assert sign_in("luis").get("/account/weekly/vision/mail").status_code == 200
    assert sign_in("luis").get("/account/weekly/search").status_code == 404
    assert sign_in("mia").get("/account/weekly/vision").status_code == 403
    assert sign_in("ana").get("/account/weekly/search/mail").status_code == 200
    assert "because you lead Vision." in page
    theirs = words(sign_in("ana").get("/account/weekly/search"))
    assert "because you lead" not in theirs
    assert "Leads of Search get this on Mondays." in theirs
    document = sign_in("ana").get("/account/weekly/search/mail").content.decode()
    assert "Leads of Search get this on Mondays." in document
    assert "Vision" in words(sign_in("luis").get("/account/notifications"))
