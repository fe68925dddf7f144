"""The story that tests of pages and of REST read: written once per run."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from pytest_django import DjangoDbBlocker

from tests.database_copies import written_once
from tests.story import Story
from tests.story_database import borrowed, written

NOW = datetime(2026, 11, 20, 14, 35, tzinfo=UTC)
SignIn = Callable[[str], Client]


@pytest.fixture(scope="session")
def story_database(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, folder_of_run: Path
) -> Iterator[tuple[str, bytes]]:
    """The story in a database of its own: its name, and the pickled story."""
    del django_db_setup
    with ExitStack() as stack:
        with django_db_blocker.unblock():
            found = stack.enter_context(written(NOW, folder_of_run))
        yield found
        with django_db_blocker.unblock():
            stack.close()


WriteOnce = Callable[[str, Callable[[], object]], str]


@pytest.fixture(scope="module")
def write_once(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[WriteOnce]:
    """Writes data into a copy of the database; returns its name. The module's end drops it."""
    del django_db_setup
    with ExitStack() as stack:

        def write(label: str, data: Callable[[], object]) -> str:
            with django_db_blocker.unblock():
                return stack.enter_context(written_once(label, data))

        yield write
        with django_db_blocker.unblock():
            stack.close()


@pytest.fixture(scope="module")
def story(
    story_database: tuple[str, bytes], django_db_blocker: DjangoDbBlocker
) -> Iterator[Story]:
    """Six weeks of an organization; its data end at 14:35 UTC on 20 November 2026."""
    with django_db_blocker.unblock(), borrowed(*story_database) as story:
        yield story


@pytest.fixture
def sign_in(story: Story, db: None) -> SignIn:
    """A client of a person of the cast."""
    del story, db

    def _sign_in(name: str) -> Client:
        client = Client()
        client.force_login(get_user_model().objects.get(username=name))
        return client

    return _sign_in
