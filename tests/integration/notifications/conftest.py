"""A mail server, settings that name it, and people with addresses."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from accounting.access.models.people import Person
from tests.mail_server import Mailbox, mail_server


def use(settings: Settings, port: int, password: str = "") -> None:
    """Send to a server of this machine."""
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    settings.EMAIL_HOST_USER = "ledger" if password else ""
    settings.EMAIL_HOST_PASSWORD = password
    settings.EMAIL_TIMEOUT = 2
    settings.DEFAULT_FROM_EMAIL = "GPU Ledger <ledger@example.org>"


@pytest.fixture
def mailbox(settings: Settings) -> Iterator[Mailbox]:
    """A mail server that accepts everything."""
    with mail_server() as box:
        use(settings, box.port)
        yield box


@pytest.fixture
def luis(db: None) -> User:
    """A person with an address."""
    del db
    user = User.objects.create_user("luis", "luis@example.org")
    Person.objects.create(user=user)
    return user
