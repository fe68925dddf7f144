"""An error of ours: a page that needs no database, a problem document for programs."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from pytest_django import Settings

from tests.page_html import html_of


@pytest.fixture
def client(db: None, settings: Settings) -> Client:
    """Somebody who is signed in; `/fails` fails."""
    del db
    settings.ROOT_URLCONF = "tests.browser.failing_urls"
    client = Client(raise_request_exception=False)
    client.force_login(get_user_model().objects.create_user("ana"))
    return client


def test_a_page_that_fails_names_its_request_as_the_log_does(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.get("/fails?a=%3Cb%3E")
    page = html_of(answer)
    assert answer.status_code == 500
    shown = re.search(r'<code id="request-id">([0-9a-f-]{36})</code>', page)
    assert shown is not None
    assert shown[1] in caplog.text
    assert 'href="/fails?a=%3Cb%3E"' in page
    assert "RuntimeError" not in page
    for sheet in ("tokens", "base", "frame", "components"):
        assert f'href="/static/css/{sheet}.css">' in page


def test_what_was_sent_is_not_offered_to_be_sent_again(client: Client) -> None:
    page = html_of(client.post("/fails"))
    assert "Your changes may have been saved" in page
    assert "Try again" not in page


def test_a_program_gets_a_problem_document(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.get("/api/v1/fails")
    assert answer.status_code == 500
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["request_id"] in caplog.text
    assert len(answer.json()["request_id"]) == 36
