"""The outbox and its sender, with a real mail server.

Aspects: what arrives, keys, hostile text, refusals for good and for now, a server that is down,
slow or wants a password, several senders, people who cannot be sent to, a clock that jumps,
removal. Not here: a sender that is killed (`test_sender_killed.py`).
"""

import socket
import threading
from base64 import b64encode
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import close_old_connections, connection, transaction
from pytest_django import Settings

from accounting.kit.outcomes import Refused
from accounting.notifications.actions import enqueue, send_again
from accounting.notifications.models import (
    Notification,
    NotificationKind,
    NotificationState,
)
from accounting.notifications.tasks import _said, remove_old, send_due
from tests.integration.notifications.conftest import use
from tests.mail_server import PASSWORD, Mailbox, mail_server

pytestmark = pytest.mark.django_db
ALERT = NotificationKind.ALERT
SENT, WAITING = NotificationState.SENT, NotificationState.WAITING
FAILED, NOT_SENT = NotificationState.FAILED, NotificationState.NOT_SENT


def put(to: User | str = "hana@example.org", key: str = "k1", **more: str) -> bool:
    given = {"subject": "A GPU is hot", "text": "It has 91 °C.\n", **more}
    return enqueue(to, ALERT, given["subject"], given["text"], key=key)


def stored(key: str = "k1") -> Notification:
    return Notification.objects.get(key=key)


def send(at: datetime | None = None) -> int:
    return send_due(for_s=30, now=lambda: at or datetime.now(UTC))


def test_a_message_arrives_with_both_bodies(mailbox: Mailbox, luis: User) -> None:
    assert enqueue(luis, ALERT, "Ünder", "text €\n", "<p>html €</p>", key="k1")
    assert send() == 1
    (mail,) = mailbox.received
    assert mail["To"] == "luis@example.org"
    assert mail["From"] == "GPU Ledger <ledger@example.org>"
    assert mail["Subject"] == "Ünder"
    assert mail["Message-ID"] == stored().message_id
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["List-Unsubscribe"].endswith("/account/notifications>")
    plain, rich = mail.get_body(("plain",)), mail.get_body(("html",))
    assert plain is not None
    assert rich is not None
    assert plain.get_content().strip() == "text €"
    assert rich.get_content().strip() == "<p>html €</p>"
    assert (stored().state, stored().attempts, stored().error) == (SENT, 1, "")
    assert send() == 0


def test_a_key_is_stored_once(mailbox: Mailbox) -> None:
    assert put()
    assert not put(text="another")
    assert send() == 1
    assert len(mailbox.received) == 1


def test_a_change_that_is_undone_tells_nothing(mailbox: Mailbox) -> None:
    with transaction.atomic():
        put()
        transaction.set_rollback(True)
    assert send() == 0
    assert mailbox.received == []


def test_hostile_text_cannot_add_a_header(mailbox: Mailbox) -> None:
    put(
        subject="idle\r\nBcc: all@example.org\n\nbody\u202egnp\u2028",
        text="one\x00\r\ntwo\r.\n.\nthree",
    )
    send()
    (mail,) = mailbox.received
    assert mail["Subject"] == "idle Bcc: all@example.org body gnp"
    assert mail["Bcc"] is None
    body = mail.get_body(("plain",))
    assert body is not None
    assert body.get_content().splitlines() == ["one", "two", ".", ".", "three"]


@pytest.mark.parametrize(
    "address", ["hana\r\nBcc: x@example.org", "hana", "@", "a@b@c", "hana@exa mple.org"]
)
def test_an_address_that_is_none_fails_at_once(mailbox: Mailbox, address: str) -> None:
    put(address)
    assert send() == 1
    assert mailbox.received == []
    assert (stored().state, stored().error) == (FAILED, "The address is not valid.")


def test_one_refused_address_stops_no_other(mailbox: Mailbox) -> None:
    mailbox.answers = {"p4@example.org": "550 5.1.1 No such user"}
    for number in range(10):
        put(f"p{number}@example.org", key=f"k{number}")
    assert send() == 10
    assert len(mailbox.received) == 9
    assert stored("k4").state == FAILED
    assert stored("k4").error == "550 5.1.1 No such user"
    assert Notification.objects.filter(state=SENT).count() == 9


def test_what_is_refused_for_now_is_tried_later(mailbox: Mailbox) -> None:
    mailbox.answers = {"hana@example.org": "451 4.7.1 Try again later"}
    put()
    now = datetime.now(UTC)
    send(now)
    first = stored()
    assert (first.state, first.attempts) == (WAITING, 1)
    assert first.error == "451 4.7.1 Try again later"
    assert first.next_at == now + timedelta(minutes=1)
    assert send(now) == 0
    mailbox.answers = {}
    assert send(now + timedelta(minutes=1)) == 1
    assert mailbox.ids == [first.message_id]
    assert (stored().state, stored().attempts, stored().error) == (SENT, 2, "")


def test_a_refused_text_fails_at_once(mailbox: Mailbox) -> None:
    mailbox.data_answer = "554 5.7.1 Looks like spam"
    put()
    send()
    assert (stored().state, stored().error) == (FAILED, "554 5.7.1 Looks like spam")


def test_a_server_that_is_down_is_given_up_after_two_days(
    settings: Settings,
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        use(settings, free.getsockname()[1])  # bound, but nobody listens
        put()
        put(key="k2")
        at = start = datetime.now(UTC)
        assert send(at) == 0  # the second message is not tried: it would fail, too
        assert "refused" in stored().error
        assert stored("k2").attempts == 0
        while stored().state == WAITING:
            at = stored().next_at
            Notification.objects.filter(key="k2").update(
                next_at=at + timedelta(hours=9)
            )
            send(at)
    assert stored().state == FAILED
    assert stored().error.startswith("Gave up after 53 attempts. Last: ")
    assert timedelta(days=1, hours=22) < at - start < timedelta(days=2, hours=1)


def test_a_server_that_hangs_is_left_after_its_timeout(
    settings: Settings,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        use(settings, silent.getsockname()[1])
        settings.EMAIL_TIMEOUT = 0.2
        put()
        assert send() == 0
    assert stored().state == WAITING
    assert "timed out" in stored().error


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
def test_a_wrong_password_is_stored_without_it(settings: Settings) -> None:
    with mail_server(is_closed_to_strangers=True) as box:
        use(settings, box.port, password="not the right one")
        put()
        assert send() == 0
        assert "535" in stored().error
        assert "not the right one" not in stored().error
        use(settings, box.port, password=PASSWORD)
        assert send(stored().next_at) == 1
        assert len(box.received) == 1


@pytest.mark.parametrize(
    "said",
    [
        PASSWORD,
        b64encode(PASSWORD.encode()).decode(),
        "AUTH PLAIN " + b64encode(f"\0ledger\0{PASSWORD}".encode()).decode(),
    ],
)
def test_a_server_that_repeats_the_password_does_not_tell_it(
    settings: Settings, said: str
) -> None:
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "ledger", PASSWORD
    secret = said.removeprefix("AUTH PLAIN ")
    for length in (0, *range(170, 200)):  # also at the end of what is kept
        text = _said(535, f"{'.' * length} {said} refused".encode())
        assert secret[:4] not in text
    assert "***" in _said(535, said)


def test_without_a_mail_server_it_is_shown_in_the_product(luis: User) -> None:
    put(luis)
    assert send() == 1
    assert (stored().state, stored().error) == (NOT_SENT, "No mail server is set.")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"email": ""}, "This person has no mail address."),
        ({"is_active": False}, "This person's account is deactivated."),
    ],
)
def test_a_person_who_cannot_be_sent_to(
    mailbox: Mailbox, luis: User, change: dict[str, object], reason: str
) -> None:
    put(luis)
    User.objects.filter(pk=luis.pk).update(**change)
    send()
    assert (stored().state, stored().error) == (NOT_SENT, reason)
    assert mailbox.received == []


def test_what_a_person_turned_off_is_not_stored_and_not_sent(
    mailbox: Mailbox, luis: User
) -> None:
    put(luis)
    luis.person.muted = [ALERT]
    luis.person.save()
    assert not put(luis, key="k2")
    assert enqueue(luis, NotificationKind.WEEKLY, "s", "t", key="k3")
    assert send() == 2
    assert stored().error == "This person turned these messages off."
    assert stored("k3").state == SENT
    assert len(mailbox.received) == 1


def test_send_again_uses_the_same_id_and_the_address_of_now(
    mailbox: Mailbox, luis: User
) -> None:
    mailbox.answers = {"luis@example.org": "550 moved"}
    put(luis)
    send()
    User.objects.filter(pk=luis.pk).update(email="luis@example.com")
    send_again(stored().pk, luis)
    send()
    assert mailbox.ids == [stored().message_id]
    assert mailbox.received[0]["To"] == "luis@example.com"
    with pytest.raises(Refused):
        send_again(stored().pk, luis)


def test_a_clock_that_went_back_delays_by_at_most_an_hour(mailbox: Mailbox) -> None:
    put()
    Notification.objects.update(next_at=datetime(2036, 1, 1, tzinfo=UTC))
    assert send() == 1
    assert len(mailbox.received) == 1


def test_old_messages_are_removed_with_their_texts(mailbox: Mailbox) -> None:
    put()
    put(key="k2")
    send()
    now = datetime.now(UTC)
    Notification.objects.filter(key="k1").update(ended_at=now - timedelta(days=91))
    assert remove_old(now) == 1
    assert [*Notification.objects.values_list("key", flat=True)] == ["k2"]


@pytest.mark.django_db(transaction=True)
def test_two_senders_send_each_message_once(mailbox: Mailbox) -> None:
    for number in range(40):
        put(f"p{number}@example.org", key=f"k{number}")

    def run() -> None:
        try:
            send()
        finally:
            close_old_connections()
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(mailbox.received) == len(set(mailbox.ids)) == 40
