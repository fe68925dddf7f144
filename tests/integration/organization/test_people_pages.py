"""People and teams on their pages: added, changed, signed out, deactivated by administrators.

Who may open them: `tests/integration/access`. The rules of the verbs: `test_access.py`.
"""

from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client

from accounting.access.models.account import SignInOutcome, SignInRecord
from accounting.access.models.people import Membership, OrganizationRole, Person
from accounting.access.models.teams import Team
from accounting.access.models.tokens import ApiToken
from accounting.kit.outcomes import Refused
from accounting.organization.actions.people import save_person
from accounting.organization.actions.teams import save_team
from accounting.organization.actions.tokens import create_token
from tests.integration.conftest import SignIn
from tests.integration.savings.test_pages import text
from tests.page_html import html_of
from tests.story import Story

CHOSEN = "another horse battery staple"
NEW = {"name": "hana@example.com", "role": "viewer", "team": "vision"}


def named(name: str) -> User:
    found: User = get_user_model().objects.get(username=name)
    return found


def said(answer: Any) -> str:
    """The messages that a post leaves for the next page."""
    return " ".join(str(one) for one in get_messages(answer.wsgi_request))


def of(name: str, verb: str = "") -> str:
    return f"/people/{named(name).pk}" + (f"/{verb}" if verb else "")


def test_a_new_person_chooses_a_password_by_the_link_that_is_shown_once(
    sign_in: SignIn,
) -> None:
    ana = sign_in("ana")
    made = ana.post("/people/new", NEW | {"team_role": "lead"})
    assert made.headers["Location"] == of("hana@example.com")
    page = ana.get(made.headers["Location"])
    link = page.context["link"]
    assert link in html_of(page)
    assert "Has not chosen a password" in text(page)
    assert "Vision lead" in text(page)
    assert ana.get(made.headers["Location"]).context["link"] == "", "shown once"
    hana = Client()
    opened = hana.get(urlsplit(link).path, follow=True)
    where = opened.request["PATH_INFO"]
    hana.post(where, {"new_password1": CHOSEN, "new_password2": CHOSEN})
    assert hana.login(username="hana@example.com", password=CHOSEN)
    assert hana.get("/waste").status_code == 200, "as a lead"
    assert hana.get("/people").status_code == 403


def test_a_name_is_stored_as_sign_in_reads_it(sign_in: SignIn) -> None:
    """Ligatures and full-width letters: the account was made, and the answer was 500."""
    ana = sign_in("ana")
    made = ana.post("/people/new", NEW | {"name": "\N{LATIN SMALL LIGATURE FI}ona"})
    assert made.headers["Location"] == of("fiona")
    assert ana.get(of("fiona")).context["link"]
    again = ana.post("/people/new", {"name": "\uff4dia", "role": "admin"})
    assert "mia has an account already." in str(again.context["form"].errors)
    call_command("person", "\N{LATIN SMALL LIGATURE FI}ona", "--deactivate")
    assert not named("fiona").is_active


@pytest.mark.django_db
def test_who_adds_the_same_at_the_same_time_changes_nothing(story: Story) -> None:
    """The form of the second one was checked before the first one was saved."""
    del story
    with pytest.raises(Refused, match="mia has an account already"):
        save_person("mia", role="admin", is_new=True, actor="ana", reason="test")
    assert not Person.objects.filter(user=named("mia"), role="admin").exists()
    values = {"slug": "vision", "name": "Other", "department": "", "cost_centre": ""}
    with pytest.raises(ValidationError, match="already exists"):
        save_team(**values, is_new=True, actor="ana")
    assert Team.objects.get(slug="vision").name == "Vision"


def test_a_second_link_ends_the_first(sign_in: SignIn) -> None:
    ana, links = sign_in("ana"), []
    for _ in range(2):
        ana.post(of("mia", "link"))
        links.append(urlsplit(ana.get(of("mia")).context["link"]).path)
    first, second = (Client().get(link, follow=True) for link in links)
    assert first.status_code == 404
    assert second.status_code == 200


def test_a_link_is_shown_on_the_page_of_its_person_only(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    ana.post(of("mia", "link"))
    assert ana.get(of("luis")).context["link"] == ""
    assert ana.get(of("mia")).context["link"], (
        "a look at somebody else does not lose it"
    )


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"name": "mia"}, "mia has an account already."),
        ({"name": "ha na"}, "is not a valid user name"),
        ({"name": ""}, "This field is required."),
        ({"role": "king"}, "Select a valid choice."),
        ({"team": "nobody"}, "Select a valid choice."),
    ],
)
def test_a_wrong_person_is_refused_and_nothing_is_made(
    sign_in: SignIn, changes: dict[str, str], error: str
) -> None:
    before = User.objects.count()
    answer = sign_in("ana").post("/people/new", NEW | changes)
    assert answer.status_code == 422
    assert error in html_of(answer)
    assert User.objects.count() == before


def test_roles_change_and_the_last_administrator_stays(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    assert "role of mia: viewer -> finance." in said(
        ana.post(of("mia", "role"), {"role": "finance"})
    )
    assert Person.objects.get(user=named("mia")).role == OrganizationRole.FINANCE
    for verb, fields in (("role", {"role": "viewer"}), ("active", {"active": "no"})):
        refused = said(ana.post(of("ana", verb), fields))
        assert "is the only administrator" in refused
    assert Person.objects.get(user=named("ana")).role == OrganizationRole.ADMIN
    assert named("ana").is_active
    assert "Select a valid choice" in said(ana.post(of("mia", "role"), {"role": "x"}))


@pytest.mark.parametrize(
    ("verb", "fields", "status"),
    [("role", {"role": "viewer"}, 200), ("active", {"active": "no"}, 302)],
)
def test_who_gives_up_their_own_role_is_led_to_a_page_that_they_may_open(
    sign_in: SignIn, verb: str, fields: dict[str, str], status: int
) -> None:
    """It was the page of the person, which answered 403."""
    ana = sign_in("ana")
    save_person("bea", role="admin", actor="ana", reason="test")
    answer = ana.post(of("ana", verb), fields)
    assert answer.headers["Location"] == "/"
    assert ana.get("/").status_code == status


def test_a_person_joins_leads_and_leaves_a_team(sign_in: SignIn) -> None:
    ana = sign_in("ana")

    def give(role: str) -> str:
        return said(ana.post(of("omar", "team"), {"team": "search", "team_role": role}))

    assert "omar is viewer of search." in give("viewer")
    assert "omar is lead of search." in give("lead")
    assert give("lead").endswith("Nothing changed.")
    assert "Search lead" in text(ana.get(of("omar")))
    assert "omar left search." in give("leave")
    assert not Membership.objects.filter(user=named("omar")).exists()


def test_deactivation_ends_sessions_and_tokens_for_good(sign_in: SignIn) -> None:
    ana, mia = sign_in("ana"), sign_in("mia")
    create_token(owner=named("mia"), name="sheet", scopes=["read:usage"])
    page = ana.get(of("mia"))
    assert page.context["sessions"] == 1
    assert "sheet" in text(page)
    assert "mia is deactivated; token sheet of mia was revoked." in said(
        ana.post(of("mia", "active"), {"active": "no"})
    )
    assert mia.get("/teams").headers["Location"].startswith("/sign-in")
    assert not ApiToken.objects.filter(user=named("mia")).exists()
    assert "has no active account" in said(ana.post(of("mia", "link")))
    assert "Deactivated 1" in text(ana.get("/people"))
    assert "mia is active again." in said(
        ana.post(of("mia", "active"), {"active": "yes"})
    )
    assert mia.get("/teams").status_code == 302, "the old session stays ended"


def test_signed_out_everywhere_keeps_the_password_and_is_recorded(
    sign_in: SignIn,
) -> None:
    ana, mia = sign_in("ana"), sign_in("mia")
    password = named("mia").password
    assert "mia is signed out everywhere." in said(ana.post(of("mia", "sign-out")))
    assert mia.get("/teams").status_code == 302
    assert ana.get("/teams").status_code == 200, "nobody else"
    assert named("mia").password == password
    ended = SignInRecord.objects.get(account="mia", outcome=SignInOutcome.ENDED)
    assert ended.address is None
    own = ana.post(of("ana", "sign-out"))
    assert own.headers["Location"].startswith("/sign-in")
    assert ana.get("/teams").status_code == 302


def test_a_token_of_somebody_is_revoked_and_only_of_them(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    token, _ = create_token(owner=named("mia"), name="sheet", scopes=["read:usage"])
    fields = {"token": token.token_key}
    assert "luis has no such token." in said(ana.post(of("luis", "token"), fields))
    assert "The token is revoked." in said(ana.post(of("mia", "token"), fields))
    assert not ApiToken.objects.filter(user=named("mia")).exists()


def test_administrators_go_from_members_to_people(sign_in: SignIn) -> None:
    ana, luis = (
        html_of(sign_in(who).get("/teams/vision/rules")) for who in ("ana", "luis")
    )
    assert f'href="{of("luis")}"' in ana
    assert 'href="/people/new?team=vision"' in ana
    assert "/people" not in luis, "leads may not open it"
    form = html_of(sign_in("ana").get("/people/new?team=vision"))
    assert '<option value="vision" selected>' in form


def test_people_are_counted_filtered_and_found(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    page = ana.get("/people")
    rows = page.context["page"].lines
    assert len(rows) == page.context["everybody"] == User.objects.count()
    counts = {kind: count for kind, _, count in page.context["kinds"]}
    assert sum(counts.values()) == len(rows)
    for kind, count in counts.items():
        assert ana.get(f"/people?kind={kind}").context["page"].count == count
    assert [row.name for row in ana.get("/people?q=LUI").context["page"].lines] == [
        "luis"
    ]
    assert "Vision (lead)" in text(ana.get("/people?q=luis"))
    assert "Nobody found" in text(ana.get("/people?q=zzz"))
    assert ana.get("/people?kind=king").status_code == 400
    assert ana.get("/people/999999").status_code == 404


def test_a_team_is_added_and_renamed(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    fields = {"slug": "audio", "name": "Audio", "department": "Research"}
    assert (
        ana.post("/people/teams/new", fields | {"cost_centre": "R-9"}).status_code
        == 302
    )
    team = Team.objects.get(slug="audio")
    assert (team.name, team.department, team.cost_centre) == (
        "Audio",
        "Research",
        "R-9",
    )
    change = {"name": "Sound", "department": "", "cost_centre": "R-9", "slug": "other"}
    assert ana.post("/people/teams/audio", change).status_code == 302
    team.refresh_from_db()
    assert (team.slug, team.name, team.department) == ("audio", "Sound", "")
    assert "Sound audio" in text(ana.get("/people/teams"))
    assert ana.get("/people/teams/nobody").status_code == 404


@pytest.mark.parametrize(
    ("slug", "name", "error"),
    [
        ("vision", "Another", "vision is the short name of a team."),
        ("platform", "Ours", "platform"),
        ("audio", "Platform", "Platform"),
        ("Au dio", "Audio", "valid"),
    ],
)
def test_a_wrong_team_is_refused(
    sign_in: SignIn, slug: str, name: str, error: str
) -> None:
    before = Team.objects.count()
    answer = sign_in("ana").post("/people/teams/new", {"slug": slug, "name": name})
    assert answer.status_code == 422
    [shown] = [list(one) for one in answer.context["form"].errors.values()]
    assert error in " ".join(shown)
    assert Team.objects.count() == before
    assert Team.objects.get(slug="vision").name == "Vision"
