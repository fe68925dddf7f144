"""Saved views of Explore: who sees, saves, renames and deletes which, and what the audit log says.

Not here: what a view shows when it is opened (`test_explore.py`).
"""

from collections.abc import Iterator

import pytest
import time_machine
from django.apps import apps
from django.contrib.auth import get_user_model
from django.test import Client

from accounting.access.models.people import Membership
from accounting.explore.actions import MOST_VIEWS
from accounting.explore.models import SavedView
from accounting.explore.reads.views import query_of
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import Story

QUERY = "by=tier&then=week&not_team=search"


@pytest.fixture(autouse=True)
def frozen(story: Story, db: None) -> Iterator[None]:
    del story, db
    with time_machine.travel(NOW, tick=False):
        yield


def save(client: Client, name: str, audience: str, query: str = QUERY) -> int:
    """Save a view; the status of the answer."""
    given = {"name": name, "audience": audience}
    return client.post(f"/explore/views/new?{query}", given).status_code


def seen(client: Client) -> dict[str, bool]:
    """The names of views that a person sees, and whether they may change them."""
    page = client.get("/explore/views").context["page"]
    return {row.name: row.is_own for row in page.lines}


def test_who_sees_saves_and_changes_which_view(sign_in: SignIn) -> None:
    """luis leads Vision, where mia is not in it; ana and fin are in no team."""
    luis, mia, ana, fin = map(sign_in, ("luis", "mia", "ana", "fin"))
    Membership.objects.filter(user__username="mia").update(role="viewer")
    assert save(luis, "Own", "mine") == 302
    assert save(luis, "Of Vision", "team:vision") == 302
    assert save(luis, "Of Search", "team:search") == 422
    assert save(luis, "Of all", "all") == 422
    assert save(mia, "Of Vision, too", "team:vision") == 422
    assert save(ana, "Of all", "all") == 302
    assert save(ana, "Of Vision again", "team:vision") == 422
    assert seen(luis) == {"Own": True, "Of Vision": True, "Of all": False}
    assert seen(ana) == {"Of all": True}
    assert seen(fin) == {"Of all": True}
    team = Membership.objects.filter(user__username="mia", team__slug="vision")
    assert seen(mia).get("Of Vision") == (False if team.exists() else None)
    views = {view.name: view.pk for view in SavedView.objects.all()}
    for client, name, status in (
        (fin, "Own", 404),
        (ana, "Of Vision", 404),
        (luis, "Of all", 403),
        (sign_in("omar"), "Of Vision", 404),
    ):
        for verb in ("rename", "delete"):
            address = f"/explore/views/{views[name]}/{verb}"
            answer = client.post(address, {"name": "Taken over"})
            assert answer.status_code == status, (name, verb)
    assert {view.name for view in SavedView.objects.all()} == set(views)
    renamed = fin.post(f"/explore/views/{views['Of all']}/rename", {"name": "Costs"})
    assert renamed.status_code == 302
    assert luis.post(f"/explore/views/{views['Own']}/delete").status_code == 302
    assert seen(luis) == {"Of Vision": True, "Costs": False}


def test_a_view_opens_what_was_saved(sign_in: SignIn) -> None:
    luis = sign_in("luis")
    assert save(luis, "Tiers", "mine", f"{QUERY}&page=2&next=//evil.example") == 302
    page = html_of(luis.get("/explore"))
    assert f"/explore?{QUERY.replace('&', '&amp;')}" in page
    [row] = luis.get("/explore/views").context["page"].lines
    assert row.url == f"/explore?{QUERY}"
    state = luis.get(row.url).context["state"]
    assert state.by == ("tier", "week")
    shown = html_of(luis.get(row.url)).partition(">Tiers<")[0]
    assert shown.rstrip().endswith('aria-current="page"')  # it does not lead elsewhere
    assert state.excludes == {"team": ("search",)}
    fixed = "from=2026-10-01&to=2026-11-01&close=2026-10-r1"
    assert save(luis, "October", "mine", fixed) == 302
    assert "Fixed to the closes" in html_of(luis.get("/explore/views"))


def test_names_that_cannot_be_used(sign_in: SignIn) -> None:
    luis = sign_in("luis")
    assert save(luis, "  Two   words ", "mine") == 302
    for name, words in (
        ("Two words", "already"),
        ("", "required"),
        ("x" * 81, "at most 80"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}noisiv", "This text"),
    ):
        answer = luis.post(
            f"/explore/views/new?{QUERY}", {"name": name, "audience": "mine"}
        )
        assert answer.status_code == 422
        assert words in html_of(answer), name
    assert save(luis, "Two words", "team:vision") == 302  # of other people
    hostile = "<script>alert(1)</script>"
    assert save(luis, hostile, "mine") == 302
    assert hostile not in html_of(luis.get("/explore/views"))
    many = "&".join(f"namespace={'n' * 200}{n}" for n in range(30))
    assert save(luis, "Long", "mine", many) == 422


def test_a_person_has_an_end_of_views(sign_in: SignIn) -> None:
    luis = sign_in("luis")
    owner = get_user_model().objects.get(username="luis")
    SavedView.objects.bulk_create(
        SavedView(name=f"View {n}", audience="mine", owner=owner)
        for n in range(MOST_VIEWS)
    )
    assert save(luis, "One more", "mine") == 422
    page = luis.get("/explore/views").context["page"]
    assert page.count == MOST_VIEWS
    assert page.pages == MOST_VIEWS // 50


def test_changes_are_in_the_audit_log(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    assert save(ana, "Of all", "all") == 302
    view = SavedView.objects.get()
    ana.post(f"/explore/views/{view.pk}/rename", {"name": "Costs"})
    ana.post(f"/explore/views/{view.pk}/delete")
    events = apps.get_model("accounting", "SavedViewEvent").objects.order_by("pgh_id")
    assert [event.pgh_label for event in events] == ["insert", "update", "delete"]
    assert {event.pgh_context.metadata["actor"] for event in events} == {"ana"}


def test_a_view_keeps_only_parts_of_explore() -> None:
    pairs = {"then": ["week"], "by": ["team"], "page": ["3"], "q": ["x"], "tier": []}
    assert query_of(pairs) == "by=team&then=week"
