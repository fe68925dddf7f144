"""The account page: password, sign-ins, and tokens that reload does not make twice."""

import pytest
from django.contrib.auth import get_user_model

from accounting.access.models.tokens import ApiToken
from accounting.organization.actions.sign_in_attempts import PER_DEVICE
from tests.integration.conftest import SignIn
from tests.page_html import html_of
from tests.story import PASSWORD

NEW = "another horse battery staple"
TOKEN = {"name": "sheet", "days": "30", "scopes": ["read:usage"]}


def test_a_token_is_shown_once_and_reload_makes_no_second(sign_in: SignIn) -> None:
    client = sign_in("ana")
    made = client.post("/account/tokens", TOKEN)
    assert (made.status_code, made.headers["Location"]) == (302, "/account")
    page = client.get("/account")
    secret = page.context["secret"]
    assert secret in html_of(page)
    again = client.get("/account")
    assert again.context["secret"] == ""
    assert secret not in html_of(again)
    assert ApiToken.objects.filter(name="sheet").count() == 1


def test_names_of_tokens_are_unique_to_a_person(sign_in: SignIn) -> None:
    client = sign_in("ana")
    client.post("/account/tokens", TOKEN)
    second = client.post("/account/tokens", TOKEN)
    assert second.status_code == 422
    assert "You already have a token named &#x27;sheet&#x27;" in html_of(second)
    assert sign_in("luis").post("/account/tokens", TOKEN).status_code == 302
    assert ApiToken.objects.filter(name="sheet").count() == 2


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        (("wrong", NEW, NEW), "old password was entered incorrectly"),
        ((PASSWORD, NEW, "other"), "didn’t match"),
        ((PASSWORD, "12345678", "12345678"), "too common"),
    ],
)
def test_a_wrong_change_of_password_says_why(
    sign_in: SignIn, fields: tuple[str, str, str], error: str
) -> None:
    names = ("old_password", "new_password1", "new_password2")
    answer = sign_in("ana").post(
        "/account/password", dict(zip(names, fields, strict=True))
    )
    assert answer.status_code == 422
    page = html_of(answer)
    assert error.replace("’", "&#x27;") in page or error in page
    assert "wrong" not in page.split("<form", 1)[1].split("value=")[0]


@pytest.mark.parametrize(
    ("box", "left", "told"),
    [
        ({}, 1, "Your API tokens still work."),
        ({"revokes_tokens": "on"}, 0, "Your API tokens are revoked."),
    ],
)
def test_an_own_new_password_revokes_tokens_if_wanted(
    sign_in: SignIn, box: dict[str, str], left: int, told: str
) -> None:
    client = sign_in("ana")
    assert "Also revoke my API tokens" not in html_of(client.get("/account"))
    client.post("/account/tokens", TOKEN)
    assert "Also revoke my API tokens" in html_of(client.get("/account"))
    fields = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    answer = client.post("/account/password", fields | box, follow=True)
    assert told in html_of(answer)
    assert ApiToken.objects.filter(name="sheet").count() == left


def test_guessing_the_password_of_an_open_session_is_limited(sign_in: SignIn) -> None:
    client = sign_in("ana")
    fields = {"old_password": "guess", "new_password1": NEW, "new_password2": NEW}
    codes = [
        client.post("/account/password", fields).status_code
        for _ in range(PER_DEVICE + 2)
    ]
    assert codes == [422] * PER_DEVICE + [302] * 2
    user = get_user_model().objects.get(username="ana")
    assert not user.check_password(NEW)


def test_recent_sign_ins_are_listed(sign_in: SignIn) -> None:
    client = sign_in("ana")
    for password in ("guess", "guess again", PASSWORD):
        client.get("/sign-in")
        type(client)().post("/sign-in", {"username": "ana", "password": password})
    page = html_of(client.get("/account"))
    assert "2 failed attempts since" in page
    assert "Signed in" in page
