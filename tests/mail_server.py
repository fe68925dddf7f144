"""A real SMTP server in a thread: keeps what it receives, and refuses what a test wants."""

import email
import email.policy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.ports import free_port

PASSWORD = "opens the mail server"  # of this server alone


@dataclass
class Mailbox:
    """What the server received, and its answers.

    Attributes:
        received: in order, with repeats.
        answers: replies to recipients, by address, instead of accepting them.
        data_answer: a reply to each message instead of accepting it.
    """

    received: list[EmailMessage] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    data_answer: str = ""
    port: int = 0

    async def handle_RCPT(  # noqa: N802  # as the library names it
        self,
        server: SMTP,
        session: Session,
        envelope: Envelope,
        address: str,
        options: list[str],
    ) -> str:
        """Accept or refuse a recipient."""
        del server, session, options
        if address in self.answers:
            return self.answers[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802  # as the library names it
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        """Keep a message."""
        del server, session
        if self.data_answer:
            return self.data_answer
        content = envelope.content
        assert isinstance(content, bytes)
        message = email.message_from_bytes(content, policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        self.received.append(message)
        return "250 OK"

    @property
    def ids(self) -> list[str]:
        """The Message-IDs of what was received, in order."""
        return [str(message["Message-ID"]) for message in self.received]


@contextmanager
def mail_server(*, is_closed_to_strangers: bool = False) -> Iterator[Mailbox]:
    """A server on a free port of this machine; with a password if it is closed to strangers."""

    def check(
        server: SMTP,
        session: Session,
        envelope: Envelope,
        mechanism: str,
        given: object,
    ) -> AuthResult:
        del server, session, envelope, mechanism
        is_right = (
            isinstance(given, LoginPassword) and given.password == PASSWORD.encode()
        )
        return AuthResult(success=is_right, handled=False)

    mailbox = Mailbox(port=free_port())
    options: dict[str, Any] = (
        {
            "auth_required": True,
            "auth_require_tls": False,
            "authenticator": check,
        }
        if is_closed_to_strangers
        else {}
    )
    controller = Controller(mailbox, hostname="127.0.0.1", port=mailbox.port, **options)
    controller.start()
    try:
        yield mailbox
    finally:
        controller.stop()
