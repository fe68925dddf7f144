"""Every link of an empty ledger, followed as each role (crawler.py)."""

import pytest
from django.contrib.auth import get_user_model

from accounting.access.models.people import Person
from tests.integration.access.test_links import EVERYONE, crawl

ROLES = {"ana": "admin", "fin": "finance"}


@pytest.mark.parametrize("name", EVERYONE)
@pytest.mark.django_db
def test_every_link_of_an_empty_ledger_leads_somewhere(name: str) -> None:
    user = get_user_model().objects.create_user(name)
    Person.objects.create(user=user, role=ROLES.get(name, "none"))
    crawler = crawl(name, is_brief=name != "ana")
    assert crawler.faults == {}
    assert len(crawler.visited) > 10
