"""The story of the pages, asked for by programs: one token for each of the cast.

Every answer of every test here is held against the published schema (`contract`).
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from accounting.organization.actions.tokens import SCOPES, create_token
from tests.integration.api.contract import CheckedClient
from tests.story import Story

Ask = Callable[..., Client]
CSV = {"Accept": "text/csv"}


@pytest.fixture
def ask(story: Story, db: None) -> Ask:
    """A program with a token of a person; "" is one without a token.

    Each person has one token per set of scopes in a test.
    """
    del story, db
    secrets: dict[tuple[str, tuple[str, ...]], str] = {}

    def _ask(name: str, *, scopes: tuple[str, ...] = SCOPES) -> Client:
        if not name:
            return CheckedClient()
        secret = secrets.get((name, scopes))
        if secret is None:
            owner = get_user_model().objects.get(username=name)
            own = f"tests {len(secrets) + 1}"  # a person's tokens differ in their names
            _, secret = create_token(owner=owner, name=own, scopes=scopes)
            secrets[name, scopes] = secret
        return CheckedClient(headers={"Authorization": f"Bearer {secret}"})

    return _ask


def problem(answer: Any) -> dict[str, Any]:
    """The problem document of an answer; fails when it is anything else."""
    assert answer.headers["Content-Type"] == "application/problem+json"
    document: dict[str, Any] = answer.json()
    assert document["status"] == answer.status_code
    assert document["type"] == "about:blank"
    assert document["title"]
    assert document["detail"]
    assert document["instance"].startswith("/api/v1/")
    return document
