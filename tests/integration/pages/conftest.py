"""One story for all tests of pages: written once per module, rolled back at its end."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from django.contrib.auth import get_user_model
from django.db import transaction
from django.test import Client
from pytest_django import DjangoDbBlocker

from accounting.ingest import fact_partitions
from tests.story import Story, cast, tell

NOW = datetime(2026, 11, 20, 14, 35, tzinfo=UTC)
SignIn = Callable[[str], Client]


@pytest.fixture(scope="module")
def story(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Story]:
    """Six weeks of an organisation; its data end at 14:35 UTC on 20 November 2026."""
    del django_db_setup
    fact_partitions.forget_known()
    with django_db_blocker.unblock(), transaction.atomic():
        told = tell(NOW)
        cast(told)
        yield told
        transaction.set_rollback(True)
    fact_partitions.forget_known()


@pytest.fixture
def sign_in(story: Story, db: None) -> SignIn:
    """A client of a person of the cast."""
    del story, db

    def _sign_in(name: str) -> Client:
        client = Client()
        client.force_login(get_user_model().objects.get(username=name))
        return client

    return _sign_in
