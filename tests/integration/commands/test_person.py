"""`manage.py person`: the first administrator and everybody after, as typed at a shell."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from accounting.access.models.account import SignInRecord
from accounting.access.models.people import Membership
from accounting.access.models.teams import Team
from accounting.access.models.tokens import ApiToken
from accounting.access.scope import scope_of
from accounting.organization.actions.sign_in_attempts import (
    PAUSE,
    PER_ACCOUNT,
    PER_ACCOUNT_AND_SITE,
    PER_DEVICE,
    PER_SITE,
)
from accounting.organization.actions.tokens import create_token
from tests.integration.commands.conftest import database, run

ROOT = Path(__file__).resolve().parents[3]
PASSWORD = "correct horse battery staple"

pytestmark = pytest.mark.django_db


@pytest.fixture
def teams(db: None) -> None:
    """Two teams."""
    del db
    for slug in ("vision", "search"):
        Team.objects.create(slug=slug, name=slug.title(), colour_slot=1)


def link_of(out: str) -> str:
    """The path of the link that a command printed."""
    [line] = [line for line in out.splitlines() if line.startswith("http")]
    return urlsplit(line).path


def choose(path: str, password: str = PASSWORD) -> tuple[Client, int]:
    """Open a link, and choose a password on the page behind it."""
    browser = Client()
    page = browser.get(path, follow=True)
    if page.status_code != 200:
        return browser, page.status_code
    where = page.redirect_chain[-1][0]
    fields = {"new_password1": password, "new_password2": password}
    return browser, browser.post(where, fields).status_code


def test_the_first_administrator_signs_in() -> None:
    made = run("person", "ana", "--role", "admin")
    assert made.code == 0
    assert "role of ana: viewer -> admin" in made.out
    assert "has not chosen a password" in made.out
    browser, code = choose(link_of(made.out))
    assert code == 302
    assert browser.get("/setup").status_code == 200
    assert browser.get("/setup").context["steps"][0].state == "done"
    user = get_user_model().objects.get(username="ana")
    assert scope_of(user).is_admin
    again = run("person", "ana", "--role", "admin")
    assert "no changes" in again.out
    assert "http" not in again.out


def test_a_link_works_once_and_not_for_a_deactivated_person() -> None:
    path = link_of(run("person", "ana", "--role", "admin").out)
    other = link_of(run("person", "ana", "--link").out)
    assert choose(path)[1] == 404, "a later link ends it"
    assert choose(other)[1] == 302
    assert choose(other)[1] == 404
    run("person", "ben", "--role", "admin")
    path = link_of(run("person", "ben", "--link").out)
    run("person", "ben", "--deactivate")
    assert choose(path)[1] == 404
    refused = run("person", "ben", "--link")
    assert refused.code == 2
    assert "no active account" in refused.err


def test_an_easy_password_is_refused_behind_a_link() -> None:
    path = link_of(run("person", "ana", "--role", "admin").out)
    browser, code = choose(path, "12345678")
    assert code == 200
    assert "/sign-in" in browser.get("/").headers["Location"]


def test_roles_and_teams_are_given_and_taken(teams: None) -> None:
    out = run(
        "person",
        "luis",
        "--role",
        "viewer",
        "--team",
        "vision:lead",
        "--team",
        "search",
    ).out
    assert "luis is lead of vision" in out
    assert "luis is viewer of search" in out
    changed = run("person", "luis", "--team", "vision", "--leave", "search").out
    assert "luis is viewer of vision" in changed
    assert "luis left search" in changed
    rows = Membership.objects.values_list("team__slug", "role")
    assert list(rows) == [("vision", "viewer")]
    assert "vision" in run("person").out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["luis"], "'luis' is not a person"),
        (["luis", "--team", "nobody"], "'nobody' is not a team; known teams:"),
        (["luis", "--team", "vision:boss"], "write SLUG or SLUG:lead"),
        (["luis", "--team", "vision", "--team", "vision:lead"], "used more than once"),
        (
            ["luis", "--team", "vision", "--leave", "vision"],
            "with both --team and --leave",
        ),
        (["lu is", "--role", "admin"], "'lu is' is not a valid user name"),
        (["l" * 151, "--role", "admin"], "is not a valid user name"),
        (["luis", "--role", "admin", "--password-file", "/no/file"], "cannot be read"),
    ],
)
def test_wrong_use_changes_nothing(teams: None, words: list[str], reason: str) -> None:
    before = database()
    ended = run("person", *words)
    assert ended.code == 2
    assert reason in ended.err
    assert database() == before


def test_an_easy_password_in_a_file_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("password\n")
    before = database()
    ended = run("person", "ana", "--role", "admin", "--password-file", str(file))
    assert ended.code == 2
    assert "too common" in ended.err
    assert database() == before
    file.write_text(f"{PASSWORD}\nsecond line\n")
    assert (
        run("person", "ana", "--role", "admin", "--password-file", str(file)).code == 0
    )
    assert Client().login(username="ana", password=PASSWORD)


def test_deactivation_ends_sessions_and_tokens(tmp_path: Path) -> None:
    run("person", "root", "--role", "admin")
    browser, _ = choose(link_of(run("person", "ana", "--role", "finance").out))
    user = get_user_model().objects.get(username="ana")
    _, secret = create_token(owner=user, name="sheet", scopes=["read:usage"])
    program = Client(headers={"Authorization": f"Bearer {secret}"})
    assert browser.get("/account").status_code == 200
    assert program.get("/api/v1/usage").status_code == 200
    out = run("person", "ana", "--deactivate").out
    assert "token sheet of ana was revoked" in out
    assert browser.get("/account").status_code == 302
    assert program.get("/api/v1/usage").status_code == 401
    assert not ApiToken.objects.exists()
    run("person", "ana", "--activate")
    assert browser.get("/account").status_code == 302
    assert program.get("/api/v1/usage").status_code == 401
    browser.post("/sign-in", {"username": "ana", "password": PASSWORD})
    assert browser.get("/account").status_code == 200


def test_what_ended_with_a_deactivation_does_not_come_back() -> None:
    run("person", "root", "--role", "admin")
    first, _ = choose(link_of(run("person", "ana", "--role", "finance").out))
    second = Client()
    second.post("/sign-in", {"username": "ana", "password": PASSWORD})
    other, _ = choose(link_of(run("person", "ben", "--role", "finance").out))
    link = link_of(run("person", "ana", "--link").out)
    run("person", "ana", "--deactivate")
    run("person", "ana", "--activate")
    for browser in (first, second):
        assert browser.get("/account").status_code == 302
        assert browser.get("/api/v1/usage").status_code == 401
    assert choose(link, "one more horse battery staple")[1] == 404
    assert other.get("/account").status_code == 200
    again = Client()
    again.post("/sign-in", {"username": "ana", "password": PASSWORD})
    assert again.get("/account").status_code == 200


def test_a_session_that_an_earlier_version_left_ends_with_the_activation() -> None:
    run("person", "root", "--role", "admin")
    browser, _ = choose(link_of(run("person", "ana", "--role", "finance").out))
    get_user_model().objects.filter(username="ana").update(is_active=False)
    run("person", "ana", "--activate")
    assert browser.get("/account").status_code == 302


@pytest.mark.parametrize("way", ["file", "link"])
def test_a_password_set_by_others_revokes_tokens(way: str, tmp_path: Path) -> None:
    choose(link_of(run("person", "ana", "--role", "admin").out))
    user = get_user_model().objects.get(username="ana")
    _, secret = create_token(owner=user, name="sheet", scopes=["read:usage"])
    program = Client(headers={"Authorization": f"Bearer {secret}"})
    if way == "file":
        file = tmp_path / "password"
        file.write_text("another horse battery staple\n")
        out = run("person", "ana", "--password-file", str(file)).out
        assert "token sheet of ana was revoked" in out
    else:
        out = run("person", "ana", "--link").out
        assert "using it revokes API tokens of ana" in out
        assert program.get("/api/v1/usage").status_code == 200
        page = Client().get(link_of(out), follow=True)
        assert "It also revokes the API token of the account" in " ".join(
            page.content.decode().split()
        )
        assert choose(link_of(out), "another horse battery staple")[1] == 302
    assert program.get("/api/v1/usage").status_code == 401


@pytest.mark.parametrize("words", [["--deactivate"], ["--role", "viewer"]])
def test_the_last_administrator_stays(words: list[str]) -> None:
    run("person", "ana", "--role", "admin")
    before = database()
    ended = run("person", "ana", *words)
    assert ended.code == 2
    assert "the only administrator" in ended.err
    assert database() == before
    run("person", "ben", "--role", "admin")
    assert run("person", "ana", *words).code == 0


def test_links_are_on_record() -> None:
    run("person", "ana", "--role", "admin")
    rows = SignInRecord.objects.values_list("account", "outcome", "address")
    assert list(rows) == [("ana", "link", None)]


def test_the_page_about_people_runs_as_it_stands(teams: None) -> None:
    """Each line of the block in docs/operations.md, with what it says of itself after."""
    page = (
        (ROOT / "docs/operations.md").read_text().partition("## People and sign-in")[2]
    )
    lines = page.split("```")[1].strip().splitlines()
    outs = []
    for line in lines:
        python, manage, *words = line.split()
        assert (python, manage) == ("python", "manage.py")
        ended = run(*words)
        assert ended.code == 0, ended.err
        outs.append(ended.out)
    assert [("http" in out) for out in outs] == [True, True, True, False, False]
    assert "valid for 24 hours" in outs[0]
    assert "deactivated" in outs[4]
    assert (PER_DEVICE, PER_ACCOUNT_AND_SITE, PER_SITE, PER_ACCOUNT) == (10, 5, 30, 50)
    assert PAUSE.total_seconds() == 15 * 60
