"""Work that a quota of its team keeps out: its page, and the larger quota that it drafts."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from scheduler_view.changes.actions.change_sets import create
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.rules.edit import Draft, QuotaEdit
from scheduler_view.quotas.models import QuotaTarget
from scheduler_view.quotas.rules.split import SplitRule
from scheduler_view.waits.models import UnitWait, WaitRecord
from tests.integration.conftest import SignIn
from tests.page_html import html_of
from tests.story import Story

GPU = "nvidia.com/gpu"
RAISE = {"change": "raise_quota", "key": f"requests.{GPU}", "to": 12}
OURS = RAISE | {"quota": "vision-prod/gpu-ledger"}
THEIRS = RAISE | {"quota": "vision-prod/of-somebody"}
ENDS = {"change": "end_pod", "pod": "vision-prod/a", "units": 4}


@pytest.fixture
def number(story: Story, sign_in: SignIn) -> int:
    """A job of 4 GPUs; 8 of the 8 of its namespace are used, of 16 of vision."""
    del sign_in
    QuotaTarget.objects.create(
        cluster=story.cluster,
        team=story.teams["vision"],
        resource=GPU,
        gpus=16,
        split={"vision-prod": 8, "vision-lab": 8},
        version=0,
    )
    names = {"cluster": story.cluster, "kind": "Job", "namespace": "vision-prod"}
    since = timezone.now() - timedelta(hours=9, minutes=12)
    UnitWait.objects.create(
        **names,
        name="train",
        stage="refused",
        cause="quota",
        since=since,
        cause_since=since,
        changed_at=since,
        digest="",
        content={
            "contributing": [],
            "overlays": [],
            "pods": {"wanted": 1, "bound": 0, "waiting": 1},
            "resource": GPU,
            "units_per_pod": 4,
            "preemption": "none",
            "blockers": [],
            "blocker_sets": 0,
            "starts_if": [OURS, THEIRS, ENDS],
            "evidence": [],
            "facts": {},
            "priority_class": "",
        },
    )
    record = WaitRecord.objects.create(
        **names, name="train", stage="refused", cause="quota", created_at=since
    )
    return record.pk


def text(answer: object) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html_of(answer)).split())


def token(answer: object) -> str:
    (found,) = re.findall(r'name="raise" value="([^"]*)"', html_of(answer))
    return str(found)


def test_its_page_begins_with_who_waits_for_what(number: int, sign_in: SignIn) -> None:
    page = text(sign_in("luis").get(f"/queues/{number}"))
    assert re.search(
        r"train of Vision requests 4 GPUs and has waited for 9 h 1[23] min ?\."
        r" The quota is used up",
        page,
    )


def test_a_lead_requests_the_larger_quota_in_one_step(
    number: int, sign_in: SignIn
) -> None:
    luis = sign_in("luis")
    page = luis.get(f"/queues/{number}")
    assert "Request a quota of 20 GPUs, 4 more for vision-prod" in text(page)
    answer = luis.post(f"/queues/{number}/quota", {"raise": token(page)})
    made = ChangeSet.objects.get()
    assert answer.headers["Location"] == f"/changes/{made.pk}"
    (edit,) = made.edits
    assert (made.state, edit["team"], edit["gpus"]) == ("draft", "vision", 20)
    assert edit["weights"] == {"vision-prod": 12, "vision-lab": 8}, "only its own grows"
    assert (made.author_name, made.plan_wanted_at) == ("luis", None)
    assert made.reason == "vision-prod/train waits for it"
    assert "An administrator decides" in text(luis.get(f"/changes/{made.pk}"))


def test_what_is_requested_is_named_and_not_requested_again(
    number: int, sign_in: SignIn
) -> None:
    luis = sign_in("luis")
    given = {"raise": token(luis.get(f"/queues/{number}"))}
    luis.post(f"/queues/{number}/quota", given)
    made = ChangeSet.objects.get()
    page = luis.get(f"/queues/{number}")
    assert (
        f"CS-{made.pk} sets a quota of 20 GPUs, 4 more for vision-prod. It is not applied yet."
        in text(page)
    )
    assert "Request a quota" not in text(page)
    again = luis.post(f"/queues/{number}/quota", given)
    assert again.headers["Location"] == f"/queues/{number}"
    assert f"CS-{made.pk} already sets" in text(luis.get(f"/queues/{number}"))
    assert ChangeSet.objects.count() == 1


def test_an_administrator_drafts_it(number: int, sign_in: SignIn) -> None:
    ana = sign_in("ana")
    page = ana.get(f"/queues/{number}")
    assert "Draft a quota of 20 GPUs, 4 more for vision-prod" in text(page)
    answer = ana.post(f"/queues/{number}/quota", {"raise": token(page)})
    assert answer.headers["Location"] == f"/changes/{ChangeSet.objects.get().pk}"


@pytest.mark.parametrize("name", ["fin", "mia"])
def test_who_leads_no_team_of_it_has_no_button(
    number: int, sign_in: SignIn, name: str
) -> None:
    client = sign_in(name)
    answer = client.get(f"/queues/{number}")
    assert 'name="raise"' not in html_of(answer)
    posted = client.post(f"/queues/{number}/quota", {"raise": f"{GPU},,20"})
    assert posted.status_code == 404
    assert not ChangeSet.objects.exists()


def test_other_numbers_than_those_of_the_page_are_not_drafted(
    number: int, sign_in: SignIn
) -> None:
    answer = sign_in("luis").post(f"/queues/{number}/quota", {"raise": f"{GPU},,999"})
    assert answer.status_code == 404
    assert not ChangeSet.objects.exists()


def test_the_only_namespace_of_a_quota_keeps_its_rule(
    number: int, sign_in: SignIn
) -> None:
    QuotaTarget.objects.update(gpus=8, split={"vision-prod": 8}, rule="by_use")
    ana = sign_in("ana")
    page = ana.get(f"/queues/{number}")
    assert "Draft a quota of 12 GPUs, 4 more for vision-prod" in text(page)
    ana.post(f"/queues/{number}/quota", {"raise": token(page)})
    (edit,) = ChangeSet.objects.get().edits
    assert (edit["gpus"], edit["weights"]) == (12, {})


def test_a_change_for_another_namespace_is_not_the_one_that_is_needed(
    number: int, story: Story, sign_in: SignIn
) -> None:
    weights = {"vision-prod": 8, "vision-lab": 12}
    edit = QuotaEdit("vision", GPU, 20, rule=SplitRule.WEIGHTS, weights=weights)
    ana = get_user_model().objects.get(username="ana")
    draft = Draft([edit], "For the lab alone.")
    create(cluster=story.cluster, draft=draft, actor=ana, at=timezone.now())
    luis = sign_in("luis")
    page = luis.get(f"/queues/{number}")
    assert "Request a quota of 20 GPUs, 4 more for vision-prod" in text(page)
    luis.post(f"/queues/{number}/quota", {"raise": token(page)})
    assert ChangeSet.objects.count() == 2
