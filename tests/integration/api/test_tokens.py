"""Tokens: shown once, stored as digests, ended by time, by their owner or with them."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounting.access.models.tokens import ApiToken
from accounting.access.token_use import NOTED_EVERY
from accounting.organization.actions.tokens import (
    LONGEST,
    SCOPES,
    create_token,
    revoke_token,
)
from tests.integration.api.conftest import Ask, problem
from tests.story import Story


def _signed_in(name: str) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.get(username=name))
    return client


def _asking(secret: str, kind: str = "Bearer") -> Client:
    return Client(headers={"Authorization": f"{kind} {secret}"})


def test_a_token_is_made_used_and_ended_on_the_account_page(
    story: Story, db: None
) -> None:
    page = _signed_in("luis")
    values = {"name": "sheet", "days": "30", "scopes": ["read:usage"]}
    secret = page.post("/account/tokens", values, follow=True).context["secret"]
    program = _asking(secret)
    assert program.get("/api/v1/usage").status_code == 200
    token = ApiToken.objects.get(name="sheet")
    page.post("/account/tokens/revoke", {"token": token.token_key})
    answer = program.get("/api/v1/usage")
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    problem(answer)


def test_the_secret_is_nowhere_in_the_database(story: Story, db: None) -> None:
    owner = get_user_model().objects.get(username="luis")
    token, secret = create_token(owner=owner, name="sheet", scopes=["read:usage"])
    assert secret not in str(vars(token))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT t::text FROM accounting_apitoken t WHERE digest = %s",
            [token.digest],
        )
        [(stored,)] = cursor.fetchall()
        cursor.execute("SELECT count(*) FROM pghistory_context")
    assert secret not in stored
    assert token.digest in stored
    assert len(token.digest) >= 64
    # what is kept of it in plain serves to name it, not to guess the rest
    assert secret.startswith(token.token_key)
    assert len(secret) - len(token.token_key) >= 40


def test_an_expired_token_is_refused(story: Story, db: None) -> None:
    owner = get_user_model().objects.get(username="luis")
    token, secret = create_token(owner=owner, name="sheet", scopes=SCOPES)
    assert _asking(secret).get("/api/v1/usage").status_code == 200
    ApiToken.objects.filter(pk=token.pk).update(
        expiry=timezone.now() - timedelta(seconds=1)
    )
    answer = _asking(secret).get("/api/v1/usage")
    assert answer.status_code == 401
    problem(answer)


@pytest.mark.parametrize(
    "wrong", ["", "x", "0" * 64, "a b", "é", "=" * 10_000], ids=lambda w: w[:4]
)
def test_a_wrong_token_is_refused(story: Story, db: None, wrong: str) -> None:
    answer = _asking(wrong).get("/api/v1/usage")
    assert answer.status_code == 401
    problem(answer)


def test_the_beginning_of_a_token_opens_nothing(story: Story, db: None) -> None:
    owner = get_user_model().objects.get(username="luis")
    token, secret = create_token(owner=owner, name="sheet", scopes=SCOPES)
    guesses = (token.token_key, secret[:-1], secret[:-1] + "x", token.digest)
    for guess in guesses:
        assert _asking(guess).get("/api/v1/usage").status_code == 401
    assert _asking(secret, "Token").get("/api/v1/usage").status_code == 401
    assert Client().get(f"/api/v1/usage?token={secret}").status_code == 401


def test_a_token_does_not_open_pages(ask: Ask) -> None:
    answer = ask("ana").get("/teams")
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/sign-in")


def test_a_token_lives_at_most_a_year(story: Story, db: None) -> None:
    owner = get_user_model().objects.get(username="luis")
    for lifetime in (timedelta(0), timedelta(seconds=-1), LONGEST + timedelta(1)):
        with pytest.raises(ValueError, match="at most one year"):
            create_token(owner=owner, name="x", scopes=SCOPES, lifetime=lifetime)
    with pytest.raises(ValueError, match="read:secrets"):
        create_token(owner=owner, name="x", scopes=["read:secrets"])
    token, _ = create_token(owner=owner, name="x", scopes=SCOPES, lifetime=LONGEST)
    assert token.expiry - timezone.now() < LONGEST


def test_only_its_owner_ends_a_token(story: Story, db: None) -> None:
    luis = get_user_model().objects.get(username="luis")
    mia = get_user_model().objects.get(username="mia")
    token, secret = create_token(owner=luis, name="sheet", scopes=SCOPES)
    assert not revoke_token(owner=mia, token_key=token.token_key)
    assert _asking(secret).get("/api/v1/usage").status_code == 200
    assert revoke_token(owner=luis, token_key=token.token_key)
    assert _asking(secret).get("/api/v1/usage").status_code == 401


def test_its_last_use_is_kept(story: Story, db: None) -> None:
    owner = get_user_model().objects.get(username="luis")
    token, secret = create_token(owner=owner, name="sheet", scopes=SCOPES)
    assert token.last_used_at is None
    _asking(secret).get("/api/v1/usage")
    token.refresh_from_db()
    assert token.last_used_at is not None


def test_its_last_use_is_written_once_a_minute(story: Story, db: None) -> None:
    owner = get_user_model().objects.get(username="luis")
    token, secret = create_token(owner=owner, name="sheet", scopes=SCOPES)
    program = _asking(secret)

    def writes() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert program.get("/api/v1/teams").status_code == 200
        return sum('UPDATE "accounting_apitoken"' in one["sql"] for one in asked)

    assert [writes(), writes()] == [1, 0]
    earlier = timezone.now() - NOTED_EVERY - timedelta(seconds=5)
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=earlier)
    assert [writes(), writes()] == [1, 0]
