"""The pages of messages: whose are shown, their state, choices, "Send again", the framed mail."""

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection

from accounting.access.models.people import Person
from accounting.notifications.actions import enqueue
from accounting.notifications.models import (
    Notification,
    NotificationKind,
    NotificationState,
)
from accounting.notifications.tasks import send_due
from tests.integration.conftest import SignIn
from tests.mail_server import Mailbox

pytestmark = pytest.mark.django_db
ALERT, WEEKLY = NotificationKind.ALERT, NotificationKind.WEEKLY
PAGE = "/account/notifications"


@pytest.fixture
def ana(sign_in: SignIn) -> User:
    """An administrator of the story."""
    del sign_in
    return User.objects.get(username="ana")


@pytest.fixture(autouse=True)
def told(sign_in: SignIn) -> None:
    """One message to luis, one to an address."""
    del sign_in
    luis = User.objects.get(username="luis")
    html = "<html><head></head><body>of luis</body></html>"
    enqueue(luis, WEEKLY, "<b>Vision</b>", "spent", html, key="k1")
    enqueue("hana@example.org", ALERT, "A GPU is hot", "91 °C", key="k2")


def at(key: str, what: str = "") -> str:
    return f"{PAGE}/{Notification.objects.get(key=key).pk}{what}"


def test_a_person_sees_their_own_messages(sign_in: SignIn) -> None:
    page = sign_in("luis").get(PAGE).content.decode()
    assert "1 message</strong>" in " ".join(page.split())
    assert "&lt;b&gt;Vision&lt;/b&gt;" in page
    assert "A GPU is hot" not in page
    assert "No mail server is set: messages are shown here only." in page
    assert "A GPU is hot" not in sign_in("luis").get(f"{PAGE}?of=all").content.decode()
    assert sign_in("luis").get(at("k1")).status_code == 200
    for what in ("", "/mail"):
        assert sign_in("mia").get(at("k1", what)).status_code == 404


def test_an_administrator_sees_all_with_state_and_error(sign_in: SignIn) -> None:
    send_due(for_s=10)
    client = sign_in("ana")
    assert "A GPU is hot" not in client.get(PAGE).content.decode()
    page = " ".join(client.get(f"{PAGE}?of=all").content.decode().split())
    assert "A GPU is hot" in page
    assert "hana@example.org" in page
    assert page.count("No mail server is set.") == 2
    assert "<strong>2</strong> not sent" in page
    assert "91 °C" in client.get(at("k2")).content.decode()


def test_send_again_sends(sign_in: SignIn, mailbox: Mailbox) -> None:
    mailbox.answers = {"hana@example.org": "550 no"}
    send_due(for_s=10)
    assert sign_in("luis").post(at("k2", "/send")).status_code == 403
    assert "Send again" in sign_in("ana").get(at("k2")).content.decode()
    mailbox.answers = {}
    assert sign_in("ana").post(at("k2", "/send")).status_code == 302
    send_due(for_s=10)
    assert Notification.objects.get(key="k2").state == NotificationState.SENT
    page = sign_in("ana").get(at("k2")).content.decode()
    assert "Send again" not in page
    connection.check_constraints()  # as a commit does: the chain is made then
    audit = " ".join(sign_in("ana").get("/audit").content.decode().split())
    assert "Message A GPU is hot sent again" in audit
    [event] = Notification.objects.get(key="k2").events.all()  # type: ignore[attr-defined]  # pghistory's
    assert event.pgh_context.metadata["actor"] == "ana"


def test_a_mail_is_framed_without_scripts(sign_in: SignIn) -> None:
    client = sign_in("luis")
    answer = client.get(at("k1", "/mail"))
    policy = answer["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "sandbox allow-same-origin allow-top-navigation" in policy
    assert "frame-ancestors 'self'" in policy
    assert "script" not in policy
    assert answer["X-Frame-Options"] == "SAMEORIGIN"
    assert '<base target="_top">' in answer.content.decode()
    page = client.get(at("k1"))
    assert "frame-src 'self'" in page["Content-Security-Policy"]
    assert "unsafe-inline" not in page["Content-Security-Policy"]
    assert sign_in("ana").get(at("k2", "/mail")).status_code == 404


def test_a_choice_is_stored_and_recorded(sign_in: SignIn) -> None:
    client = sign_in("luis")
    assert (
        client.post(f"{PAGE}/choices", {"kind": ["alert", "bogus"]}).status_code == 302
    )
    person = Person.objects.get(user__username="luis")
    assert person.muted == ["weekly", "idle"]
    page = " ".join(client.get(PAGE).content.decode().split())
    assert re.findall(r'name="kind" value="(\w+)" checked', page) == ["alert"]
    event = person.events.latest("pgh_id")  # type: ignore[attr-defined]  # pghistory's
    assert event.muted == ["weekly", "idle"]
    assert event.pgh_context.metadata["actor"] == "luis"
