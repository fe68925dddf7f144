"""An empty ledger: every page answers and says what to do next."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from accounting.access.models.people import Person
from tests.page_html import html_of


@pytest.mark.django_db
def test_every_page_of_an_empty_ledger_says_what_to_do() -> None:
    user = get_user_model().objects.create_user("first", password="x")
    Person.objects.create(user=user, role="admin")
    client = Client()
    client.force_login(user)
    for path in ("/", "/gpus", "/data-health"):
        page = html_of(client.get(path))
        assert "No usage has been read yet" in page
        assert "Connect a source" in page
    assert "No prices yet" in html_of(client.get("/prices"))
    attribution = html_of(client.get("/attribution"))
    assert "No rules yet" in attribution
    assert "All usage of this range has a team" in attribution
    steps = client.get("/setup").context["steps"]
    assert [step.state for step in steps] == ["done"] + ["todo"] * 6
    assert client.get("/teams").status_code == 200
    assert client.get("/explain?what=charge").status_code == 200
    assert client.get("/explain?what=ledger").status_code in {200, 404}
    assert client.get("/data-health/proofs").status_code == 200
