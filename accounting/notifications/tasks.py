"""The sender of the outbox: each message in one transaction, at least once (decision 51).

A sender locks the message while it sends it. If it is killed in between, the lock ends with its
session and another one sends the message again, with the same Message-ID.
"""

import smtplib
import time
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from email.utils import format_datetime

import structlog
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.smtp import EmailBackend
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounting.kit.failpoints import reach
from accounting.notifications.models import Notification, NotificationState
from accounting.notifications.reads import is_wanted
from accounting.notifications.rules import (
    DEACTIVATED,
    KEPT,
    LONGEST_PAUSE,
    MOST_ATTEMPTS,
    NO_ADDRESS,
    NO_SERVER,
    TURNED_OFF,
    header_text,
    is_final,
    pause_after,
)

log = structlog.get_logger(__name__)
FAILED, NOT_SENT = NotificationState.FAILED, NotificationState.NOT_SENT


class ServerUnavailable(Exception):
    """The mail server is not reached, or refuses every message: the next ones would fail, too."""


def send_due(*, for_s: float, now: Callable[[], datetime] = timezone.now) -> int:
    """Send what is due, one after the other, for at most so many seconds.

    Several senders may run at once. After a fault of the server itself the rest waits for the next
    run. Returns how many messages were tried.
    """
    until, count = time.monotonic() + for_s, 0
    server = _connection()
    try:
        while time.monotonic() < until and _send_next(server, now):
            count += 1
    except ServerUnavailable as error:
        log.warning("mail server", error=str(error))
    finally:
        _close(server)
    return count


def remove_old(now: datetime) -> int:
    """Delete messages that ended long ago, with their texts. Returns how many."""
    count, _ = Notification.objects.filter(ended_at__lt=now - KEPT).delete()
    return count


def _send_next(server: EmailBackend, now: Callable[[], datetime]) -> bool:
    """Send one message and store what became of it; False if none is due.

    Raises:
        ServerUnavailable: after the fault is stored.
    """
    fault: ServerUnavailable | None = None
    with transaction.atomic():
        at = now()
        due = Q(next_at__lte=at) | Q(
            next_at__gt=at + LONGEST_PAUSE
        )  # a clock went back
        message = (
            Notification.objects.filter(due, state=NotificationState.WAITING)
            .order_by("next_at", "pk")
            .select_for_update(skip_locked=True, of=("self",))
            .select_related("person")
            .first()
        )
        if message is None:
            return False
        reason = _reason_not_to_send(message)
        if reason:
            _end(message, NOT_SENT, at, reason)
        else:
            try:
                _send(server, message)
                reach("notification_sent")
                message.attempts += 1
                _end(message, NotificationState.SENT, at)
            except ServerUnavailable as error:
                _fail(message, now(), str(error), is_over=False)
                fault = error
            except _Refused as error:
                _fail(message, now(), str(error), is_over=error.is_final)
        message.save()
    reach("notification_stored")
    if fault:
        raise fault
    return True


def _reason_not_to_send(message: Notification) -> str:
    """Why a message is not tried at all, or "". Sets the address of a person."""
    if not settings.EMAIL_HOST:
        return NO_SERVER
    if message.person is None:
        return ""
    if not message.person.is_active:
        return DEACTIVATED
    if not is_wanted(message.person, message.kind):
        return TURNED_OFF
    message.address = message.person.email[:254]
    return "" if message.address else NO_ADDRESS


class _Refused(Exception):
    """The mail server refuses one message."""

    def __init__(self, text: str, *, is_final: bool) -> None:
        super().__init__(text)
        self.is_final = is_final


def _send(server: EmailBackend, message: Notification) -> None:
    """Give a message to the server.

    Raises:
        _Refused: the server, or its address, refuses this message.
        ServerUnavailable: nothing can be sent now.
    """
    try:
        validate_email(message.address)
    except ValidationError:
        raise _Refused("The address is not valid.", is_final=True) from None
    try:
        server.open()  # first, so that it stays open for the next message
        server.send_messages([_mail(message)])
    except smtplib.SMTPRecipientsRefused as error:
        code, reply = next(iter(error.recipients.values()))
        _close(server)
        raise _Refused(_said(code, reply), is_final=is_final(code)) from error
    except smtplib.SMTPDataError as error:
        _close(server)
        raise _Refused(
            _said(error.smtp_code, error.smtp_error), is_final=is_final(error.smtp_code)
        ) from error
    except smtplib.SMTPResponseException as error:  # sign-in, sender, greeting
        _close(server)
        raise ServerUnavailable(_said(error.smtp_code, error.smtp_error)) from error
    except OSError as error:  # also all others of smtplib
        _close(server)
        raise ServerUnavailable(_without_password(f"{error}")) from error
    except ValueError as error:  # of a header or an encoding; it would stop all others
        raise _Refused(f"Cannot be written: {error}", is_final=True) from error


def _mail(message: Notification) -> EmailMultiAlternatives:
    mail = EmailMultiAlternatives(
        subject=header_text(message.subject),
        body=message.text,
        to=[message.address],
        headers={
            "Message-ID": message.message_id,
            "Date": format_datetime(message.created_at),
            "Auto-Submitted": "auto-generated",  # RFC 3834: no answers by machines
            "List-Unsubscribe": f"<{settings.PUBLIC_URL}/account/notifications>",
        },
    )
    if message.html:
        mail.attach_alternative(message.html, "text/html")
    return mail


def _fail(message: Notification, at: datetime, error: str, *, is_over: bool) -> None:
    """Store a failed attempt: the message waits for the next one, or has failed."""
    message.attempts += 1
    if is_over:
        _end(message, FAILED, at, error)
    elif message.attempts >= MOST_ATTEMPTS:
        text = f"Gave up after {message.attempts} attempts. Last: {error}"
        _end(message, FAILED, at, text)
    else:
        message.error = error[:500]
        message.next_at = at + pause_after(message.attempts)


def _end(
    message: Notification, state: NotificationState, at: datetime, error: str = ""
) -> None:
    message.state, message.ended_at, message.error = state, at, error[:500]


def _connection() -> EmailBackend:
    """Django's SMTP backend, with the settings of the environment; it connects when it sends."""
    server: EmailBackend = get_connection(
        "django.core.mail.backends.smtp.EmailBackend", fail_silently=False
    )
    return server


def _close(server: EmailBackend) -> None:
    """End the session, also if it is broken; the next message opens another one."""
    with suppress(OSError, smtplib.SMTPException):
        server.close()
    server.connection = None


def _said(code: int, reply: bytes | str) -> str:
    """A reply of the server as text: `550 No such user here`."""
    text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply
    return f"{code} {header_text(_without_password(text))}"  # before it is shortened


def _without_password(text: str) -> str:
    """A text for people; servers may repeat what was sent to them.

    The password is sent in base64: with the name (AUTH PLAIN, RFC 4616), or alone (AUTH LOGIN).
    """
    name, password = settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD
    if not password:
        return text
    sent = (f"\0{name}\0{password}", password)
    encoded = (b64encode(one.encode()).decode().rstrip("=") for one in sent)
    for form in (*encoded, password):
        text = text.replace(form, "***")
    return text
