"""Quotas on the demo's API server, for tests of pages: applied once for each module."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from pytest_django import DjangoDbBlocker

from tests.integration.changes.office import Office
from tests.integration.conftest import SignIn
from tests.integration.quotas.desk import desks_of
from tests.story import Story

Desks = Callable[[], AbstractContextManager[Office]]


@pytest.fixture(scope="module")
def desks(
    story: Story,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Desks]:
    """Gives each test the desk as it was at first."""
    folder = tmp_path_factory.mktemp("desk")
    with django_db_blocker.unblock(), desks_of(story, folder) as again:
        yield again


@pytest.fixture
def desk(desks: Desks, sign_in: SignIn) -> Iterator[Office]:
    """Quotas of three teams and two tiers, applied by one change set."""
    del sign_in
    with desks() as office:
        yield office
