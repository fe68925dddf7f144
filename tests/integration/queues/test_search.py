"""Search finds what people type: pages, teams, jobs, nodes, models, change sets, within a scope.

The address of every person is tests/integration/access's.
"""

import re
from decimal import Decimal
from unittest.mock import ANY

import pytest
from django.contrib.auth import get_user_model
from django.db.models import F
from django.test import Client

from accounting.access.models.teams import Team
from accounting.metering.models.cluster import GpuPresence, Node
from accounting.metering.models.pod import PodAttribution, PodHold, Workload
from accounting.months.actions.entries import add_entry
from accounting.months.tasks.running import book_running
from scheduler_view.changes.models import ChangeSet
from scheduler_view.waits.models import WaitRecord
from tests.integration.changes.office import Office, quota
from tests.integration.conftest import SignIn


def links(client: Client, words: str, *, is_fragment: bool = True) -> dict[str, str]:
    """The text of each result by its address."""
    headers = {"HX-Request": "true"} if is_fragment else {}
    page = client.get("/find", {"q": words}, headers=headers).content.decode()
    link = r'<a[^>]*class="menu-item"[^>]*href="([^"]*)"[^>]*>(.*?)</a>'
    found = re.findall(link, page, re.DOTALL)
    return {
        url.replace("&amp;", "&"): " ".join(re.sub(r"<[^>]+>", " ", text).split())
        for url, text in found
    }


def waits(desk: Office, namespace: str, name: str, stage: str) -> WaitRecord:
    return WaitRecord.objects.create(
        cluster=desk.cluster,
        kind="Job",
        namespace=namespace,
        name=name,
        stage=stage,
        cause="quota" if stage else "",
        units=4,
        created_at=desk.now(),
        bound_at=None if stage else desk.now(),
    )


def test_jobs_are_found_whether_they_wait_or_run(desk: Office, sign_in: SignIn) -> None:
    ran = waits(desk, "vision-prod", "segmenter-7mtw", "")
    own = waits(desk, "vision-prod", "segmenter-2kpq", "queue")
    theirs = waits(desk, "search-prod", "segmenter-of-search", "queue")
    over = waits(desk, "vision-prod", "segmenter-over", "")
    WaitRecord.objects.filter(pk=over.pk).update(ended_at=desk.now())
    lead = links(sign_in("luis"), "segmenter")
    assert list(lead.items()) == [
        (f"/queues/{own.pk}", "segmenter-2kpq vision-prod, pending"),
        (f"/queues/{ran.pk}", "segmenter-7mtw vision-prod, running"),
    ]
    assert f"/queues/{theirs.pk}" in links(sign_in("ana"), "segmenter")
    for url in lead:
        assert sign_in("luis").get(url).status_code == 200


def test_entries_are_found_by_their_number(desk: Office, sign_in: SignIn) -> None:
    ana = get_user_model().objects.get(username="ana")
    vision = Team.objects.get(slug="vision")
    day = desk.now().date()
    add_entry("credit", vision, day, Decimal("-12.50"), "agreed in a review", ana)
    assert links(sign_in("ana"), "e-1")["/months"].startswith("E-1 Credit")
    assert links(sign_in("luis"), "E-1") == {}  # no statement has it yet
    month = f"{day:%Y-%m}"
    book_running(month)
    text = f"E-1 Credit, −€12.50 Vision, {day:%-d %b %Y}"
    for name in ("ana", "fin", "luis"):
        found = links(sign_in(name), "E-1")
        assert found[f"/statements/vision/{month}"] == text
    for name in ("mia", "omar"):  # a viewer, and nobody's member
        assert "E-1" not in " ".join(links(sign_in(name), "E-1").values())


def test_people_are_found_in_the_teams_that_one_sees(
    desk: Office, sign_in: SignIn
) -> None:
    del desk
    rules = "/teams/vision/rules#members-title"
    for name in ("fin", "mia"):
        assert "leads Vision" in links(sign_in(name), "luis")[rules]
        assert "omar" not in " ".join(links(sign_in(name), "omar").values())
    for name in ("luis", "omar"):
        number = get_user_model().objects.get(username=name).pk
        assert links(sign_in("ana"), name) == {f"/people/{number}": ANY}


def test_own_work_is_found_behind_a_lot_of_others(
    desk: Office, sign_in: SignIn
) -> None:
    """The first 500 names were read, whoever's they were."""
    WaitRecord.objects.bulk_create(
        WaitRecord(
            cluster=desk.cluster,
            kind="Job",
            namespace="search-prod",
            name=f"segmenter-{n:03d}",
            stage="queue",
            cause="quota",
            units=4,
            created_at=desk.now(),
        )
        for n in range(501)
    )
    own = waits(desk, "vision-prod", "segmenter-own", "queue")
    assert list(links(sign_in("luis"), "segmenter")) == [f"/queues/{own.pk}"]


def test_change_sets_are_found_by_number(desk: Office, sign_in: SignIn) -> None:
    number = ChangeSet.objects.latest("pk").pk
    for words in (f"CS-{number}", f"cs{number}", str(number)):
        assert f"/changes/{number}" in links(sign_in("ana"), words)
    assert not links(sign_in("ana"), "CS-999999")
    assert not links(sign_in("omar"), f"CS-{number}")


def test_nodes_and_models_lead_to_their_gpus(desk: Office, sign_in: SignIn) -> None:
    held = PodHold.objects.filter(pod__namespace__name="vision-prod").values("node")
    own = Node.objects.filter(pk__in=held)[0].name
    other = Node.objects.exclude(pk__in=held)[0]
    assert f"/gpus?q={own}" in links(sign_in("luis"), own)
    assert not links(sign_in("luis"), other.name)
    assert f"/gpus?q={other.name}" in links(sign_in("ana"), other.name)
    assert links(sign_in("ana"), own)[f"/gpus?q={own}"] == f"{own} north"
    GpuPresence.objects.filter(node__name=own).update(end_ms=F("start_ms") + 1)
    found = links(sign_in("ana"), own)[f"/gpus?q={own}"]
    assert found == f"{own} north, has no GPUs now"
    models = links(sign_in("ana"), "h100")
    assert any(url.startswith("/gpus?q=") and "H100" in url for url in models)
    for url in models:
        assert sign_in("ana").get(url).status_code == 200


@pytest.mark.parametrize(
    ("words", "url"),
    [
        ("budg", "/budgets"),
        ("invoice", "/bills"),
        ("api token", "/account"),
        ("unmapped", "/attribution"),
        ("import price", "/prices/import"),
    ],
)
@pytest.mark.parametrize("is_fragment", [True, False])
def test_pages_are_found_by_name_and_by_what_people_call_them(
    sign_in: SignIn, words: str, url: str, *, is_fragment: bool
) -> None:
    assert url in links(sign_in("ana"), words, is_fragment=is_fragment)


def test_a_person_finds_only_pages_that_they_may_open(sign_in: SignIn) -> None:
    assert "/budgets" not in links(sign_in("mia"), "budg")
    assert "/audit" not in links(sign_in("luis"), "audit")
    for name in ("ana", "fin", "luis", "mia", "omar"):
        client = sign_in(name)
        for url in links(client, ""):
            assert client.get(url).status_code in (200, 302), (name, url)


def test_more_workloads_than_are_listed_have_a_list(
    desk: Office, sign_in: SignIn
) -> None:
    pod = PodAttribution.objects.filter(team__slug="vision").first()
    assert pod is not None
    for number in range(8):
        workload = Workload.objects.create(
            cluster=desk.cluster,
            namespace=pod.pod.namespace,
            kind="Job",
            name=f"detector-{number}",
        )
        copy = pod.pod
        copy.pk, copy.uid, copy.workload = None, f"detector-{number}", workload
        copy.save()
        pod.pk, pod.pod = None, copy
        pod.save()
    family = links(sign_in("luis"), "etector")
    assert (
        family["/teams/vision/families/vision-prod/detector"]
        == "detector family in vision-prod"
    )
    assert not [url for url in family if "by=run" in url], "only the family"
    assert not links(sign_in("omar"), "etector"), "of another team"
    found = links(sign_in("luis"), "detector-")
    assert "All 8 workloads of Vision with “detector-”" in found.values()
    assert len([text for text in found.values() if text.startswith("detector-")]) <= 6
    assert "/teams/vision/workloads?by=run&q=detector-" in found


def test_change_sets_are_found_by_team_and_namespace(
    desk: Office, sign_in: SignIn
) -> None:
    """A lead finds those of their own team; not by a namespace of another one."""
    desk.applied(quota(24, "search"))
    of_search = ChangeSet.objects.latest("pk").pk
    desk.applied(quota(16))
    of_vision = ChangeSet.objects.latest("pk").pk
    for words in ("Vision", "vision-prod", "vis"):
        found = [url for url in links(sign_in("ana"), words) if "/changes/" in url]
        assert found[0] == f"/changes/{of_vision}"
        assert f"/changes/{of_search}" not in found
        assert f"/changes/{of_vision}" in links(sign_in("luis"), words)
    assert f"/changes/{of_search}" in links(sign_in("ana"), "search-prod")
    for words in ("search", "search-prod"):
        found = [url for url in links(sign_in("luis"), words) if "/changes/" in url]
        assert found == []
        assert not links(sign_in("omar"), words)
