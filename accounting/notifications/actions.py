"""Messages that other subjects write, and those that an administrator sends again."""

from email.utils import make_msgid
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, User
from django.utils import timezone

from accounting.kit.audit import act
from accounting.kit.outcomes import RefusalCode, Refused
from accounting.kit.wakeup import SEND_NOTIFICATIONS, wake_worker
from accounting.notifications.models import (
    Notification,
    NotificationKind,
    NotificationState,
)
from accounting.notifications.reads import is_wanted, recipient_of
from accounting.notifications.rules import Delivery, body_text, header_text


def enqueue(
    to: User | str,
    kind: NotificationKind,
    subject: str,
    text: str,
    html: str = "",
    *,
    key: str,
) -> bool:
    """Store a message; a worker sends it when this transaction has committed.

    Call it in the transaction of what the message tells: both are stored, or none. Without a mail
    server the message is shown in the product only.

    Args:
        to: a person, or the address of somebody without an account.
        kind: the person may have turned it off; then nothing is stored.
        subject: one line; line breaks and hidden characters become spaces.
        text: the message as plain text.
        html: the same as a document; "" for plain text alone.
        key: of what it tells, with the recipient, such as `alert:17:3`, at most 200 characters.
            A second message with a key is not stored, also not to another recipient.

    Returns whether a message was stored.
    """
    person = None if isinstance(to, str) else to
    if person is not None and not is_wanted(person, kind):
        return False
    now = timezone.now()
    _, is_new = Notification.objects.get_or_create(
        key=key,
        defaults={
            "kind": kind,
            "person": person,
            "address": to.strip()[:254] if isinstance(to, str) else "",
            "subject": header_text(subject),
            "text": body_text(text),
            "html": body_text(html),
            "message_id": make_msgid(domain=urlsplit(settings.PUBLIC_URL).hostname),
            "created_at": now,
            "next_at": now,
        },
    )
    if is_new:
        wake_worker(SEND_NOTIFICATIONS)
    return is_new


def ask(to: str, subject: str, text: str, *, key: str) -> Delivery:
    """Store a question to a person or an address, as `enqueue` does.

    Args:
        to: the name or the address of a person, or another address.
    """
    recipient = recipient_of(to)
    if recipient is None:
        return Delivery.NOBODY
    if not enqueue(recipient, NotificationKind.IDLE, subject, text, key=key):
        return Delivery.NOBODY
    if not settings.EMAIL_HOST:
        return Delivery.NO_SERVER
    has_address = isinstance(recipient, str) or bool(recipient.email)
    return Delivery.MAILED if has_address else Delivery.NO_ADDRESS


def send_again(number: int, person: AbstractBaseUser) -> None:
    """Send a message that failed or was not sent, with the Message-ID that it has.

    Raises:
        Refused: there is no such message, it waits, or it was sent.
    """
    ended = (NotificationState.FAILED, NotificationState.NOT_SENT)
    with act(person, "Send a message again"):
        count = Notification.objects.filter(pk=number, state__in=ended).update(
            state=NotificationState.WAITING,
            next_at=timezone.now(),
            ended_at=None,
            attempts=0,
            error="",
        )
    if not count:
        text = "only a message that failed or was not sent can be sent again"
        raise Refused(text, RefusalCode.CONFLICT)
    wake_worker(SEND_NOTIFICATIONS)
