"""The message to the owner of work that a recommendation is about."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User

from accounting.access.models.labels import LabelPurpose, LabelSpelling
from accounting.metering.models.pod import Pod, Workload
from accounting.notifications.models import Notification
from tests.integration.savings.fleet import Fleet
from tests.integration.savings.test_pages import text
from tests.integration.savings.test_recommendations import fleet, only, person
from tests.page_html import html_of

__all__ = ["fleet"]
pytestmark = pytest.mark.django_db


def address() -> str:
    return f"/recommendations/ask?about={only().token}"


def owned_by(fleet: Fleet, owner: str) -> None:
    """The work of the recommendation has a pod with a label that names its owner."""
    LabelSpelling.objects.create(purpose=LabelPurpose.OWNER, label="owner")
    Pod.objects.create(
        cluster=fleet.cluster,
        uid="u-1",
        namespace=fleet.namespace,
        name="sweep-1",
        workload=Workload.objects.get(name="sweep"),
        record={"labels": [[0, {"label_owner": owner}]]},
    )


def test_a_row_leads_to_a_message_with_its_figures(fleet: Fleet) -> None:
    owned_by(fleet, "hana")
    lead = person("lena", team="vision", fleet=fleet)
    assert address() in html_of(lead.get("/recommendations"))
    page = html_of(lead.get(address()))
    assert 'value="hana"' in page
    assert re.search("sweep in .*: Idle holder, in 4 of the last 4 weeks", page)
    assert "would save $3,600.00 to $3,600.00 a month" in page
    assert "/teams/vision/families/" in page


def test_without_an_owner_a_lead_of_the_team_is_asked(fleet: Fleet) -> None:
    person("lena", team="vision", fleet=fleet)
    page = html_of(person("ada", role="admin").get(address()))
    assert 'value="lena"' in page


def test_the_person_has_the_message_and_the_row_says_who_was_asked(
    fleet: Fleet, settings: Any
) -> None:
    settings.EMAIL_HOST = "mail.example.org"
    hana = User.objects.create_user("hana", email="hana@example.org")
    lead = person("lena", team="vision", fleet=fleet)
    url = address()
    given = {"to": "Hana@example.org", "text": "Do you still need it?"}
    answer = lead.post(url, given, follow=True)
    assert "Your message to Hana@example.org is on its way." in text(answer)
    row = only()
    assert (row.state, row.reason) == ("accepted", "Asked Hana@example.org")
    assert row.owner == "lena"
    sent = Notification.objects.get()
    assert (sent.person, sent.kind) == (hana, "idle")
    assert sent.subject == "sweep: Idle holder"
    assert sent.text == "Do you still need it?"
    assert "Asked Hana@example.org" in text(lead.get("/recommendations"))
    assert url not in html_of(lead.get("/recommendations")), "it was asked"


def test_a_name_without_an_account_is_a_link_to_the_mail_program(
    fleet: Fleet,
) -> None:
    lead = person("lena", team="vision", fleet=fleet)
    given = {"to": 'hana"><b>', "text": "Do you still need it?"}
    answer = lead.post(f"{address()}&team=vision", given)
    assert answer.headers["Location"] == "/recommendations?team=vision"
    page = html_of(lead.get(answer.headers["Location"]))
    assert "so that nothing was sent" in page
    assert "hana&quot;&gt;&lt;b&gt; has no account that takes messages" in page
    assert 'href="mailto:?subject=sweep' in page
    assert not Notification.objects.exists()
    assert only().reason == 'Asked hana"><b>'


def test_what_is_wrong_is_said_and_nothing_is_kept(fleet: Fleet) -> None:
    lead = person("lena", team="vision", fleet=fleet)
    answer = lead.post(address(), {"to": "", "text": "short"})
    assert answer.status_code == 422
    assert only().is_open
    assert not Notification.objects.exists()


def test_others_find_no_form(fleet: Fleet) -> None:
    url = address()
    for client in (
        person("otto", team="search", fleet=fleet),
        person("fay", role="finance"),
    ):
        assert client.get(url).status_code == 404
        assert client.post(url, {"to": "x", "text": "y" * 20}).status_code == 404
    assert only().is_open


def test_without_a_server_an_address_gets_nothing_and_that_is_said(
    fleet: Fleet,
) -> None:
    lead = person("lena", team="vision", fleet=fleet)
    given = {"to": "hana@example.org", "text": "Do you still need it?"}
    page = html_of(lead.post(address(), given, follow=True))
    assert "nothing was mailed to hana@example.org" in page
    assert 'href="mailto:hana%40example.org?' in page


@pytest.mark.parametrize("to", ["foo@", "@", "a@b.example, c@d.example"])
def test_what_is_no_address_gets_no_mail(fleet: Fleet, to: str) -> None:
    lead = person("lena", team="vision", fleet=fleet)
    given = {"to": to, "text": "Do you still need it?"}
    assert "has no account" in html_of(lead.post(address(), given, follow=True))
    assert not Notification.objects.exists()


def test_the_same_form_sent_again_replaces_no_decision(fleet: Fleet) -> None:
    User.objects.create_user("hana")
    lead = person("lena", team="vision", fleet=fleet)
    url, given = address(), {"to": "hana", "text": "Do you still need it?"}
    lead.post(url, given)
    again = lead.post(url, given)
    assert again.status_code == 422
    assert "lena has decided about this: it is accepted" in html_of(again)
    assert Notification.objects.count() == 1
    dismissed = {"subject": only().token, "state": "dismissed", "reason": "x" * 12}
    lead.post("/recommendations/decide", dismissed)
    assert lead.post(url, given).status_code == 422
    assert only().reason == "x" * 12
