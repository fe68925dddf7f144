"""The page of 200 quotas that an administrator can edit: small and soon there."""

import re

import pytest

from accounting.access.models.teams import Team
from scheduler_view.quotas.models import QuotaTarget
from tests.integration.changes.office import Office
from tests.integration.conftest import SignIn
from tests.page_html import html_of

MANY, LARGEST = 200, 300_000


@pytest.fixture
def many(desk: Office) -> None:
    """A quota of each of 200 tiers, in two namespaces."""
    vision = Team.objects.get(slug="vision")
    QuotaTarget.objects.bulk_create(
        QuotaTarget(
            cluster=desk.cluster,
            team=vision,
            resource="nvidia.com/gpu",
            tier=f"tier-{number:03}",
            gpus=number,
            split={"vision-prod": number},
            version=1,
        )
        for number in range(MANY)
    )


@pytest.mark.usefixtures("many")
def test_a_page_of_200_quotas_is_small_and_leaves_none_out(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    answers = [ana.get(f"/quotas?page-1={number}") for number in (1, 2, 3)]
    assert max(len(one.content) for one in answers) < LARGEST
    shown = [re.findall(r'name="(q\|[^"]*)"', html_of(one)) for one in answers]
    assert len({name for page in shown for name in page}) >= MANY
    assert "Pages of quotas" in html_of(answers[0])


@pytest.mark.usefixtures("many")
def test_what_was_typed_on_a_later_page_is_kept(sign_in: SignIn) -> None:
    """The reason is missing: the rows of the form come back, with what was typed."""
    ana = sign_in("ana")
    page = html_of(ana.get("/quotas?page-1=2"))
    names = re.findall(r'name="(q\|[^"]*)" value="(\d+)"', page)
    last = names[-1][0]
    posted = dict(names) | {last: "977", "cluster": "north", "reason": ""}
    answer = ana.post("/quotas/change", posted)
    assert answer.status_code == 422
    assert f'name="{last}" value="977"' in html_of(answer)


@pytest.mark.usefixtures("many")
def test_the_search_finds_quotas_of_every_page(sign_in: SignIn) -> None:
    page = html_of(sign_in("ana").get("/quotas?q=tier-199"))
    assert page.count("<tr data-quota") == 1
